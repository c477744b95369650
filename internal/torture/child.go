package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// child is a process that can be killed at any instant and is then started
// again.
type child struct {
	start func(ctx context.Context) *exec.Cmd
	lines func(string) // is told what it prints; may be nil
	log   io.Writer

	mu    sync.Mutex // guards the fields below
	cmd   *exec.Cmd
	stdin io.WriteCloser
	read  chan struct{} // closed when all it printed was read
}

// up starts the process.
func (c *child) up(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cmd = c.start(ctx)
	if c.cmd.Stderr == nil {
		c.cmd.Stderr = c.log
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
			if c.lines != nil {
				c.lines(line)
			}
		}
	}(c.read)
	return nil
}

// kill ends the process as a power cut would.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.cmd.Process.Kill() // it may have ended by itself
	<-c.read
	_ = c.cmd.Wait() // killed on purpose
}

// end lets the process finish what it is doing: its input ends.
func (c *child) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.stdin.Close() // it may have ended by itself
	hard := time.AfterFunc(time.Minute, func() { _ = c.cmd.Process.Kill() })
	defer hard.Stop()
	<-c.read
	return c.cmd.Wait()
}
