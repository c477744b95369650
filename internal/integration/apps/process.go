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

// keeper runs a program until its own standard input ends, which it does even
// when the test process is killed.
const keeper = `"$@" & pid=$!; trap '' INT; cat >/dev/null; kill "$pid"; wait "$pid"`

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

// Start runs an application until the end of the test, and returns its address
// (host:port) once it answers.
func Start(tb testing.TB, c Command) string {
	tb.Helper()
	var err error
	for range startTries { // another process may take the port first
		var address string
		if address, err = start(tb, c); err == nil {
			return address
		}
	}
	tb.Fatalf("start the application: %v", err)
	return ""
}

func start(tb testing.TB, c Command) (string, error) {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address := listener.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err = errors.Join(err, listener.Close()); err != nil {
		return "", err
	}
	args := append([]string{"-c", keeper, "sh"}, c.Args(port)...)
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), "/bin/sh", args...) //nolint:gosec // the test says what is run
	cmd.Dir, cmd.Env = c.Dir, c.Env
	log := &tail{}
	cmd.Stdout, cmd.Stderr = log, log
	hold, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	end := func() { stop(tb, cmd, hold) }
	if err := await(tb.Context(), "http://"+address+c.Ready); err != nil {
		end()
		return "", errors.Join(err, errors.New(log.String()))
	}
	tb.Cleanup(func() {
		end()
		if tb.Failed() {
			tb.Logf("the end of what the application said:\n%s", log)
		}
	})
	return address, nil
}

// stop ends the application and waits for its end.
func stop(tb testing.TB, cmd *exec.Cmd, hold io.Closer) {
	tb.Helper()
	timer := time.AfterFunc(stopTimeout, func() {
		tb.Errorf("the application did not end within %v", stopTimeout)
		_ = cmd.Process.Kill()
	})
	defer timer.Stop()
	_ = hold.Close()
	_ = cmd.Wait() // ended by a signal
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
