package sqlitetx_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// handle is a transaction as libraries wrap it: it is no *sql.Tx.
type handle struct{ *sql.Tx }

// join adds a row in the caller's transaction.
func (b *bundle) join(ctx context.Context, tx sqlitetx.Execer, name string) (string, error) {
	return sqlitetx.Join(ctx, b.guard, tx, key(name), sameRequest(), func(ctx context.Context) (string, error) {
		_, err := tx.ExecContext(ctx, "INSERT INTO rows (name) VALUES (?)", name)
		return "answer " + name, err
	})
}

// A handle without an open transaction is refused before anything is written,
// because its statements would be committed one by one.
func TestJoinNeedsATransaction(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	conn, err := b.db.Conn(t.Context())
	noError(t, err)
	defer conn.Close()
	over := begin(t, b.db)
	noError(t, over.Rollback())
	for name, h := range map[string]sqlitetx.Execer{
		"pool": b.db, "wrapped pool": struct{ *sql.DB }{b.db}, "connection": conn, "ended": over, "none": nil,
	} {
		_, err := sqlitetx.Join(t.Context(), b.guard, h, key(name), sameRequest(), func(context.Context) (string, error) {
			t.Errorf("%s: it was executed", name)
			return "", nil
		})
		wantErr(t, name+": ", err, semel.ErrUnavailable)
		b.wantState(t, name, semel.StateAbsent)
	}
	noError(t, conn.Close())
}

// SQLite refuses a write after reading rows that were overwritten since: the
// error says to begin again, and the next attempt works.
func TestJoinAfterReading(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	var n int
	stale := begin(t, b.db)
	noError(t, stale.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM rows").Scan(&n))
	if _, err := addRow(t.Context(), b.guard, "meanwhile"); err != nil {
		t.Fatal(err)
	}
	_, err := b.join(t.Context(), stale, "k")
	if !errors.Is(err, semel.ErrUnavailable) || !strings.Contains(err.Error(), "begin again") {
		t.Errorf("got %v, want %v", err, semel.ErrUnavailable)
	}
	noError(t, stale.Rollback())
	tx := begin(t, b.db)
	if _, err := b.join(t.Context(), tx, "k"); err != nil {
		t.Error(err)
	}
	noError(t, tx.Commit())
	b.wantRows(t, "k", "meanwhile")
}

// Promises 2 and 4: callers with transactions of their own, next to others that
// leave it to Do, execute once and get one answer.
func TestJoinRace(t *testing.T) {
	t.Parallel()
	b := setUp(t, durable+"&_txlock=immediate", nil)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if i%4 == 0 {
				if answer, err := addRow(t.Context(), b.guard, "k"); err != nil || answer != "answer k" {
					t.Errorf("Do: got %q, error %v", answer, err)
				}
				return
			}
			tx, err := b.db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			answer, err := b.join(t.Context(), tx, "k")
			if err != nil || answer != "answer k" {
				t.Errorf("Join: got %q, error %v", answer, err)
			}
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b.wantRows(t, "k")
}

// Do inside of Join has the caller's transaction, where it is a *sql.Tx.
func TestDoInJoin(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	tx := begin(t, b.db)
	_, err := sqlitetx.Join(t.Context(), b.guard, tx, key("outer"), sameRequest(), func(ctx context.Context) (string, error) {
		if sqlitetx.TxFrom(ctx) != tx {
			t.Error("TxFrom gives another transaction")
		}
		return addRow(ctx, b.guard, "inner")
	})
	noError(t, err)
	_, err = sqlitetx.Join(t.Context(), b.guard, handle{tx}, key("wrapped"), sameRequest(), func(ctx context.Context) (string, error) {
		if sqlitetx.TxFrom(ctx) != nil {
			t.Error("TxFrom returns a transaction although none was given")
		}
		return b.do(ctx, "nothing", never(t))
	})
	wantWords(t, err, "use Join")
	noError(t, tx.Commit())
	b.wantRows(t, "inner")
}
