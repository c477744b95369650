// Package command has the verbs of the command semel: a file for each, and Main, which runs a command line.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/opendb"
	"github.com/semel-dev/semel/internal/openstore"
)

// The exit codes, a contract with scripts.
const (
	exitFine        = 0
	exitFound       = 1   // the answer is no: nothing matches, or a duplicate was found
	exitUsage       = 2   // the command line, the environment or a file is wrong
	exitUnreachable = 3   // a store, an address or a server could not be reached
	exitSignalled   = 130 // a second interrupt ended it at once
)

// process is a verb's access to the outside world.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	environment    []string // all of it, as NAME=VALUE
	telemetry      Telemetry
}

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
	go func() {
		select {
		case <-signals:
		case <-hangup: // never the second: a terminal that is closed may send it twice
		}
		cancel()
		<-signals
		os.Exit(exitSignalled) // the second one ends the process at once
	}()
	return execute(ctx, &process{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, environment: os.Environ(), telemetry: telemetry}, os.Args[1:])
}

// run is execute for a process without telemetry.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	return execute(ctx, &process{stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv}, args)
}

// execute executes one command line and returns the exit code. It prints the
// error itself, as a plain sentence on stderr.
func execute(ctx context.Context, p *process, args []string) int {
	root := newRoot(p) //nolint:contextcheck // cobra hands ctx to the verbs.
	root.SetArgs(args)
	at, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitFine
	}
	ended := &exitError{code: exitUsage, err: err} // errors of cobra itself
	errors.As(err, &ended)
	if ended.err != nil {
		p.complain(at, ended)
	}
	return ended.code
}

// complain prints the error and, for a wrong command line, how to get help.
func (p *process) complain(at *cobra.Command, ended *exitError) {
	text := strings.TrimSpace(dialect.Discreet(ended.err).Error())
	if !strings.HasPrefix(text, "semel") {
		text = "semel: " + text
	}
	for line := range strings.Lines(text) { // it may repeat what a row, a header or a file holds
		_, _ = fmt.Fprintln(p.stderr, plain(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")))
	}
	if ended.code == exitUsage {
		_, _ = fmt.Fprintf(p.stderr, "Run %q to read how it is used.\n", at.CommandPath()+" --help")
	}
}

// exitError is an error with an exit code. Its err is nil if everything has been printed.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// Unwrap returns the error without its exit code.
func (e *exitError) Unwrap() error { return e.err }

func found(err error) error       { return &exitError{code: exitFound, err: err} }
func usage(err error) error       { return &exitError{code: exitUsage, err: err} }
func unreachable(err error) error { return &exitError{code: exitUnreachable, err: err} }

// openError is the error of opening a database or a store: of its DSN, or of its server.
func openError(err error) error {
	if errors.Is(err, openstore.ErrDSN) || errors.Is(err, opendb.ErrDSN) {
		return usage(err)
	}
	return unreachable(err)
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }
