package mayhem

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// childEnd is how long a child may take to finish what it is doing.
const childEnd = time.Minute

// Child is a process that can be killed at any instant and is then started
// again. The fields are set before it is used; its methods may be called from
// any goroutine.
type Child struct {
	Start func(ctx context.Context) *exec.Cmd // prepares the process
	Lines func(string)                        // is told what it prints, line by line; may be nil
	Log   io.Writer                           // gets what it says on stderr, unless Start decides

	mu    sync.Mutex // guards the fields below
	cmd   *exec.Cmd
	stdin io.WriteCloser
	read  chan struct{} // closed when all it printed was read
}

// Up starts the process.
func (c *Child) Up(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cmd = c.Start(ctx)
	if c.cmd.Stderr == nil {
		c.cmd.Stderr = c.Log
	}
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.cmd.Path, err)
	}
	c.read = make(chan struct{})
	go func(done chan struct{}) {
		defer close(done)
		reader := bufio.NewReader(stdout)
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				return // an unfinished line was never said
			}
			if c.Lines != nil {
				c.Lines(line)
			}
		}
	}(c.read)
	return nil
}

// Kill ends the process as a power cut would, stopped or not, and waits until it
// has gone.
func (c *Child) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.cmd.Process.Kill() // it may have ended by itself
	<-c.read
	_ = c.cmd.Wait() // killed on purpose
}

// End lets the process finish what it is doing, because its input ends, and
// kills it after a minute. The error is that of its exit.
func (c *Child) End() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.stdin.Close() // it may have ended by itself
	hard := time.AfterFunc(childEnd, func() { _ = c.cmd.Process.Kill() })
	defer hard.Stop()
	<-c.read
	return c.cmd.Wait()
}

// Pause stops the process where it stands, until Resume; Kill works meanwhile.
func (c *Child) Pause() error { return c.signal(pause) }

// Resume lets a stopped process go on. It does not know that it stood.
func (c *Child) Resume() error { return c.signal(resume) }

func (c *Child) signal(send func(*os.Process) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := send(c.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", c.cmd.Path, err)
	}
	return nil
}
