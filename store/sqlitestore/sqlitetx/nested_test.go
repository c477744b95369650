package sqlitetx_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// Promise 4: an intent inside of another commits with it, and what failed in
// it is undone alone.
func TestNested(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	answer, err := b.do(t.Context(), "outer", func(ctx context.Context, tx *sql.Tx) (string, error) {
		if err := insert(ctx, tx, "outer"); err != nil {
			return "", err
		}
		for range 2 { // the second is answered by the first
			if got, err := addRow(ctx, b.guard, "inner"); err != nil || got != "answer inner" {
				t.Errorf("inner: got %q, error %v", got, err)
			}
		}
		_, err := b.do(ctx, "failed", func(ctx context.Context, tx *sql.Tx) (string, error) {
			if _, err := addRow(ctx, b.guard, "in failed"); err != nil {
				t.Error(err)
			}
			return "", errors.Join(errBusiness, insert(ctx, tx, "failed"))
		})
		if !errors.Is(err, errBusiness) {
			t.Errorf("failed: got %v, want %v", err, errBusiness)
		}
		_, err = b.do(ctx, "final", func(ctx context.Context, tx *sql.Tx) (string, error) {
			return "", semel.MarkFinal(errors.Join(errBusiness, insert(ctx, tx, "final")))
		})
		if !errors.Is(err, errBusiness) {
			t.Errorf("final: got %v, want %v", err, errBusiness)
		}
		return "outer answer", nil
	})
	if err != nil || answer != "outer answer" {
		t.Errorf("got %q, error %v", answer, err)
	}
	b.wantRows(t, "inner", "outer")
	for name, want := range map[string]semel.State{
		"outer": semel.StateCompleted, "inner": semel.StateCompleted, "final": semel.StateCompleted,
		"failed": semel.StateAbsent, "in failed": semel.StateAbsent,
	} {
		b.wantState(t, name, want)
	}
	if got, err := b.do(t.Context(), "inner", never(t)); err != nil || got != "answer inner" {
		t.Errorf("inner afterwards: got %q, error %v", got, err)
	}
}

// Promise 4: when the outer intent is rolled back, so are those inside of it.
// Promise 3: but what became unknown inside of it stays unknown, because what
// it did elsewhere was not undone.
func TestNestedRolledBack(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	unknown := func(name string) func(context.Context, *sql.Tx) (string, error) {
		return func(ctx context.Context, tx *sql.Tx) (string, error) {
			return "", semel.MarkUnknown(errors.Join(errBusiness, insert(ctx, tx, name)))
		}
	}
	_, err := b.do(t.Context(), "outer", func(ctx context.Context, tx *sql.Tx) (string, error) {
		if _, err := addRow(ctx, b.guard, "inner"); err != nil {
			t.Error(err)
		}
		if _, err := b.do(ctx, "unknown", unknown("unknown")); !errors.Is(err, errBusiness) {
			t.Errorf("unknown: got %v, want %v", err, errBusiness)
		}
		_, err := b.do(ctx, "middle", func(ctx context.Context, tx *sql.Tx) (string, error) {
			if _, err := b.do(ctx, "deep", unknown("deep")); !errors.Is(err, errBusiness) {
				t.Errorf("deep: got %v, want %v", err, errBusiness)
			}
			return "", errors.Join(errBusiness, insert(ctx, tx, "middle"))
		})
		return "", err
	})
	if !errors.Is(err, errBusiness) {
		t.Errorf("got %v, want %v", err, errBusiness)
	}
	b.wantRows(t)
	for name, want := range map[string]semel.State{
		"outer": semel.StateAbsent, "inner": semel.StateAbsent, "middle": semel.StateAbsent,
		"unknown": semel.StateUnknown, "deep": semel.StateUnknown,
	} {
		b.wantState(t, name, want)
	}
}

// What is used inside of a transaction does not wait for it.
func TestInsideOfATransaction(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", &semel.Options{StoreTimeout: 50 * time.Millisecond})
	b.db.SetMaxOpenConns(1)
	if _, err := addRow(t.Context(), b.guard, "before"); err != nil {
		t.Fatal(err)
	}
	answer, err := b.do(t.Context(), "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
		if sqlitetx.TxFrom(ctx) != tx {
			t.Error("TxFrom gives another transaction than the work has")
		}
		if rec, err := b.store.Lookup(ctx, b.guard.Digest(key("before"))); err != nil || rec.State != semel.StateCompleted {
			t.Errorf("look up: got %v, error %v", rec.State, err)
		}
		if n, err := b.store.Count(ctx); err != nil || n != 2 {
			t.Errorf("count: got %d, error %v, want the one before and the claim", n, err)
		}
		if page, err := b.store.List(ctx, semel.ListParams{}); err != nil || len(page.Records) != 2 {
			t.Errorf("list: got %d, error %v", len(page.Records), err)
		}
		if err := b.store.Check(ctx); err != nil {
			t.Error(err)
		}
		if n, err := b.store.Sweep(ctx, 1); err != nil || n != 0 {
			t.Errorf("sweep: got %d, error %v", n, err)
		}
		// Two phases need a commit of their own, but the only writer is taken.
		_, err := semel.Do(ctx, b.guard, key("two phases"), sameRequest(), func(context.Context) (string, error) {
			t.Error("it was executed without a claim that is durable")
			return "", nil
		})
		if !errors.Is(err, semel.ErrUnavailable) || !strings.Contains(err.Error(), "holds the only writer") {
			t.Errorf("two phases: got %v, want %v", err, semel.ErrUnavailable)
		}
		return addRow(ctx, b.guard, "inner")
	})
	if err != nil || answer != "answer inner" {
		t.Errorf("got %q, error %v", answer, err)
	}
	if sqlitetx.TxFrom(t.Context()) != nil {
		t.Error("TxFrom gives a transaction where there is none")
	}
	b.wantRows(t, "before", "inner")
}

// Two intents of one transaction at a time are one too many.
func TestNestedAtOnce(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	_, err := b.do(t.Context(), "outer", func(ctx context.Context, _ *sql.Tx) (string, error) {
		return b.do(ctx, "inner", func(inner context.Context, tx *sql.Tx) (string, error) {
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := b.do(ctx, "beside", never(t))
				if !errors.Is(err, semel.ErrUnavailable) || !strings.Contains(err.Error(), "one goroutine at a time") {
					t.Errorf("next to it: got %v, want %v", err, semel.ErrUnavailable)
				}
			})
			wg.Wait()
			return "", insert(inner, tx, "inner")
		})
	})
	if err != nil {
		t.Error(err)
	}
	b.wantRows(t, "inner")
}

// Promise 4: an intent inside of a transaction that SQLite has ended is not
// executed.
func TestNestedInNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.Context, *sql.Tx) error{
		"Commit":   func(_ context.Context, tx *sql.Tx) error { return tx.Commit() },
		"ROLLBACK": func(ctx context.Context, tx *sql.Tx) error { _, err := tx.ExecContext(ctx, "ROLLBACK"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t, "", nil)
			_, err := b.do(t.Context(), "outer", func(ctx context.Context, tx *sql.Tx) (string, error) {
				if err := end(ctx, tx); err != nil {
					t.Error(err)
				}
				return b.do(ctx, "inner", never(t))
			})
			if err == nil {
				t.Error("it went on in a transaction that had ended")
			}
			b.wantRows(t)
			b.wantState(t, "inner", semel.StateAbsent)
		})
	}
}

// Promise 1: an intent that ends the transaction around it leaves an unknown
// one, and its rows are never without a record.
func TestNestedEndsTheTransaction(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}})
	_, err := b.do(t.Context(), "outer", func(ctx context.Context, _ *sql.Tx) (string, error) {
		return b.do(ctx, "inner", func(ctx context.Context, tx *sql.Tx) (string, error) {
			return "", errors.Join(insert(ctx, tx, "inner"), tx.Commit())
		})
	})
	if err == nil {
		t.Error("it succeeded")
	}
	b.wantRows(t, "inner")
	b.wantState(t, "inner", semel.StateClaimed)
	b.wantState(t, "outer", semel.StateClaimed)
}
