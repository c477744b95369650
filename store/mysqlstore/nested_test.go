package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// Promise 4: an intent inside of another one is a part of its transaction, and
// what failed in it leaves that one as it was.
func TestNested(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		b := setUpTx(t, d, nil)
		inner := func(ctx context.Context, name string, fail error) (string, error) {
			return b.do(ctx, name, func(ctx context.Context, tx *sql.Tx) (string, error) {
				if err := insert(ctx, tx, name); err != nil {
					return "", err
				}
				return "answer " + name, fail
			})
		}
		answer, err := b.do(t.Context(), "outer", func(ctx context.Context, tx *sql.Tx) (string, error) {
			if err := insert(ctx, tx, "outer"); err != nil {
				return "", err
			}
			for range 2 { // the second is its own duplicate
				if answer, err := inner(ctx, "inner", nil); err != nil || answer != "answer inner" {
					t.Errorf("inner: got %q, error %v", answer, err)
				}
			}
			if _, err := inner(ctx, "failed", errBusiness); !errors.Is(err, errBusiness) {
				t.Errorf("failed: got %v", err)
			}
			if _, err := inner(ctx, "final", semel.MarkFinal(errBusiness)); !errors.Is(err, errBusiness) {
				t.Errorf("final: got %v", err)
			}
			if _, err := inner(ctx, "unknown", semel.MarkUnknown(errBusiness)); !errors.Is(err, errBusiness) {
				t.Errorf("unknown: got %v", err)
			}
			_, _ = recovered(func() (string, error) {
				return b.do(ctx, "panicked", func(ctx context.Context, tx *sql.Tx) (string, error) {
					_ = insert(ctx, tx, "panicked")
					panic(errBusiness)
				})
			})
			// Two deep, and the middle one fails.
			_, err := b.do(ctx, "middle", func(ctx context.Context, tx *sql.Tx) (string, error) {
				_, err := inner(ctx, "deep", nil)
				return "", errors.Join(errBusiness, err, insert(ctx, tx, "middle"))
			})
			if !errors.Is(err, errBusiness) {
				t.Errorf("middle: got %v", err)
			}
			return "answer outer", insert(ctx, tx, "outer, later")
		})
		if err != nil || answer != "answer outer" {
			t.Errorf("got %q, error %v", answer, err)
		}
		b.wantRows(t, "inner", "outer", "outer, later")
		for name, want := range map[string]semel.State{
			"outer": semel.StateCompleted, "inner": semel.StateCompleted, "final": semel.StateCompleted, "unknown": semel.StateUnknown,
			"failed": semel.StateAbsent, "panicked": semel.StateAbsent, "middle": semel.StateAbsent, "deep": semel.StateAbsent,
		} {
			b.wantState(t, name, want)
		}
		if answer, err := b.do(t.Context(), "inner", never(t)); err != nil || answer != "answer inner" {
			t.Errorf("inner, later: got %q, error %v", answer, err)
		}
		b.goesOn(t)
	})
}

// Promises 3 and 4: when the transaction around it is rolled back, so is the
// inner one; but what became unknown inside stays unknown.
func TestNestedRolledBack(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		b := setUpTx(t, d, nil)
		_, err := b.do(t.Context(), "outer", func(ctx context.Context, _ *sql.Tx) (string, error) {
			_, err := b.do(ctx, "inner", add("inner"))
			if err != nil {
				t.Error(err)
			}
			_, err = b.do(ctx, "unknown", func(context.Context, *sql.Tx) (string, error) { return "", semel.MarkUnknown(errBusiness) })
			if !errors.Is(err, errBusiness) {
				t.Error(err)
			}
			_, err = b.do(ctx, "middle", func(ctx context.Context, _ *sql.Tx) (string, error) {
				_, _ = b.do(ctx, "deep", func(context.Context, *sql.Tx) (string, error) { return "", semel.MarkUnknown(errBusiness) })
				return "", errBusiness
			})
			if !errors.Is(err, errBusiness) {
				t.Error(err)
			}
			return "", errors.New("after all, no")
		})
		if err == nil {
			t.Error("the failure of the outer work was not reported")
		}
		b.wantRows(t)
		for name, want := range map[string]semel.State{
			"outer": semel.StateAbsent, "inner": semel.StateAbsent, "unknown": semel.StateUnknown, "deep": semel.StateUnknown, "middle": semel.StateAbsent,
		} {
			b.wantState(t, name, want)
		}
		b.goesOn(t)
	})
}

// The unknown inside of something that failed inside of what was committed
// also stays unknown.
func TestNestedUnknownOutlivesTheMiddle(t *testing.T) {
	t.Parallel()
	b := setUpTx(t, door{}, nil)
	_, err := b.do(t.Context(), "outer", func(ctx context.Context, tx *sql.Tx) (string, error) {
		_, err := b.do(ctx, "middle", func(ctx context.Context, _ *sql.Tx) (string, error) {
			_, _ = b.do(ctx, "deep", func(context.Context, *sql.Tx) (string, error) { return "", semel.MarkUnknown(errBusiness) })
			return "", errBusiness
		})
		if !errors.Is(err, errBusiness) {
			t.Error(err)
		}
		return "", insert(ctx, tx, "outer")
	})
	if err != nil {
		t.Error(err)
	}
	b.wantRows(t, "outer")
	b.wantState(t, "deep", semel.StateUnknown)
	b.wantState(t, "middle", semel.StateAbsent)
}

// A deadlock inside undoes everything: the outer work runs again, and what it
// calls inside does not go on without a transaction.
func TestNestedDeadlock(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		b := setUpTx(t, d, &semel.Options{Policy: semel.PaymentPolicy()})
		outer, inner := 0, 0
		answer, err := b.do(t.Context(), "outer", func(ctx context.Context, tx *sql.Tx) (string, error) {
			outer++
			if err := insert(ctx, tx, "outer"); err != nil {
				return "", err
			}
			return b.do(ctx, "inner", func(ctx context.Context, tx *sql.Tx) (string, error) {
				inner++
				if inner == 1 {
					return "", deadlock(ctx, b, tx)
				}
				return "answer", insert(ctx, tx, "inner")
			})
		})
		if err != nil || answer != "answer" || outer != 2 || inner != 2 {
			t.Errorf("got %q, error %v, after %d and %d runs", answer, err, outer, inner)
		}
		b.wantRows(t, "inner", "outer")
		b.wantState(t, "inner", semel.StateCompleted)
		b.goesOn(t)
	})
}

// A transaction is used by one goroutine at a time; two intents inside of it at
// once are refused, not mixed.
func TestNestedAtOnce(t *testing.T) {
	t.Parallel()
	b := setUpTx(t, door{}, nil)
	_, err := b.do(t.Context(), "outer", func(ctx context.Context, _ *sql.Tx) (string, error) {
		return b.do(ctx, "first", func(context.Context, *sql.Tx) (string, error) {
			_, err := b.do(ctx, "second", never(t)) // with the outer context
			if err == nil || !strings.Contains(err.Error(), "one goroutine at a time") {
				t.Errorf("got %v, want a refusal", err)
			}
			return "", nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// The context of work that is over is the one of no transaction.
func TestContextOutlivesItsTransaction(t *testing.T) {
	t.Parallel()
	b := setUpTx(t, door{}, nil)
	var kept context.Context
	_, err := b.do(t.Context(), "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
		if mysqlstore.TxFrom(ctx) != tx {
			t.Error("the context has another transaction than the work")
		}
		kept = context.WithoutCancel(ctx) //nolint:fatcontext // it is kept on purpose.
		return "", nil
	})
	if err != nil {
		t.Error(err)
	}
	if mysqlstore.TxFrom(kept) != nil || mysqlstore.TxFrom(t.Context()) != nil {
		t.Error("a context without a transaction gave one")
	}
	if _, err := b.do(kept, "later", add("later")); err != nil {
		t.Error(err)
	}
	b.wantRows(t, "later")
}
