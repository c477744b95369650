// Package mark reads what an error of a work says about its effect, for the guard and the packages that put intents together.
package mark

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// The states that a mark can have, as package semel numbers them.
const (
	completed = 2
	released  = 3
	unknown   = 4
)

// Of returns how the claim of the work is to be settled, as the outermost mark of its error says: an error that was made
// with semel.MarkFinal, MarkUnknown or MarkReleased. Of several errors in one, unknown counts before completed, and both
// count before released; a released one next to one that is [Open] is unknown. S is semel.State, whose zero value means none.
func Of[S ~uint8](err error) (state S) {
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself.
	case interface{ Marked() S }:
		return e.Marked()
	case interface{ Unwrap() error }:
		return Of[S](e.Unwrap())
	case interface{ Unwrap() []error }:
		open := false
		for _, part := range e.Unwrap() {
			s := Of[S](part)
			open = open || s == 0 && Open(part)
			if weight(s) > weight(state) {
				state = s
			}
		}
		if state == released && open {
			return unknown
		}
	}
	return state
}

func weight[S ~uint8](s S) int {
	switch s {
	case unknown:
		return 3
	case completed:
		return 2
	case released:
		return 1
	}
	return 0
}

// Open reports whether an error without a mark leaves open whether the effect happened: it is that of a context's end or a
// time-out, or was made from a panic that a layer below recovered.
func Open(err error) bool { return TimedOut(err) || panicked(err) }

// TimedOut reports whether an error is that of a context's end or a time-out.
func TimedOut(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}

// panicked reports whether an error was made from a recovered panic: it wraps one of the runtime's own, or one whose type
// says so by its name. Libraries have nothing else in common: go-grpc-middleware, Watermill, Asynq, Temporal and
// golang.org/x/sync each have a type of their own.
func panicked(err error) bool {
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself.
	case nil:
		return false
	case runtime.Error:
		return true
	case interface{ Unwrap() error }:
		if panicked(e.Unwrap()) {
			return true
		}
	case interface{ Unwrap() []error }:
		if slices.ContainsFunc(e.Unwrap(), panicked) {
			return true
		}
	}
	return strings.Contains(strings.ToLower(reflect.TypeOf(err).String()), "panic")
}
