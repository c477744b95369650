// Command invoices serves the naive invoicing example on its own.
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

	"github.com/semel-dev/semel/examples/invoices"
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
		_, _ = fmt.Fprintln(os.Stderr, "invoices:", err)
		os.Exit(exitTrouble)
	}
}

// run serves until ctx ends, then lets running requests finish.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("invoices", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:9000", "`address` to listen on")
	path := flags.String("db", "", "SQLite `file`; empty means a private one, gone at exit")
	latency := flags.Duration("latency", 300*time.Millisecond, "how long the pretended accounting service takes")
	title := flags.String("title", "", "name shown in the page head")
	banner := flags.String("banner", "", "sentence shown at the top of every page")
	guard := flags.Bool("guard", false, "load Semel's browser client in every page")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return errUsage
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(stderr, "invoices: unexpected argument %q (run: invoices -h)\n", flags.Arg(0))
		return errUsage
	}
	if *latency == 0 {
		*latency = -1 // the library's zero means the default
	}
	app, err := invoices.Open(*path, &invoices.Options{ //nolint:contextcheck // Open does not take one; it bounds itself
		Latency: *latency, Title: *title, Banner: *banner, Guard: *guard, Logger: slog.New(slog.NewTextHandler(stderr, nil)),
	})
	if err != nil {
		return err
	}
	return errors.Join(serve(ctx, *listen, app.Handler(), stdout), app.Close())
}

// serve answers on address until ctx ends.
func serve(ctx context.Context, address string, handler http.Handler, stdout io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen: %w (choose another with -listen)", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readTimeout}
	_, _ = fmt.Fprintf(stdout, "Invoices on http://%s (stop with Ctrl-C)\n", listener.Addr())

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
