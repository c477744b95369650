// Package command has the verbs of the command semel: a file for each, and Main, which runs a command line.
package command

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
)

// Main runs this process' command line until it ends, or until a signal ends it, and returns the exit code. The telemetry
// is that of semel gateway --otlp; nil for none.
func Main(telemetry Telemetry) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	hangup := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		signal.Notify(hangup, syscall.SIGHUP)
	}
	p := &cli.Process{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Environment: os.Environ(), Hangup: new(atomic.Bool)}
	go func() {
		for ended := false; !ended; {
			select {
			case <-signals:
				ended = true
			case <-hangup: // never the second: a terminal that is closed may send it twice
				ended = !p.Hangup.Load()
			}
		}
		cancel()
		<-signals
		os.Exit(cli.ExitSignalled) // the second one ends the process at once
	}()
	return execute(ctx, p, telemetry, os.Args[1:])
}

// run is execute for a process without telemetry.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	return execute(ctx, &cli.Process{Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: getenv}, nil, args)
}

// execute executes one command line and returns the exit code. It prints the error itself, as a plain sentence on stderr.
func execute(ctx context.Context, p *cli.Process, telemetry Telemetry, args []string) int {
	root := newRoot(p, telemetry) //nolint:contextcheck // cobra hands ctx to the verbs.
	root.SetArgs(args)
	at, err := root.ExecuteContextC(ctx)
	if err == nil {
		return cli.ExitFine
	}
	ended := &cli.ExitError{Code: cli.ExitUsage, Err: err} // errors of cobra itself
	errors.As(err, &ended)
	if ended.Err != nil {
		p.Complain(at, ended)
	}
	return ended.Code
}

// storeError is openError of a store.
func storeError(err error) error {
	if errors.Is(err, openstore.ErrDSN) {
		return cli.Usage(err)
	}
	return cli.OpenError(err)
}
