package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// serveVar makes this program a server, whose kind it names; upstreamVar holds the URL that a proxy forwards to.
	serveVar    = "SEMEL_BENCH_SERVE"
	upstreamVar = "SEMEL_BENCH_UPSTREAM"

	kindUpstream = "upstream"
	kindProxy    = "proxy"

	startLimit = 10 * time.Second
	startPoll  = 10 * time.Millisecond
)

// server is a process that answers requests.
type server struct {
	url  string
	cmd  *exec.Cmd
	hold io.Closer // the server ends when it is closed, and so when this process does; nil if a signal ends it
}

// serveAs serves as the kind says until stdin ends.
func serveAs(kind string) error {
	var handler http.Handler = http.HandlerFunc(invoiceHandler)
	if kind == kindProxy {
		target, err := url.Parse(os.Getenv(upstreamVar))
		if err != nil {
			return err
		}
		handler = plainProxy(target)
	}
	front := serve(handler)
	defer front.Close()
	say(os.Stdout, "%s\n", front.URL)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// startSelf starts this program as a server.
func startSelf(ctx context.Context, kind, upstream string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{cmd: exec.CommandContext(ctx, self)} //nolint:gosec // this program.
	s.cmd.Env = append(os.Environ(), serveVar+"="+kind, upstreamVar+"="+upstream)
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if s.hold, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the %s did not start: %w", kind, err)
	}
	s.url = strings.TrimSpace(line)
	return s, nil
}

// startCommand starts another program, which serves at the URL.
func startCommand(ctx context.Context, dir, address, program string, args ...string) (*server, error) {
	s := &server{url: "http://" + address, cmd: exec.CommandContext(ctx, program, args...)} //nolint:gosec // a rival, or semel.
	log, err := os.CreateTemp(dir, filepath.Base(program)+"-*.log")
	if err != nil {
		return nil, err
	}
	defer shut(log) // the process has its own
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for until := time.Now().Add(startLimit); time.Now().Before(until) && waiting.Sleep(ctx, startPoll); {
		var dialer net.Dialer
		if conn, err := dialer.DialContext(ctx, "tcp", address); err == nil {
			return s, conn.Close()
		}
	}
	s.stop()
	said, err := os.ReadFile(log.Name())
	return nil, errors.Join(ctx.Err(), err, fmt.Errorf("%s does not serve: %s", program, said))
}

func (s *server) stop() {
	if s.hold != nil {
		shut(s.hold)
	} else {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
	}
	_ = s.cmd.Wait() // it was only measured
}

// freeAddress returns an address of this machine on which nothing listens.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
