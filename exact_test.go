package semel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/store/memstore"
)

type noted struct {
	ID   int
	note string
}

// Promise 2: the first caller gets what every later one gets, whatever JSON makes of the result.
func TestFirstCallerGetsWhatLaterCallersGet(t *testing.T) {
	t.Parallel()
	const id = 1<<53 + 1
	wantSame(t, map[string]any{"id": int64(id), "rate": 0.1}, map[string]any{"id": json.Number("9007199254740993"), "rate": json.Number("0.1")})
	wantSame[any](t, uint64(1<<64-1), json.Number("18446744073709551615"))
	wantSame(t, []any{1.5, nil, "a"}, []any{json.Number("1.5"), nil, "a"})
	wantSame(t, struct{ Of []any }{[]any{id}}, struct{ Of []any }{[]any{json.Number("9007199254740993")}})
	wantSame(t, noted{1, "lost"}, noted{ID: 1})
	wantSame(t, time.Date(2026, 11, 28, 12, 0, 0, 0, time.FixedZone("CET", 3600)), time.Date(2026, 11, 28, 11, 0, 0, 0, time.UTC))
	wantSame(t, "\xff", "\ufffd")
	wantSame(t, []string{"\xff", `\ufffd`}, []string{"\ufffd", `\ufffd`})
	wantSame(t, invoice{ID: 1, Total: "1.50"}, invoice{ID: 1, Total: "1.50"})
	wantSame[json.RawMessage](t, json.RawMessage(`{"a": 1.00}`), json.RawMessage(`{"a":1.00}`))
}

// wantSame executes work that returns made, and asks for it again, by Do and by DoTx.
func wantSame[T any](t *testing.T, made, want T) {
	t.Helper()
	g := newGuard(t, memstore.New(nil), nil)
	db, _, rows := openTx(t, memdb.Options{}, nil)
	for _, attempt := range []string{"first", "later"} {
		got, err := semel.Do(t.Context(), g, testKey("a"), testFingerprint(), func(context.Context) (T, error) { return made, nil })
		inTx, txErr := semel.DoTx(t.Context(), rows, db, testKey("a"), testFingerprint(), func(context.Context) (T, error) { return made, nil })
		if err := errors.Join(err, txErr); err != nil {
			t.Errorf("%T, %s: %v", made, attempt, err)
		}
		for _, got := range []T{got, inTx} {
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(noted{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%T, %s (-want +got):\n%s", made, attempt, diff)
			}
		}
	}
}

// A result that JSON does not give back is not kept: the work has happened, for every caller. In a transaction nothing has.
func TestResultThatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	runs := 0
	for range 2 {
		_, err := semel.Do(t.Context(), g, testKey("a"), testFingerprint(), func(context.Context) (fmt.Stringer, error) { runs++; return time.Second, nil })
		if !errors.Is(err, semel.ErrNotKept) {
			t.Errorf("got %v, want ErrNotKept", err)
		}
	}
	db, _, rows := openTx(t, memdb.Options{}, nil)
	for range 2 {
		_, err := semel.DoTx(t.Context(), rows, db, testKey("a"), testFingerprint(), func(ctx context.Context) (fmt.Stringer, error) {
			runs++
			return time.Second, db.Insert(ctx, "a")
		})
		if err == nil || db.Count("a") != 0 {
			t.Errorf("got %v and %d rows, want an error and none", err, db.Count("a"))
		}
	}
	if runs != 3 {
		t.Errorf("executed %d times, want once by Do and twice by DoTx", runs)
	}
}

type explosive struct{}

func (explosive) MarshalJSON() ([]byte, error) { panic("no form") }

// A result that panics while it is written down has happened (promise 3), and leaves no transaction open.
func TestResultThatPanics(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	db, _, rows := openTx(t, memdb.Options{}, nil)
	attempt := func(do func() (any, error)) (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				err = fmt.Errorf("panic: %v", cause)
			}
		}()
		_, err = do()
		return err
	}
	runs := 0
	work := func(ctx context.Context) (any, error) { runs++; return explosive{}, nil }
	if err := attempt(func() (any, error) { return semel.Do(t.Context(), g, testKey("a"), testFingerprint(), work) }); err == nil {
		t.Error("the panic did not go on")
	}
	if err := attempt(func() (any, error) { return semel.Do(t.Context(), g, testKey("a"), testFingerprint(), work) }); !errors.Is(err, semel.ErrNotKept) || runs != 1 {
		t.Errorf("got %v after %d runs, want ErrNotKept after one", err, runs)
	}
	for range 2 {
		err := attempt(func() (any, error) {
			return semel.DoTx(t.Context(), rows, db, testKey("a"), testFingerprint(), func(ctx context.Context) (any, error) { return explosive{}, db.Insert(ctx, "a") })
		})
		if err == nil || db.Count("a") != 0 {
			t.Errorf("got %v and %d rows, want the panic and none", err, db.Count("a"))
		}
	}
}

// In dedup mode no answer is kept, so it needs no form.
func TestDedupResultNeedsNoForm(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), &semel.Options{Policy: semel.Policy{Dedup: true}})
	for _, want := range []error{nil, semel.ErrDuplicate} {
		_, err := semel.Do(t.Context(), g, testKey("a"), testFingerprint(), func(context.Context) (chan int, error) { return nil, nil })
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}
