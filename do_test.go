package semel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

type invoice struct {
	ID    int
	Total string
}

func TestDoGivesEveryCallerTheFirstResult(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	runs := 0
	create := func(context.Context) (invoice, error) {
		runs++
		return invoice{ID: runs, Total: "12.50"}, nil
	}
	for range 3 {
		got, err := semel.Do(t.Context(), g, testKey("a"), testFingerprint(), create)
		if want := (invoice{ID: 1, Total: "12.50"}); err != nil || got != want {
			t.Fatalf("got %+v, %v; want %+v", got, err, want)
		}
	}
	if runs != 1 {
		t.Errorf("executed %d times, want 1", runs)
	}
}

func TestDoKeepsZeroAndNull(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	for range 2 {
		if got, err := semel.Do(t.Context(), g, testKey("zero"), testFingerprint(),
			func(context.Context) (int, error) { return 0, nil }); got != 0 || err != nil {
			t.Errorf("zero: got %d, %v", got, err)
		}
		if got, err := semel.Do(t.Context(), g, testKey("nil"), testFingerprint(),
			func(context.Context) (*invoice, error) { return nil, nil }); got != nil || err != nil { //nolint:nilnil // the case under test.
			t.Errorf("nil: got %v, %v", got, err)
		}
	}
}

// What the work returns decides what the next attempt meets (promise 3).
func TestDoSettlesByWhatTheWorkReturns(t *testing.T) {
	t.Parallel()
	declined := errors.New("card declined")
	tests := map[string]struct {
		policy semel.Policy
		err    error
		next   error // nil: it executes
		final  bool
	}{
		"an error":                   {err: declined},
		"an error, payments":         {policy: semel.PaymentPolicy(), err: declined, next: semel.ErrUnknown},
		"final":                      {err: semel.MarkFinal(declined), final: true},
		"final, wrapped":             {err: fmt.Errorf("pay: %w", semel.MarkFinal(declined)), final: true},
		"unknown":                    {err: semel.MarkUnknown(declined), next: semel.ErrUnknown},
		"context ended":              {err: fmt.Errorf("call: %w", context.Canceled), next: semel.ErrUnknown},
		"deadline":                   {err: fmt.Errorf("call: %w", context.DeadlineExceeded), next: semel.ErrUnknown},
		"time-out":                   {err: fmt.Errorf("read: %w", os.ErrDeadlineExceeded), next: semel.ErrUnknown},
		"time-out before sending":    {err: semel.MarkReleased(os.ErrDeadlineExceeded)},
		"released, payments":         {policy: semel.PaymentPolicy(), err: semel.MarkReleased(declined)},
		"released, wrapped, payment": {policy: semel.PaymentPolicy(), err: fmt.Errorf("x: %w", semel.MarkReleased(declined))},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, memstore.New(nil), &semel.Options{Policy: tt.policy})
			runs := 0
			work := func(context.Context) (int, error) {
				runs++
				return runs, tt.err
			}
			if _, err := semel.Do(t.Context(), g, testKey("a"), testFingerprint(), work); !errors.Is(err, errors.Unwrap(tt.err)) && err.Error() != tt.err.Error() {
				t.Errorf("first: got %v, want %v", err, tt.err)
			}
			_, err := semel.Do(t.Context(), g, testKey("a"), testFingerprint(), work)
			final, isFinal := errors.AsType[*semel.FinalError](err)
			switch {
			case tt.final && (!isFinal || final.Message != tt.err.Error() || runs != 1):
				t.Errorf("second: got %v after %d runs, want the first error replayed", err, runs)
			case tt.next != nil && (!errors.Is(err, tt.next) || runs != 1):
				t.Errorf("second: got %v after %d runs, want %v and no execution", err, runs, tt.next)
			case tt.next == nil && !tt.final && runs != 2:
				t.Errorf("second: got %v after %d runs, want an execution", err, runs)
			}
		})
	}
}

// A panic is unknown (promise 3), whether it goes through Do or a layer in the work turns it into an error.
func TestDoPanics(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(context.Context) (int, error){
		"through Do": func(context.Context) (int, error) { panic("boom") },
		"recovered by the work": func(context.Context) (n int, err error) {
			defer func() { err, _ = recover().(error) }()
			return []int{}[n], nil
		},
		"runtime.Goexit": func(context.Context) (int, error) {
			runtime.Goexit()
			return 0, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, memstore.New(nil), nil)
			var running sync.WaitGroup
			running.Go(func() {
				defer func() {
					if p := recover(); (p == "boom") != (name == "through Do") {
						t.Errorf("recovered %v, want the panic to pass through", p)
					}
				}()
				_, err := semel.Do(t.Context(), g, testKey("a"), testFingerprint(), work)
				if _, ok := errors.AsType[runtime.Error](err); !ok {
					t.Errorf("returned with %v", err)
				}
			})
			running.Wait()
			mustRefuse(t, g, testKey("a"), semel.ErrUnknown)
		})
	}
}

// hollow is an error whose methods need what a nil pointer does not have.
type hollow struct{ cause error }

func (e *hollow) Error() string { return e.cause.Error() }
func (e *hollow) Unwrap() error { return e.cause }

// hollows are errors whose methods panic: when it is read what they wrap, and when their text is.
func hollows() map[string]error {
	return map[string]error{"a nil pointer": (*hollow)(nil), "without a cause": &hollow{}}
}

// panics runs a function that panics.
func panics(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() == nil {
			t.Error("the panic did not pass through")
		}
	}()
	f()
}

// An error whose own methods panic says nothing of the effect (promise 3), and its claim ends with the call.
func TestDoWithAnErrorThatPanics(t *testing.T) {
	t.Parallel()
	for name, failure := range hollows() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, memstore.New(nil), &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}})
			panics(t, func() {
				_, _ = semel.Do(t.Context(), g, testKey("a"), testFingerprint(), func(context.Context) (int, error) { return 0, failure })
			})
			mustRefuse(t, g, testKey("a"), semel.ErrUnknown)
		})
	}
}

func TestDoHandsThroughCancellation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, memstore.New(nil), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := semel.Do(ctx, g, testKey("a"), testFingerprint(), func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, context.Cause(ctx)
		})
		if took := time.Since(began); took != time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v after %v, want the caller's deadline", err, took)
		}
		mustRefuse(t, g, testKey("a"), semel.ErrUnknown)
	})
}

// A result that arrives after its caller has gone is still recorded.
func TestDoRecordsAfterTheCallerHasGone(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	ctx, cancel := context.WithCancel(t.Context())
	got, err := semel.Do(ctx, g, testKey("a"), testFingerprint(), func(context.Context) (int, error) {
		cancel()
		return 7, nil
	})
	if got != 7 || err != nil {
		t.Fatalf("got %d, %v; want 7", got, err)
	}
	got, err = semel.Do(t.Context(), g, testKey("a"), testFingerprint(),
		func(context.Context) (int, error) { return 8, nil })
	if got != 7 || err != nil {
		t.Errorf("replay: got %d, %v; want 7", got, err)
	}
}

func TestDoWithAResultThatCannotBeKept(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	runs := 0
	work := func(context.Context) (chan int, error) { runs++; return make(chan int), nil }
	if v, err := semel.Do(t.Context(), g, testKey("a"), testFingerprint(), work); v == nil || err == nil {
		t.Errorf("got %v, %v; want the value and an error", v, err)
	}
	if _, err := semel.Do(t.Context(), g, testKey("a"), testFingerprint(), work); !errors.Is(err, semel.ErrNotKept) || runs != 1 {
		t.Errorf("second: got %v after %d runs, want ErrNotKept after 1", err, runs)
	}
}

func TestDoMeetsARecordOfAnotherDoor(t *testing.T) {
	t.Parallel()
	for _, outcome := range []string{"\x01HTTP", `{"semel":2,"value":1}`, `{}`, ``} {
		g := newGuard(t, memstore.New(nil), nil)
		mustSucceed(t, mustClaim(t, g, testKey("a")).Complete([]byte(outcome), nil))
		if _, err := semel.Do(t.Context(), g, testKey("a"), testFingerprint(),
			func(context.Context) (int, error) { return 1, nil }); err == nil {
			t.Errorf("%q: got no error", outcome)
		}
	}
}

func TestFenceTravelsInTheContext(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	var last semel.Fence
	for _, name := range []string{"a", "b", "c"} {
		_, err := semel.Do(t.Context(), g, testKey(name), testFingerprint(), func(ctx context.Context) (int, error) {
			fence := semel.FenceFrom(ctx)
			if fence <= last || semel.ClaimFrom(ctx).Fence() != fence {
				t.Errorf("got fence %d after %d", fence, last)
			}
			last = fence
			return 0, nil
		})
		mustSucceed(t, err)
	}
	if semel.FenceFrom(t.Context()) != 0 {
		t.Error("a context without a claim has a fence")
	}
}
