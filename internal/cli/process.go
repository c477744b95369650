package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/dialect"
)

// The exit codes, a contract with scripts.
const (
	ExitFine        = 0
	ExitFound       = 1   // the answer is no: nothing matches, or a duplicate was found
	ExitUsage       = 2   // the command line, the environment or a file is wrong
	ExitUnreachable = 3   // a store, an address or a server could not be reached
	ExitSignalled   = 130 // a second interrupt ended it at once
)

// Process is a verb's access to the outside world.
type Process struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Environment    []string // all of it, as NAME=VALUE
	// Hangup is set by a verb for which SIGHUP is not the end. nil where signals are not the process' own.
	Hangup *atomic.Bool
}

// Complain prints the error and, for a wrong command line, how to get help.
func (p *Process) Complain(at *cobra.Command, ended *ExitError) {
	text := strings.TrimSpace(dialect.Discreet(ended.Err).Error())
	if !strings.HasPrefix(text, "semel") {
		text = "semel: " + text
	}
	for line := range strings.Lines(text) { // it may repeat what a row, a header or a file holds
		_, _ = fmt.Fprintln(p.Stderr, Plain(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")))
	}
	if ended.Code == ExitUsage {
		_, _ = fmt.Fprintf(p.Stderr, "Run %q to read how it is used.\n", at.CommandPath()+" --help")
	}
}

// ExitError is an error with an exit code. Its err is nil if everything has been printed.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the error without its exit code.
func (e *ExitError) Unwrap() error { return e.Err }

// Found gives an error [ExitFound].
func Found(err error) error { return &ExitError{Code: ExitFound, Err: err} }

// Usage gives an error [ExitUsage].
func Usage(err error) error { return &ExitError{Code: ExitUsage, Err: err} }

// Unreachable gives an error [ExitUnreachable].
func Unreachable(err error) error { return &ExitError{Code: ExitUnreachable, Err: err} }

// OpenError is the error of opening a database or a store: of its DSN, or of its server.
func OpenError(err error) error {
	if errors.Is(err, opendb.ErrDSN) {
		return Usage(err)
	}
	return Unreachable(err)
}

// Usagef is [Usage] of a formatted error.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// AsUnreachable gives an error without an exit code that of an unreachable database.
func AsUnreachable(err error) error {
	var ended *ExitError
	if err == nil || errors.As(err, &ended) {
		return err
	}
	return Unreachable(err)
}
