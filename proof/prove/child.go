package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/semel-dev/semel/internal/must"
)

// childEnd bounds how long a child may take to finish what it is doing.
const childEnd = time.Minute

// child is a process that can be killed at any instant and is then started again. Its methods may be called from any goroutine.
type child struct {
	start func(ctx context.Context) *exec.Cmd // prepares the process

	mu     sync.Mutex // guards the fields below
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	opened *announcement // of the life that began last
}

// announcement is the standard output of a process that does an errand, which writes to it once its store is open.
type announcement struct {
	once sync.Once
	made chan struct{}
}

func (a *announcement) Write(p []byte) (int, error) {
	a.once.Do(func() { close(a.made) })
	return len(p), nil
}

// child returns a process of this program that does the errand.
func (st *stage) child(e errand) *child {
	arg, err := json.Marshal(e)
	must.Succeed(err, "an errand is plain data")
	return &child{start: func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, st.self, childWord, string(arg)) //nolint:gosec // this program.
		cmd.Stderr = st.log
		return cmd
	}}
}

// up starts the process.
func (c *child) up(ctx context.Context) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cmd = c.start(ctx)
	c.opened = &announcement{made: make(chan struct{})}
	c.cmd.Stdout = c.opened
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.cmd.Path, err)
	}
	return nil
}

// working waits until the process that does an errand has opened its store, or ctx ends.
func (c *child) working(ctx context.Context) {
	c.mu.Lock()
	opened := c.opened
	c.mu.Unlock()
	select {
	case <-opened.made:
	case <-ctx.Done():
	}
}

// kill ends the process as a power cut would, stopped or not, and waits until it has gone.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.cmd.Process.Kill() // it may have ended before
	_ = c.cmd.Wait()         // killed on purpose
}

// end closes the input of the process, which lets it finish what it is doing,
// and kills it after a minute. The error is that of its exit.
func (c *child) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.stdin.Close() // it may have ended before
	hard := time.AfterFunc(childEnd, func() { _ = c.cmd.Process.Kill() })
	defer hard.Stop()
	return c.cmd.Wait()
}

// signal stops the process or lets it go on; kill works in between.
func (c *child) signal(send func(*os.Process) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := send(c.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", c.cmd.Path, err)
	}
	return nil
}
