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

// child is a process that can be killed at any instant and is then started
// again. Its methods may be called from any goroutine.
type child struct {
	start func(ctx context.Context) *exec.Cmd // prepares the process

	mu    sync.Mutex // guards the fields below
	cmd   *exec.Cmd
	stdin io.WriteCloser
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
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.cmd.Path, err)
	}
	return nil
}

// kill ends the process as a power cut would, stopped or not, and waits until it
// has gone.
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
