package sqlitetx_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
	"github.com/semel-dev/semel/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, instance)
}

func TestStoreUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, instance)
}

func TestTx(t *testing.T) {
	t.Parallel()
	storetest.RunTx(t, txInstance)
}

// hands is a clock that tests move; a running one also moves on its own.
type hands struct {
	runs bool

	mu  sync.Mutex // guards now
	now time.Time
	off time.Duration
}

func newHands() *hands {
	return &hands{now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
}

func (h *hands) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs {
		return time.Now().Add(h.off)
	}
	return h.now.Add(h.off)
}

func (h *hands) Advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.off += d
}

// instance is the harness: a fresh file, and a look into it after every rule.
func instance(tb testing.TB) *storetest.Instance {
	tb.Helper()
	clock := newHands()
	o := &sqlitetx.Options{Now: clock.Now, AcceptLoss: true}
	path := filepath.Join(tb.TempDir(), "app.db")
	db := database(tb, path, quick)
	s := mustOpen(tb, db, o)
	return &storetest.Instance{
		Store:   s,
		Advance: clock.Advance,
		Check:   func(tb testing.TB) { tb.Helper(); verify(tb, path) },
		Reopen: func(tb testing.TB) semel.Store {
			tb.Helper()
			if err := s.Close(); err != nil {
				tb.Fatal(err)
			}
			s = mustOpen(tb, db, o)
			return s
		},
	}
}

// txInstance is the harness for rules about transactions: two pools on a file.
func txInstance(tb testing.TB) *storetest.TxInstance {
	tb.Helper()
	clock := newHands()
	clock.runs = true
	o := &sqlitetx.Options{Now: clock.Now, AcceptLoss: true}
	path := filepath.Join(tb.TempDir(), "app.db")
	db := database(tb, path, quick)
	s, second := mustOpen(tb, db, o), mustOpen(tb, database(tb, path, quick), o)
	return &storetest.TxInstance{
		Store:      s,
		Transactor: s.Transactor(),
		Second:     second.Transactor(),
		Insert:     func(ctx context.Context, row string) error { return insert(ctx, db, row) },
		Count:      func(ctx context.Context, row string) (int, error) { return count(ctx, db, row) },
		Do: func(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(context.Context) (string, error)) (string, error) {
			return sqlitetx.Do(ctx, g, k, fp, func(ctx context.Context, _ *sql.Tx) (string, error) { return fn(ctx) })
		},
		Own:     func(ctx context.Context) (*storetest.OwnTx, error) { return own(ctx, db) },
		Advance: clock.Advance, Running: true,
		Connections: connections, OneWriter: true,
		Check: func(tb testing.TB) { tb.Helper(); verify(tb, path) },
	}
}

// own begins a transaction of the application, whose handle is that of a library.
func own(ctx context.Context, db *sql.DB) (*storetest.OwnTx, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	return &storetest.OwnTx{
		Join: func(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(context.Context) (string, error)) (string, error) {
			return sqlitetx.Join(ctx, g, handle{tx}, k, fp, fn)
		},
		Insert: func(ctx context.Context, row string) error { return insert(ctx, tx, row) },
		End: func(commit bool) error {
			if commit {
				return tx.Commit()
			}
			return tx.Rollback()
		},
	}, nil
}

// connections is the size of a pool.
const connections = 4

// durable are the settings of a database as this package wants them.
const durable = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"

// quick is durable but for power cuts, of which the rules of the contract have none.
const quick = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"

// database opens the application's database, with its table of rows.
func database(tb testing.TB, path, settings string) *sql.DB {
	tb.Helper()
	db, err := openDatabase(path, settings)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

func openDatabase(path, settings string) (*sql.DB, error) {
	if settings == "" {
		settings = durable
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?"+settings)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	_, err = db.ExecContext(context.Background(), "CREATE TABLE IF NOT EXISTS rows (name TEXT NOT NULL) STRICT")
	return db, err
}

// executor is a pool or a transaction.
type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// insert adds a row, in the transaction of ctx if there is one.
func insert(ctx context.Context, db executor, row string) error {
	if tx := sqlitetx.TxFrom(ctx); tx != nil {
		db = tx
	}
	_, err := db.ExecContext(ctx, "INSERT INTO rows (name) VALUES (?)", row)
	return err
}

func count(ctx context.Context, db *sql.DB, row string) (n int, err error) {
	err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM rows WHERE name = ?", row).Scan(&n)
	return n, err
}

func mustOpen(tb testing.TB, db *sql.DB, o *sqlitetx.Options) *sqlitetx.Store {
	tb.Helper()
	s, err := sqlitetx.Open(tb.Context(), db, o)
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

// verify looks into the file as another process would.
func verify(tb testing.TB, path string) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?"+durable)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	s, err := sqlitetx.Open(ctx, db, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Check(ctx); err != nil {
		tb.Error(err)
	}
	if err := s.Close(); err != nil {
		tb.Error(err)
	}
}

// guard makes a guard that sweeps only when told, and shuts it down.
func guard(tb testing.TB, s semel.Store, o *semel.Options) *semel.Guard {
	tb.Helper()
	var opts semel.Options
	if o != nil {
		opts = *o
	}
	opts.SweepEvery = -1
	g, err := semel.New(s, &opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := g.Close(); err != nil && !errors.Is(err, context.Canceled) {
			tb.Error(err)
		}
	})
	return g
}
