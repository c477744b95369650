// Package sqlitedrivers runs the contract of stores and of transactions over
// SQLite drivers that the main module does not use: sqlitetx promises to work
// with whatever driver an application has chosen. Two drivers register the same
// name, so each has a folder, and a test binary, of its own.
package sqlitedrivers

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
	"github.com/semel-dev/semel/store/storetest"
)

// Open opens the file in a driver, with a write-ahead log that is not synced:
// the rules have no power cuts.
type Open func(path string) (*sql.DB, error)

// Instance is the harness of [storetest.Run].
func (o Open) Instance(tb testing.TB) *storetest.Instance {
	tb.Helper()
	clock := &clock{}
	path := filepath.Join(tb.TempDir(), "app.db")
	s := o.store(tb, o.database(tb, path), clock)
	return &storetest.Instance{
		Store: s, Advance: clock.advance, Running: true,
		Check: func(tb testing.TB) { tb.Helper(); o.check(tb, path) },
	}
}

// TxInstance is the harness of [storetest.RunTx].
func (o Open) TxInstance(tb testing.TB) *storetest.TxInstance {
	tb.Helper()
	clock := &clock{}
	path := filepath.Join(tb.TempDir(), "app.db")
	db := o.database(tb, path)
	s, second := o.store(tb, db, clock), o.store(tb, o.database(tb, path), clock)
	return &storetest.TxInstance{
		Store: s, Transactor: s.Transactor(), Second: second.Transactor(),
		Insert: func(ctx context.Context, row string) (err error) {
			const query = "INSERT INTO rows (name) VALUES (?)"
			if tx := sqlitetx.TxFrom(ctx); tx != nil {
				_, err = tx.ExecContext(ctx, query, row)
				return err
			}
			_, err = db.ExecContext(ctx, query, row)
			return err
		},
		Count: func(ctx context.Context, row string) (n int, err error) {
			err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM rows WHERE name = ?", row).Scan(&n)
			return n, err
		},
		Advance: clock.advance, Running: true,
		Connections: connections, OneWriter: true,
		Check: func(tb testing.TB) { tb.Helper(); o.check(tb, path) },
	}
}

// connections is the size of a pool.
const connections = 4

func (o Open) database(tb testing.TB, path string) *sql.DB {
	tb.Helper()
	db, err := o(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	db.SetMaxOpenConns(connections)
	if _, err := db.ExecContext(tb.Context(), "CREATE TABLE IF NOT EXISTS rows (name TEXT NOT NULL) STRICT"); err != nil {
		tb.Fatal(err)
	}
	return db
}

func (o Open) store(tb testing.TB, db *sql.DB, clock *clock) *sqlitetx.Store {
	tb.Helper()
	s, err := sqlitetx.Open(tb.Context(), db, &sqlitetx.Options{AcceptLoss: true, Now: clock.now})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// check looks into the file as another process would.
func (o Open) check(tb testing.TB, path string) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	db, err := o(path)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := sqlitetx.Open(ctx, db, &sqlitetx.Options{AcceptLoss: true})
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(s.Check(ctx), s.Close(), db.Close()); err != nil {
		tb.Error(err)
	}
}

// clock is the host's, and what it was moved forward.
type clock struct {
	mu    sync.Mutex // guards moved
	moved time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.moved)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += d
}
