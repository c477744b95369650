package sqlitetx_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
	"github.com/semel-dev/semel/store/storetest"
)

var (
	wins, noError, closes, wantWords = claimtest.Wins, claimtest.NoError, claimtest.Closes, claimtest.Words
	guard, begin, never              = claimtest.Guard, claimtest.Begin, claimtest.Never
	sweeps, wantErr                  = claimtest.Sweeps, claimtest.WantErr
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

// instance is the harness: a fresh file, and a look into it after every rule.
func instance(tb testing.TB) *storetest.Instance {
	tb.Helper()
	clock := &claimtest.Clock{}
	o := &sqlitetx.Options{Now: clock.Now, AcceptLoss: true}
	path := filepath.Join(tb.TempDir(), "app.db")
	db := database(tb, path, quick)
	inst := claimtest.Instance(tb, func(tb testing.TB) *sqlitetx.Store { tb.Helper(); return mustOpen(tb, db, o) })
	inst.Advance = clock.Advance
	inst.Check = func(tb testing.TB) { tb.Helper(); verify(tb, path) }
	return inst
}

// txInstance is the harness for rules about transactions: two pools on a file.
func txInstance(tb testing.TB) *storetest.TxInstance {
	tb.Helper()
	clock := &claimtest.Clock{Runs: true}
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
	noError(tb, err)
	closes(tb, db)
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
	noError(tb, err)
	closes(tb, s)
	return s
}

// verify looks into the file as another process would.
func verify(tb testing.TB, path string) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?"+durable)
	noError(tb, err)
	defer db.Close()
	s, err := sqlitetx.Open(ctx, db, nil)
	noError(tb, err)
	noError(tb, s.Check(ctx))
	noError(tb, s.Close())
}
