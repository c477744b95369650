package main

import (
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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
	"github.com/semel-dev/semel/internal/waiting"
)

const startLimit, startPoll = 10 * time.Second, 10 * time.Millisecond

// server is a process that answers requests.
type server struct {
	url string
	cmd *exec.Cmd
}

// serveAt serves as the upstream or, given the URL of one, as the plain proxy to it.
func serveAt(address string, upstream ...string) error {
	handler := http.Handler(http.HandlerFunc(sizedHandler))
	if len(upstream) > 0 {
		target, err := url.Parse(upstream[0])
		if err != nil {
			return err
		}
		handler = plainProxy(target)
	}
	front := http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: startLimit, IdleTimeout: time.Minute}
	return front.ListenAndServe()
}

var filler [largeAnswerBytes]byte //nolint:gochecknoglobals // a constant.

// sizedHandler reads the body and answers with as many bytes as the query asks for.
func sizedHandler(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	bytes, _ := strconv.Atoi(r.URL.Query().Get("bytes")) // by the load
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(bytes))
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(filler[:bytes])
}

// startSelf starts this program as the upstream, or as the plain proxy to one.
func startSelf(ctx context.Context, dir, processors string, upstream ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	addresses, err := dbserver.FreeAddresses(ctx, 1)
	if err != nil {
		return nil, err
	}
	return startCommand(ctx, dir, addresses[0], processors, self, append([]string{"serve", addresses[0]}, upstream...)...)
}

// startCommand starts a program that serves at the address, with so many processors if it is in Go; "" for all.
func startCommand(ctx context.Context, dir, address, processors, program string, args ...string) (*server, error) {
	s := &server{url: "http://" + address, cmd: exec.CommandContext(ctx, program, args...)} //nolint:gosec // a rival, semel, or this program.
	s.cmd.Env = append(os.Environ(), "GOMAXPROCS="+processors)
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
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it was only measured
	_ = s.cmd.Wait()
}

// cpuTime returns how long the threads of a process and its children have run on
// Linux; 0 for a process that has ended, and on other systems.
func cpuTime(pid int) time.Duration {
	var sum time.Duration
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // the pattern is well-formed
	for _, task := range tasks {
		if text, err := os.ReadFile(filepath.Join(task, "schedstat")); err == nil { //nolint:gosec // of the kernel.
			nanos, _, _ := strings.Cut(string(text), " ")
			ran, _ := time.ParseDuration(nanos + "ns") // 0 if it is something else
			sum += ran
		}
		children, _ := os.ReadFile(filepath.Join(task, "children")) //nolint:gosec // of the kernel; none if it does not tell.
		for child := range strings.FieldsSeq(string(children)) {
			var pid int
			if _, err := fmt.Sscan(child, &pid); err == nil {
				sum += cpuTime(pid)
			}
		}
	}
	return sum
}
