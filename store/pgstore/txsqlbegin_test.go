package pgstore_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/pgstore"
)

// doSQL does what fn does, in a transaction of database/sql.
func (s *shop) doSQL(ctx context.Context, db *sql.DB, name string, fn func(context.Context, *sql.Tx) error) (o order, ran int, err error) {
	o, err = semel.DoTx(ctx, s.guard, s.store.Transactor(&pgstore.TxOptions{DB: db}), orderKey(name), semel.Fingerprint{1}, func(ctx context.Context) (order, error) {
		ran++
		o, err := s.insertSQLTx(ctx, pgstore.SQLTxFrom(ctx), name)
		if err == nil && fn != nil {
			err = fn(ctx, pgstore.SQLTxFrom(ctx))
		}
		return o, err
	})
	return o, ran, err
}

// Promises 2 and 4, through database/sql: row and answer are one, and it does
// not matter by which door a duplicate comes.
func TestTxSQL(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	db := s.db(t)
	if _, _, err := s.doSQL(t.Context(), db, "k", func(context.Context, *sql.Tx) error { return errWork }); !errors.Is(err, errWork) {
		t.Errorf("got %v, want %v", err, errWork)
	}
	s.wantNames(t, "")
	first, _, err := s.doSQL(t.Context(), db, "k", nil)
	if err != nil || first.ID == 0 {
		t.Fatalf("got %v, error %v", first, err)
	}
	again, ran, err := s.doSQL(t.Context(), db, "k", nil)
	if err != nil || again != first || ran > 0 {
		t.Errorf("got %v, error %v, want %v", again, err, first)
	}
	if o, err := s.do(t.Context(), "k"); err != nil || o != first {
		t.Errorf("by pgx: got %v, error %v, want %v", o, err, first)
	}
	s.wantNames(t, "k")
	if n := db.Stats().InUse; n > 0 {
		t.Errorf("%d connections are in use", n)
	}
}

// Promise 4: work that ends its transaction itself commits no row without a
// record.
func TestTxSQLEndedByWork(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end   func(*sql.Tx) error
		want  error
		names string
		state semel.State
	}{
		"Commit":   {end: (*sql.Tx).Commit, names: "k", state: semel.StateCompleted},
		"Rollback": {end: (*sql.Tx).Rollback, want: semel.ErrRolledBack},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, nil)
			_, ran, err := s.doSQL(t.Context(), s.db(t), "k", func(_ context.Context, tx *sql.Tx) error { return tt.end(tx) })
			if !errors.Is(err, tt.want) || ran != 1 {
				t.Errorf("got %v after %d runs, want %v", err, ran, tt.want)
			}
			s.wantNames(t, tt.names)
			s.wantState(t, "k", tt.state)
		})
	}
}

// What dies between the work's own Commit and the record is unknown (promise 3).
func TestTxSQLCommittedByWork(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	_, _, err := s.doSQL(t.Context(), s.db(t), "k", func(_ context.Context, tx *sql.Tx) error {
		if err := tx.Commit(); err != nil {
			return err
		}
		rec, err := s.guard.Lookup(t.Context(), orderKey("k")) //nolint:contextcheck // what runs here must not end with the context.
		if err != nil || !rec.Lapsed() {
			t.Errorf("got %+v, error %v, want a claim that has lapsed", rec, err)
		}
		_, err = newGuard(t, s.store, nil).Lookup(t.Context(), orderKey("k")) //nolint:contextcheck // what runs here must not end with the context.
		return err
	})
	noError(t, err)
}

// Options that make no sense are refused with what to do.
func TestTxSQLRefuses(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	for words, transactor := range map[string]semel.Transactor{
		"leave one of them out": s.store.Transactor(&pgstore.TxOptions{DB: s.db(t), Queries: []pgstore.Query{{SQL: "SELECT 1"}}}),
		"read-only":             newStore(t, s.pool, &pgstore.Options{Schema: s.store.SchemaName(), ReadOnly: true}).Transactor(&pgstore.TxOptions{DB: s.db(t)}),
	} {
		_, err := transactor.Transaction(t.Context())
		wantWords(t, err, words)
	}
	_, err := semel.DoTx(t.Context(), s.guard, s.store.Transactor(nil), orderKey("around"), semel.Fingerprint{1}, func(ctx context.Context) (int, error) {
		wrong := s.store.Transactor(&pgstore.TxOptions{Isolation: "none"})
		return semel.DoTx(ctx, s.guard, wrong, orderKey("within"), semel.Fingerprint{1}, func(context.Context) (int, error) { return 0, nil })
	})
	wantWords(t, err, "Isolation")
}

// A caller that goes away while it waits for a connection hears of it.
func TestTxSQLWithoutAConnection(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	db := s.db(t)
	full, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(t.Context())
	noError(t, err)
	defer conn.Close()
	if _, _, err := s.doSQL(full, db, "k", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
}
