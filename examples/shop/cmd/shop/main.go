// Command shop serves the example shop.
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

	"github.com/semel-dev/semel/examples/shop"
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
		_, _ = fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(exitTrouble)
	}
}

// run serves until ctx ends, then lets running requests finish.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:9100", "`address` to listen on")
	dir := flags.String("dir", "", "`directory` of the database; empty means a private one, gone at exit")
	assets := flags.String("assets", "", "`directory` served below /assets/")
	readyFile := flags.String("ready-file", "", "`file` that gets the line page=ADDRESS once the shop answers")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return errUsage
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(stderr, "shop: unexpected argument %q (run: shop -h)\n", flags.Arg(0))
		return errUsage
	}
	if *dir == "" {
		if *dir, err = os.MkdirTemp("", "shop-*"); err != nil {
			return fmt.Errorf("make a private directory: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(*dir)) }()
	}
	app, err := shop.Open(ctx, *dir, &shop.Options{Assets: *assets, Logger: slog.New(slog.NewTextHandler(stderr, nil))})
	if err != nil {
		return err
	}
	return errors.Join(serve(ctx, *listen, *readyFile, app.Handler(), stdout), app.Close()) //nolint:contextcheck // closing outlives ctx
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
	_, _ = fmt.Fprintf(stdout, "A shop on %s (stop with Ctrl-C)\n", page)
	if err := announce(readyFile, page); err != nil {
		return errors.Join(err, server.Close())
	}
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

// announce writes the address into the ready file, all at once. No file means
// that no process waits for it.
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
