package apps

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"testing"
	"time"
)

const (
	startTimeout = time.Minute
	stopTimeout  = 20 * time.Second
	startTries   = 3
	pollEvery    = 20 * time.Millisecond
	logShown     = 8 << 10
)

// keeper runs a program until its own standard input has a line with the signal
// to send, or ends, which it does even when the test process is killed.
const keeper = `"$@" & pid=$!; trap '' INT; read -r how; kill "${how:--TERM}" "$pid"; wait "$pid"`

// Command says how an application is started.
type Command struct {
	// Dir is the working directory.
	Dir string
	// Env is the whole environment.
	Env []string
	// Args returns the program and its arguments, for a free port of 127.0.0.1.
	Args func(port string) []string
	// Ready is a path that answers with less than 500 once the application is
	// there.
	Ready string
}

// Application is a running application. It has the same address when it is started again.
type Application struct {
	Address string // host:port

	tb      testing.TB
	command Command
	log     tail
	cmd     *exec.Cmd
	hold    io.WriteCloser
}

// Start runs an application until the end of the test, and returns its address
// (host:port) once it answers.
func Start(tb testing.TB, c Command) string {
	tb.Helper()
	return Run(tb, c).Address
}

// Run runs an application until the end of the test, and returns once it answers.
func Run(tb testing.TB, c Command) *Application {
	tb.Helper()
	a := &Application{tb: tb, command: c}
	var err error
	for range startTries { // another process may take the port first
		if a.Address, err = freeAddress(tb.Context()); err == nil {
			err = a.start(tb.Context())
		}
		if err == nil {
			break
		}
	}
	if err != nil {
		tb.Fatalf("start the application: %v", err)
	}
	tb.Cleanup(func() {
		a.stop("")
		if tb.Failed() {
			tb.Logf("the end of what the application said:\n%s", &a.log)
		}
	})
	return a
}

// Restart ends the application as its operator would, and starts it again.
func (a *Application) Restart(ctx context.Context) error {
	a.stop("")
	return a.start(ctx)
}

// Kill ends the application without a warning, and starts it again.
func (a *Application) Kill(ctx context.Context) error {
	a.stop("-KILL\n")
	return a.start(ctx)
}

func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func (a *Application) start(ctx context.Context) error {
	_, port, err := net.SplitHostPort(a.Address)
	if err != nil {
		return err
	}
	args := append([]string{"-c", keeper, "sh"}, a.command.Args(port)...)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", args...) //nolint:gosec // the test says what is run
	cmd.Dir, cmd.Env = a.command.Dir, a.command.Env
	cmd.Stdout, cmd.Stderr = &a.log, &a.log
	if a.hold, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	a.cmd = cmd
	if err := await(ctx, "http://"+a.Address+a.command.Ready); err != nil {
		a.stop("")
		return errors.Join(err, errors.New(a.log.String()))
	}
	return nil
}

// stop ends the application, by a signal other than SIGTERM if how says so, and waits for its end.
func (a *Application) stop(how string) {
	a.tb.Helper()
	timer := time.AfterFunc(stopTimeout, func() {
		a.tb.Errorf("the application did not end within %v", stopTimeout)
		_ = a.cmd.Process.Kill()
	})
	defer timer.Stop()
	_, _ = io.WriteString(a.hold, how)
	_ = a.hold.Close()
	_ = a.cmd.Wait() // ended by a signal
}

// await asks a URL until it answers.
func await(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errors.New("it did not answer in time"))
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		if answers(ctx, client, url) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func answers(ctx context.Context, client *http.Client, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode < http.StatusInternalServerError
}

// tail keeps the end of what is written to it. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex // guards the field below
	kept bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Write(p)
	if more := t.kept.Len() - logShown; more > 0 {
		t.kept.Next(more)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept.String()
}
