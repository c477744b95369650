package sqlitetx_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// Promise 3: what became unknown inside of an intent that the database refuses
// to record stays unknown, whether or not the transaction around it commits.
func TestNestedNotRecorded(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	_, err := b.db.ExecContext(t.Context(), "CREATE TRIGGER refuse BEFORE UPDATE ON semel_record WHEN NEW.name = 'middle' BEGIN SELECT RAISE(ABORT, 'refused'); END")
	noError(t, err)
	for deep, outcome := range map[string]error{"deep in a commit": nil, "deep in a rollback": errBusiness} {
		_, err := b.do(t.Context(), "around "+deep, func(ctx context.Context, _ *sql.Tx) (string, error) {
			_, err := b.do(ctx, "middle", func(ctx context.Context, _ *sql.Tx) (string, error) {
				_, err := b.do(ctx, deep, func(context.Context, *sql.Tx) (string, error) { return "", semel.MarkUnknown(errBusiness) })
				wantErr(t, deep+": ", err, errBusiness)
				return "middle", nil
			})
			wantErr(t, "middle: ", err, semel.ErrRolledBack)
			return "around", outcome
		})
		wantErr(t, "around it: ", err, outcome)
		b.wantState(t, deep, semel.StateUnknown)
	}
}

// Promise 4: an intent whose work removes its record leaves no row in the
// transaction around it, and what became unknown inside of it stays unknown.
func TestNestedWithoutItsRecord(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	_, err := b.do(t.Context(), "around", func(ctx context.Context, _ *sql.Tx) (string, error) {
		_, err := b.do(ctx, "inner", func(ctx context.Context, tx *sql.Tx) (string, error) {
			_, _ = b.do(ctx, "deep", func(context.Context, *sql.Tx) (string, error) { return "", semel.MarkUnknown(errBusiness) })
			if _, err := tx.ExecContext(ctx, "DELETE FROM semel_record WHERE name = 'inner'"); err != nil {
				t.Error(err)
			}
			return "inner", insert(ctx, tx, "inner")
		})
		wantErr(t, "", err, semel.ErrLost)
		return "around", nil
	})
	noError(t, err)
	b.wantState(t, "inner", semel.StateAbsent)
	b.wantState(t, "deep", semel.StateUnknown)
	if rows := claimtest.Query(t, b.db, "SELECT name FROM rows"); rows != "" {
		t.Errorf("rows without a record: %s", rows)
	}
}

// What is used inside of a transaction does not wait for it.
func TestInsideOfATransaction(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	b.db.SetMaxOpenConns(1)
	hasty := guard(t, b.store, &semel.Options{StoreTimeout: 250 * time.Millisecond})
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
		// Two phases would stay done if the transaction were rolled back.
		_, err := semel.Do(ctx, hasty, key("two phases"), sameRequest(), func(context.Context) (string, error) {
			t.Error("it was executed without a claim that is durable")
			return "", nil
		})
		if err == nil || !strings.Contains(err.Error(), "DoTx with this context commits with it") {
			t.Errorf("two phases: got %v, want a refusal that says what to do", err)
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
