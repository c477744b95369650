// Package mark reads what an error of a work says about its effect, for the guard and the packages that put intents together.
package mark

import (
	"context"
	"errors"
	"io"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// The states that a mark can have, as package semel numbers them.
const (
	completed = 2
	released  = 3
	unknown   = 4
)

// mostWrapped bounds a chain of errors: one that wraps itself has no end, and says nothing.
const mostWrapped = 1 << 16

// Of returns how the claim of the work is to be settled, as the outermost mark of its error says: an error that was made
// with semel.MarkFinal, MarkUnknown or MarkReleased. Of several errors in one, unknown counts before completed, and both
// count before released; a released one next to one that is [Open] is unknown. S is semel.State, whose zero value means none.
func Of[S ~uint8](err error) S {
	for range mostWrapped {
		switch e := err.(type) { //nolint:errorlint // it walks the tree itself.
		case interface{ Marked() S }:
			return e.Marked()
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			return ofSeveral[S](e.Unwrap())
		default:
			return 0
		}
	}
	return unknown
}

// ofSeveral is [Of] for several errors in one.
func ofSeveral[S ~uint8](parts []error) (state S) {
	var bare []error // read once more only if that decides: errors that are joined in a loop are deep
	for _, part := range parts {
		s := Of[S](part)
		if s == 0 {
			bare = append(bare, part)
		}
		if weight(s) > weight(state) {
			state = s
		}
	}
	if state == released && slices.ContainsFunc(bare, Open) {
		return unknown
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
// time-out, or of a request that got no answer, or was made from a panic that a layer below recovered.
func Open(err error) bool {
	return TimedOut(err) || within(err, panicked) || within(err, lostAnswer) || brokenOff(err)
}

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

// within reports whether is holds for an error or for one that it wraps.
func within(err error, is func(error) bool) bool {
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself.
	case nil:
		return false
	case interface{ Unwrap() error }:
		if within(e.Unwrap(), is) {
			return true
		}
	case interface{ Unwrap() []error }:
		if slices.ContainsFunc(e.Unwrap(), func(part error) bool { return within(part, is) }) {
			return true
		}
	}
	return is(err)
}

// panicked reports whether an error was made from a recovered panic: it is one of the runtime's own, or of a type whose
// name says so. Libraries have nothing else in common: go-grpc-middleware, Watermill, Asynq, Temporal and
// golang.org/x/sync each have a type of their own.
func panicked(err error) bool {
	_, ofRuntime := err.(runtime.Error) //nolint:errorlint // of this error alone.
	if ofRuntime {
		return true
	}
	t := reflect.TypeOf(err)
	return saysPanic(t.String()) || strings.Contains(t.String(), "Panic") && holdsAny(t)
}

// saysPanic reports whether the name of a type is that of a recovered panic: panicError, RecoveredPanicError, ErrPanic, or one of a
// package panics. PanicButtonError is about a button, and hispanic is another word.
func saysPanic(name string) bool {
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "*"), "[") // without the arguments of a type
	pkg, name, _ := strings.Cut(name, ".")
	if pkg == "panic" || pkg == "panics" {
		return true
	}
	at := strings.LastIndex(name, "Panic")
	if at < 0 && !strings.HasPrefix(name, "panic") {
		return false
	}
	rest := name[max(at, 0)+len("Panic"):]
	return rest == "" || slices.ContainsFunc([]string{"s", "ked", "Err", "Exception", "Failure", "Info", "Recover", "Value"}, func(word string) bool {
		return strings.HasPrefix(rest, word)
	})
}

// holdsAny reports whether a type has a field for a value of any type, as a panic's is.
func holdsAny(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		if t.Field(i).Type == reflect.TypeFor[any]() {
			return true
		}
	}
	return false
}

// brokenOff reports whether an error is that of a request of net/http whose connection broke after it was made. One that only
// reads has no effect.
func brokenOff(err error) bool {
	failed, ok := errors.AsType[*url.Error](err)
	if !ok || failed.Op == "Get" || failed.Op == "Head" || failed.Op == "Options" {
		return false
	}
	return slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE}, func(end error) bool { return errors.Is(failed.Err, end) })
}

// The codes of gRPC by which an answer did not come, or not whole. A client of gRPC returns them in place of its context's error.
const (
	cancelled        = 1
	deadlineExceeded = 4
	dataLoss         = 15
)

// lostAnswer reports whether an error carries such a code, in a status of gRPC or as an error of connect. Neither is imported.
func lostAnswer(err error) bool {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return false
	}
	said := v
	if status := v.MethodByName("GRPCStatus"); returnsOne(status) {
		said = status.Call(nil)[0]
	} else if reflect.TypeOf(err).String() != "*connect.Error" {
		return false
	}
	if said.Kind() == reflect.Pointer && said.IsNil() {
		return false
	}
	code := said.MethodByName("Code")
	if !returnsOne(code) || code.Type().Out(0).Kind() != reflect.Uint32 {
		return false
	}
	switch code.Call(nil)[0].Uint() {
	case cancelled, deadlineExceeded, dataLoss:
		return true
	}
	return false
}

// returnsOne reports whether a method is there, takes nothing and returns one value.
func returnsOne(method reflect.Value) bool {
	return method.IsValid() && method.Type().NumIn() == 0 && method.Type().NumOut() == 1
}
