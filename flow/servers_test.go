package flow_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// ledger is a table of amounts in a database that keeps the records of its flows.
type ledger struct {
	store      semel.Store
	transactor semel.Transactor
	add        func(ctx context.Context, amount int) error // in the step's transaction
	end        func(ctx context.Context) error             // ends that transaction behind the store's back
	endBegin   func(ctx context.Context) error             // and, after a commit, begins another
	sum        func(ctx context.Context) (sum, rows int, err error)
	oneWriter  bool // waits for a step that writes
}

const (
	createLedger = "CREATE TABLE IF NOT EXISTS ledger (amount INT NOT NULL)"
	sumLedger    = "SELECT COALESCE(SUM(amount), 0), COUNT(*) FROM ledger"
)

// server is a database for ledgers, which several processes can open.
type server struct {
	dsn  func(testing.TB) string
	open func(*testing.T, string) ledger
}

func servers() map[string]server {
	return map[string]server{
		"postgresql": {testserver.PostgresDatabase, openPostgresLedger},
		"mysql":      {testserver.MySQLDatabase, openMySQLLedger},
		"sqlite":     {func(tb testing.TB) string { tb.Helper(); return filepath.Join(tb.TempDir(), "ledger.db") }, openSQLiteLedger},
	}
}

func openPostgresLedger(t *testing.T, dsn string) ledger {
	t.Helper()
	store, err := pgstore.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Pool().Exec(t.Context(), createLedger); err != nil {
		t.Fatal(err)
	}
	return ledger{
		store: store, transactor: store.Transactor(nil),
		add: func(ctx context.Context, amount int) error {
			_, err := pgstore.TxFrom(ctx).Exec(ctx, "INSERT INTO ledger (amount) VALUES ($1)", amount)
			return err
		},
		end: func(ctx context.Context) error {
			_, err := pgstore.TxFrom(ctx).Exec(ctx, "ROLLBACK")
			return err
		},
		endBegin: func(ctx context.Context) error {
			_, err := pgstore.TxFrom(ctx).Exec(ctx, "COMMIT")
			if err == nil {
				_, err = pgstore.TxFrom(ctx).Exec(ctx, "BEGIN")
			}
			return err
		},
		sum: func(ctx context.Context) (sum, rows int, err error) {
			err = store.Pool().QueryRow(ctx, sumLedger).Scan(&sum, &rows)
			return sum, rows, err
		},
	}
}

func openMySQLLedger(t *testing.T, dsn string) ledger {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	store, err := mysqlstore.New(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sqlLedger(t, store, store.Transactor(nil), db, mysqlstore.TxFrom)
}

func openSQLiteLedger(t *testing.T, dsn string) ledger {
	t.Helper()
	db, err := database(dsn)
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlitetx.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = store.Close(), db.Close() })
	l := sqlLedger(t, store, store.Transactor(), db, sqlitetx.TxFrom)
	l.oneWriter = true
	return l
}

// sqlLedger is a ledger of a store over database/sql.
func sqlLedger(t *testing.T, store semel.Store, transactor semel.Transactor, db *sql.DB, from func(context.Context) *sql.Tx) ledger {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), createLedger); err != nil {
		t.Fatal(err)
	}
	return ledger{
		store: store, transactor: transactor,
		add: func(ctx context.Context, amount int) error {
			_, err := from(ctx).ExecContext(ctx, "INSERT INTO ledger (amount) VALUES (?)", amount)
			return err
		},
		end: func(ctx context.Context) error {
			_, err := from(ctx).ExecContext(ctx, "ROLLBACK")
			return err
		},
		endBegin: func(ctx context.Context) error {
			_, err := from(ctx).ExecContext(ctx, "COMMIT")
			if err == nil {
				_, err = from(ctx).ExecContext(ctx, "BEGIN")
			}
			return err
		},
		sum: func(ctx context.Context) (sum, rows int, err error) {
			err = db.QueryRowContext(ctx, sumLedger).Scan(&sum, &rows)
			return sum, rows, err
		},
	}
}

// onServers runs a test on a ledger of each server.
func onServers(t *testing.T, test func(t *testing.T, l ledger)) {
	t.Helper()
	for name, s := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s.open(t, s.dsn(t)))
		})
	}
}

// TestServers: a flow is finished by its second attempt, and undone by its own failure, on every server.
func TestServers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, l ledger) {
		t.Helper()
		var fails error
		book := flow.Define("book", func(r *flow.Run, amounts []int) (int, error) {
			booked, err := flow.Each(r, "book", amounts, func(name string, amount int) (int, error) {
				return flow.Tx(r, name, amount, func(ctx context.Context, amount int) (int, error) { return amount, l.add(ctx, amount) },
					flow.Undo(func(ctx context.Context, amount int) error { return l.add(ctx, -amount) }))
			})
			if err != nil {
				return 0, err
			}
			return flow.Tx(r, "close", booked, func(ctx context.Context, booked []int) (int, error) {
				return len(booked), errors.Join(l.add(ctx, 0), fails)
			})
		})
		guard, err := semel.New(l.store, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = guard.Close(), l.store.Close() })
		flows, err := flow.New(guard, &flow.Options{Transactor: l.transactor}, book)
		if err != nil {
			t.Fatal(err)
		}
		want := func(sum, rows int) {
			t.Helper()
			gotSum, gotRows, err := l.sum(t.Context())
			if err != nil || gotSum != sum || gotRows != rows {
				t.Errorf("the ledger has the sum %d in %d rows, %v, want %d in %d", gotSum, gotRows, err, sum, rows)
			}
		}
		fails = errDown
		if _, err := flow.Start(t.Context(), flows, book, adasKey, []int{1, 2}); !isUnfinished(err) {
			t.Fatalf("got %v, want it unfinished", err)
		}
		want(3, 2)
		fails = nil
		for range 2 {
			if n, err := flow.Start(t.Context(), flows, book, adasKey, []int{1, 2}); err != nil || n != 2 {
				t.Fatalf("got %d, %v, want two booked", n, err)
			}
		}
		want(3, 3)
		fails = semel.MarkFinal(errDown)
		_, err = flow.Start(t.Context(), flows, book, numbered(1), []int{1, 2})
		if failed, ok := errors.AsType[*flow.Failed](err); !ok || len(failed.Undone) != 2 {
			t.Errorf("got %v, want two steps undone", err)
		}
		want(3, 7)
	})
}
