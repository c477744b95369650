package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	startTime   = 30 * time.Second
	stopTime    = 30 * time.Second
	requestTime = time.Minute
	pollTime    = 20 * time.Millisecond
)

// gateway is a semel that serves.
type gateway struct {
	name   string
	url    string
	cmd    *exec.Cmd
	client *http.Client
}

// start starts the gateway of a build and waits until it serves.
func start(ctx context.Context, name, binary, store, upstream, dir string) (*gateway, error) {
	ready := filepath.Join(dir, "ready-"+name)
	if err := os.Remove(ready); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	g := &gateway{name: name, client: &http.Client{Timeout: requestTime}}
	g.cmd = exec.CommandContext(ctx, binary, "gateway", "--upstream", upstream, "--store", store, "--listen", "127.0.0.1:0", //nolint:gosec // the builds that are compared.
		"--admin", "off", "--ready-file", ready, "--wait", "20s")
	log, err := os.Create(filepath.Join(dir, name+".log")) //nolint:gosec // in a folder of our own.
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own
	g.cmd.Stdout, g.cmd.Stderr = log, log
	if err := g.cmd.Start(); err != nil {
		return nil, err
	}
	for until := time.Now().Add(startTime); time.Now().Before(until); {
		text, err := os.ReadFile(ready) //nolint:gosec // in a folder of our own.
		for line := range strings.Lines(string(text)) {
			if url, ok := strings.CutPrefix(strings.TrimSpace(line), "listen="); ok && err == nil {
				g.url = url
				return g, nil
			}
		}
		if !waiting.Sleep(ctx, pollTime) {
			return nil, errors.Join(ctx.Err(), g.stop())
		}
	}
	said, _ := os.ReadFile(log.Name())
	return nil, errors.Join(fmt.Errorf("%s does not serve:\n%s", name, said), g.stop())
}

// stop ends the gateway as a deploy does, and waits until it has drained.
func (g *gateway) stop() error {
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", g.name, err)
	}
	killer := time.AfterFunc(stopTime, func() { _ = g.cmd.Process.Kill() })
	defer killer.Stop()
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("%s did not end well: %w", g.name, err)
	}
	return nil
}
