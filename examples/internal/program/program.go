// Package program holds the code that the commands of the examples share: flags, a server and its end.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	readTimeout = 10 * time.Second
	drainTime   = 10 * time.Second

	exitTrouble = 1
	exitUsage   = 2
)

// ErrUsage means that the flags were wrong; what was wrong has been printed.
var ErrUsage = errors.New("wrong usage")

// Main runs a command until it ends or is interrupted, and exits on an error.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, ErrUsage):
		os.Exit(exitUsage)
	case err != nil:
		_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(exitTrouble)
	}
}

// Parse reads the arguments of a command that takes flags only. Without go on, the
// command has ended with err.
func Parse(flags *flag.FlagSet, args []string, stderr io.Writer) (goOn bool, err error) {
	flags.SetOutput(stderr)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return false, nil
	case err != nil:
		return false, ErrUsage
	case flags.NArg() > 0:
		_, _ = fmt.Fprintf(stderr, "%s: unexpected argument %q (run: %[1]s -h)\n", flags.Name(), flags.Arg(0))
		return false, ErrUsage
	}
	return true, nil
}

// Server is an HTTP server of a command.
type Server struct {
	Listen    string        // the address
	ReadyFile string        // gets the line page=ADDRESS once the server listens; none where it is empty
	Title     string        // of the line that says where it listens
	Timeout   time.Duration // limits the reading of a request, and the writing of its answer; 0 is no limit
}

// Serve answers until ctx ends, then lets running requests finish.
func (s Server) Serve(ctx context.Context, handler http.Handler, stdout io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w (choose another with -listen)", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readTimeout, ReadTimeout: s.Timeout, WriteTimeout: s.Timeout}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	page := "http://" + listener.Addr().String()
	if err := announce(s.ReadyFile, page); err != nil {
		return errors.Join(err, server.Close())
	}
	_, _ = fmt.Fprintf(stdout, "%s on %s (stop with Ctrl-C)\n", s.Title, page)
	select {
	case err := <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		return errors.Join(fmt.Errorf("drain: %w", err), server.Close())
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// announce writes the address into the ready file, all at once.
func announce(file, page string) error {
	if file == "" {
		return nil
	}
	half := file + ".half"
	err := os.WriteFile(half, []byte("page="+page+"\n"), 0o600)
	if err == nil {
		err = os.Rename(half, file)
	}
	if err != nil {
		return fmt.Errorf("write the ready file: %w", err)
	}
	return nil
}
