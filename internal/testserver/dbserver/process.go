package dbserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	startTimeout = time.Minute
	stopTimeout  = time.Minute
	startTries   = 3
	pollEvery    = 5 * time.Millisecond
	logShown     = 4 << 10
	lastWords    = 512
)

// process is a server process that can end and be started again.
type process struct {
	home *Home
	as   account
	dir  string
	path string
	env  []string // added to the server's
	args func(port int) []string
	// prepare, when not nil, writes what depends on the port.
	prepare func(port int) error
	// ready says whether the server answers; it is asked until it does.
	ready func(ctx context.Context) error

	stopSignal string // an orderly end
	endSignal  string // ends at once, leaving nothing behind outside dir

	mu   sync.Mutex // guards the fields below
	port int
	pid  int // 0 when down
}

// launch starts a new process on a free port.
func (p *process) launch(ctx context.Context) error {
	var err error
	for range startTries { // another process may take the port first
		if p.port, err = freePort(ctx); err != nil {
			return err
		}
		if p.prepare != nil {
			if err = p.prepare(p.port); err != nil {
				return err
			}
		}
		if err = p.Start(ctx); err == nil {
			p.home.add(p)
			return nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return err
}

// Addr is host:port. It stays the same over restarts.
func (p *process) Addr() string { return address(p.port) }

// Start runs the program and waits until it is ready: again, on the same port and data. It does nothing when it runs
// already.
func (p *process) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 && !reap(p.pid) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var err error
	_ = poll(ctx, func() (bool, error) { // err says it
		err = p.startLocked(ctx)
		return err == nil || !p.lingers(), nil
	})
	return err
}

// lingers reports whether the last start failed because a child of the process before it was still there: one that was
// born while that was killed.
func (p *process) lingers() bool {
	log := p.Log()
	return p.pid == 0 && strings.Contains(log[max(0, len(log)-lastWords):], "pre-existing shared memory block")
}

func (p *process) startLocked(ctx context.Context) error {
	if err := p.spawn(ctx); err != nil {
		return fmt.Errorf("start %s: %w", filepath.Base(p.path), err)
	}
	err := poll(ctx, func() (bool, error) {
		if reap(p.pid) {
			p.pid = 0
			return false, errors.New("it ended")
		}
		if err := p.ready(ctx); err != nil {
			return false, nil //nolint:nilerr // not ready yet
		}
		return true, nil
	})
	if err == nil {
		return nil
	}
	if p.pid != 0 {
		err = errors.Join(err, p.killLocked()) //nolint:contextcheck // ctx has ended, maybe
	}
	return fmt.Errorf("start %s: %w; the end of its log:\n%s", filepath.Base(p.path), err, p.Log())
}

// spawn starts the process. Its pid is in the file `running` before the server runs, so that the keeper always knows it.
func (p *process) spawn(ctx context.Context) error {
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	const script = `echo "$$ $1" >running; shift; exec env "$@"` // env is for the server alone, not for this shell
	args := slices.Concat([]string{"-c", script, "sh", p.endSignal}, p.env, []string{p.path}, p.args(p.port))
	cmd := p.as.command(context.WithoutCancel(ctx), p.dir, "/bin/sh", args...)
	cmd.Stdout, cmd.Stderr = log, log
	detach(cmd)
	err = errors.Join(cmd.Start(), log.Close())
	if err != nil {
		return err
	}
	p.pid = cmd.Process.Pid
	return cmd.Process.Release() // reap waits for it, without a goroutine
}

// Kill sends SIGKILL to the process and to all its children and waits until they are gone.
func (p *process) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killLocked()
}

func (p *process) killLocked() error {
	if p.pid == 0 {
		return nil
	}
	children := killTree(p.pid)
	return p.waitLocked(func() bool { return gone(children) })
}

// Stop ends the process in an orderly way; clients are disconnected.
func (p *process) Stop() error { return p.signal(p.stopSignal) }

// end ends the process as fast as nothing is left behind.
func (p *process) end() error { return p.signal(p.endSignal) }

// Close ends the process at once and removes what it kept.
func (p *process) Close() error {
	p.home.forget(p)
	return errors.Join(p.end(), os.RemoveAll(p.dir), os.RemoveAll(p.logFile()))
}

func (p *process) signal(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid == 0 {
		return nil
	}
	sendSignal(p.pid, name)
	return p.waitLocked(func() bool { return true })
}

// waitLocked waits until the process and whatever more() asks for have ended.
func (p *process) waitLocked(more func() bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := poll(ctx, func() (bool, error) {
		if p.pid != 0 && reap(p.pid) {
			p.pid = 0
		}
		return p.pid == 0 && more(), nil
	})
	if err != nil {
		return fmt.Errorf("wait for the end of %s: %w", filepath.Base(p.path), err)
	}
	return os.RemoveAll(filepath.Join(p.dir, "running"))
}

// Dir is the folder of the server's data.
func (p *process) Dir() string { return p.dir }

func (p *process) logFile() string { return p.dir + ".log" }

// Log is the end of what the server wrote.
func (p *process) Log() string {
	log, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-logShown):])
}

// run runs a program to its end.
func run(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// poll asks until the answer is yes or an error, or ctx ends.
func poll(ctx context.Context, ask func() (bool, error)) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		if yes, err := ask(); yes || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
