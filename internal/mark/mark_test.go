package mark_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/mark"
)

func TestOf(t *testing.T) {
	t.Parallel()
	plain := errors.New("down")
	for name, test := range map[string]struct {
		err  error
		want semel.State
	}{
		"nil":                         {nil, semel.StateAbsent},
		"none":                        {plain, semel.StateAbsent},
		"final":                       {semel.MarkFinal(plain), semel.StateCompleted},
		"wrapped":                     {fmt.Errorf("charge: %w", semel.MarkUnknown(plain)), semel.StateUnknown},
		"the outermost counts":        {semel.MarkReleased(semel.MarkFinal(plain)), semel.StateReleased},
		"one of several":              {errors.Join(plain, semel.MarkFinal(plain)), semel.StateCompleted},
		"unknown before released":     {errors.Join(semel.MarkReleased(plain), semel.MarkUnknown(plain)), semel.StateUnknown},
		"completed before released":   {fmt.Errorf("%w, %w", semel.MarkReleased(plain), semel.MarkFinal(plain)), semel.StateCompleted},
		"unknown before completed":    {errors.Join(semel.MarkFinal(plain), semel.MarkUnknown(plain)), semel.StateUnknown},
		"released next to a time-out": {errors.Join(semel.MarkReleased(plain), context.DeadlineExceeded), semel.StateUnknown},
		"a released time-out":         {semel.MarkReleased(context.DeadlineExceeded), semel.StateReleased},
		"released next to a failure":  {errors.Join(semel.MarkReleased(plain), plain), semel.StateReleased},
		"a replay has none":           {&semel.FinalError{Message: "no"}, semel.StateAbsent},
		"one that wraps itself":       {endless{}, semel.StateUnknown},
	} {
		if got := mark.Of[semel.State](test.err); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		errors.New("down"): false, context.Canceled: true, fmt.Errorf("call: %w", context.DeadlineExceeded): true, os.ErrDeadlineExceeded: true, os.ErrClosed: false,
		errors.Join(os.ErrClosed, context.Canceled): true,
	} {
		if got := mark.Open(err); got != want || mark.TimedOut(err) != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
}

// endless wraps itself.
type endless struct{}

func (endless) Error() string   { return "endless" }
func (e endless) Unwrap() error { return e }

// joined counts how often it is read.
type joined struct {
	parts []error
	reads *int
}

func (joined) Error() string     { return "joined" }
func (j joined) Unwrap() []error { *j.reads++; return j.parts }

// TestManyErrors: rows that fail one after the other are joined in a loop, and reading them takes time that grows as they do.
func TestManyErrors(t *testing.T) {
	t.Parallel()
	const rows = 1000
	for name, first := range map[string]error{"plain": os.ErrClosed, "released": semel.MarkReleased(os.ErrClosed)} {
		reads, all := 0, first
		for range rows {
			all = joined{[]error{all, os.ErrClosed}, &reads}
		}
		if got, want := mark.Of[semel.State](all), mark.Of[semel.State](first); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if mark.Open(all) {
			t.Errorf("%s: it is open", name)
		}
		if reads > 20*rows {
			t.Errorf("%s: %d errors were read %d times", name, rows, reads)
		}
	}
}

// PanicAtFloor holds what was recovered.
type PanicAtFloor struct{ Value any } //nolint:errname // the name is tried.

func (PanicAtFloor) Error() string { return "caught" }

// PanicButton does not.
type PanicButton struct{ Floor int } //nolint:errname // the name is tried.

func (*PanicButton) Error() string { return "pressed" }

// TestNamesOfPanics: what an error's type is called says that it was made from a panic, unless the word is about something else.
func TestNamesOfPanics(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"recovery.PanicError": true, "*middleware.RecoveredPanicError": true, "*errors.PanicError": true, "*singleflight.panicError": true,
		"*errgroup.panicError": true, "*panics.ErrRecovered": true, "app.ErrPanic": true, "*app.PanicError[example.com/shop.Order]": true, "*app.WorkerPanicked": true,
		"hispanic.Error": false, "*app.hispanicError": false, "*app.PanicButtonError": false, "*panicroom.FullError": false, "app.Error[example.com/shop.PanicError]": false,
	} {
		if got := mark.SaysPanic(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if !mark.Open(&PanicAtFloor{1}) || mark.Open(&PanicButton{}) {
		t.Errorf("what holds a panic's value: got %v; a button: got %v; want true, false", mark.Open(&PanicAtFloor{1}), mark.Open(&PanicButton{}))
	}
}

// caughtPanic is an error of a layer that recovers.
type caughtPanic struct{ value string } //nolint:errname // the name is tried.

func (caughtPanic) Error() string { return "caught" }

// recovered returns what a layer that recovers f returns: the panic's value, if that is an error.
func recovered(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

func TestOpenAfterAPanic(t *testing.T) {
	t.Parallel()
	var none map[string]int
	for name, err := range map[string]error{
		"by value":        caughtPanic{"no"},
		"by pointer":      &caughtPanic{"no"},
		"wrapped":         fmt.Errorf("handler: %w", &caughtPanic{"no"}),
		"one of several":  errors.Join(os.ErrClosed, fmt.Errorf("handler: %w", caughtPanic{"no"})),
		"of the runtime":  recovered(func() { none["x"] = 1 }),
		"a type mismatch": fmt.Errorf("handler: %w", recovered(func() { _ = any(none).(string) })),
		"of nil":          recovered(func() { panic(nil) }),
	} {
		if !mark.Open(err) || mark.TimedOut(err) {
			t.Errorf("%s: Open(%v) is false, or TimedOut is true", name, err)
		}
	}
	if mark.Open(nil) {
		t.Error("nil is open")
	}
}

// status is one of gRPC, as far as it is read.
type status struct{ code uint32 }

func (s *status) Code() uint32 { return s.code }

type statusError struct{ status *status }

func (*statusError) Error() string         { return "rpc error" }
func (e *statusError) GRPCStatus() *status { return e.status }

// odd has a method of that name that is another one.
type odd struct{}

func (odd) Error() string               { return "odd" }
func (odd) GRPCStatus(int) *status      { return nil }
func (odd) Code() (s string, err error) { return "", nil }

func TestOpenStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[uint32]bool{0: false, 1: true, 2: false, 4: true, 5: false, 14: false, 15: true} {
		if got := mark.Open(fmt.Errorf("charge: %w", &statusError{&status{code}})); got != want {
			t.Errorf("%d: got %v, want %v", code, got, want)
		}
	}
	for _, err := range []error{odd{}, (*statusError)(nil), &statusError{}, fmt.Errorf("%w", odd{})} {
		if mark.Open(err) {
			t.Errorf("%T is open", err)
		}
	}
}

// TestOpenConnection: what broke after a request was sent may have taken effect, what was never made has not.
func TestOpenConnection(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, c := range map[string]struct {
		method, url string
		want        bool
	}{
		"broke":             {http.MethodPost, server.URL, true},
		"broke, a read":     {http.MethodGet, server.URL, false},
		"refused":           {http.MethodPost, gone.URL, false},
		"no such scheme":    {http.MethodPost, "gopher://localhost/", false},
		"broke, a deletion": {http.MethodDelete, server.URL, true},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, c.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := server.Client().Do(r)
		if err == nil {
			_ = res.Body.Close()
		}
		if got := mark.Open(fmt.Errorf("charge: %w", err)); err == nil || got != c.want || mark.TimedOut(err) {
			t.Errorf("%s: got %v for %v, want %v", name, got, err, c.want)
		}
	}
}
