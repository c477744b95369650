// Command mathematicians serves the mathematicians example.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/semel-dev/semel/examples/mathematicians"
)

const (
	readTimeout = 10 * time.Second
	drainTime   = 10 * time.Second

	exitTrouble = 1
	exitUsage   = 2
)

// errUsage means that the flags were wrong; what was wrong has been printed.
var errUsage = errors.New("wrong usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, errUsage):
		os.Exit(exitUsage)
	case err != nil:
		_, _ = fmt.Fprintln(os.Stderr, "mathematicians:", err)
		os.Exit(exitTrouble)
	}
}

// run serves until ctx ends, then lets running requests finish.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("mathematicians", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:9200", "`address` to listen on; anyone who reaches it may use it, so keep to this machine")
	path := flags.String("db", "mathematicians.db", "SQLite `file`")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return errUsage
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(stderr, "mathematicians: unexpected argument %q (run: mathematicians -h)\n", flags.Arg(0))
		return errUsage
	}
	server, err := mathematicians.Open(*path, &mathematicians.Options{ //nolint:contextcheck // Open takes none; it bounds itself
		Logger: slog.New(slog.NewTextHandler(stderr, nil)),
	})
	if err != nil {
		return err
	}
	return errors.Join(serve(ctx, *listen, server, stdout), server.Close())
}

// serve answers on address until ctx ends.
func serve(ctx context.Context, address string, handler http.Handler, stdout io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen: %w (choose another with --listen)", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readTimeout, ReadTimeout: 2 * readTimeout, WriteTimeout: 2 * readTimeout}
	_, _ = fmt.Fprintf(stdout, "Mathematicians on http://%s (stop with Ctrl-C)\n", listener.Addr())

	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
