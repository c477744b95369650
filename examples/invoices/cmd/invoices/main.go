// Command invoices serves the invoicing example on its own: the naive one, or
// with -protected the one that is protected from inside.
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
	"github.com/semel-dev/semel/examples/invoices/protected"
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
	latency := flags.Duration("latency", 300*time.Millisecond, "how long the simulated accounting service takes")
	title := flags.String("title", "", "name shown in the page head")
	banner := flags.String("banner", "", "sentence shown at the top of every page")
	guard := flags.Bool("guard", false, "load Semel's browser client in every page")
	safe := flags.Bool("protected", false, "serve the application that is protected from inside")
	readyFile := flags.String("ready-file", "", "`file` that gets the line page=ADDRESS once the application answers")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return errUsage
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(stderr, "invoices: unexpected argument %q (run: invoices -h)\n", flags.Arg(0))
		return errUsage
	}
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	app, err := open(*safe, *path, *latency, look{Title: *title, Banner: *banner, Guard: *guard, Logger: logger}) //nolint:contextcheck // Open does not take one; it bounds itself
	if err != nil {
		return err
	}
	return errors.Join(serve(ctx, *listen, *readyFile, app.Handler(), stdout), app.Close())
}

// application is implemented by both copies.
type application interface {
	Handler() http.Handler
	Close() error
}

type look = protected.Options

// open opens one of the two. Answers of the protected one do not wait for the
// accounting service.
func open(safe bool, path string, latency time.Duration, o look) (application, error) {
	if safe {
		return protected.Open(path, &o)
	}
	if latency == 0 {
		latency = -1 // the library's zero means the default
	}
	return invoices.Open(path, &invoices.Options{Latency: latency, Title: o.Title, Banner: o.Banner, Guard: o.Guard, Logger: o.Logger})
}

// serve answers on address until ctx ends.
func serve(ctx context.Context, address, readyFile string, handler http.Handler, stdout io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen: %w (choose another with -listen)", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readTimeout}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	page := "http://" + listener.Addr().String()
	if err := announce(readyFile, page); err != nil {
		return errors.Join(err, server.Close())
	}
	_, _ = fmt.Fprintf(stdout, "Invoices on %s (stop with Ctrl-C)\n", page)
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

// announce writes the address into the ready file, all at once. No file means
// that no request waits for it.
func announce(file, page string) error {
	if file == "" {
		return nil
	}
	half := file + ".half"
	if err := os.WriteFile(half, []byte("page="+page+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the ready file: %w", err)
	}
	if err := os.Rename(half, file); err != nil {
		return fmt.Errorf("write the ready file: %w", err)
	}
	return nil
}
