package transaction_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/dbguard/pgxguard"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

const (
	createEffects = "CREATE TABLE effects (name VARCHAR(100) NOT NULL)"
	brokenInsert  = "INSERT INTO no_such_table (name) VALUES ('x')"
)

type work = func(context.Context) error

// database is one kind of store, seen as an application does: its handle in a context is the transaction, or else the pool.
type database struct {
	store      semel.Store
	transactor semel.Transactor
	insert     string // a row of effects, with one parameter
	pool       *sql.DB
	handle     func(ctx context.Context) outbox.Execer
	session    func(ctx context.Context) dbguard.Session
	do         func(ctx context.Context, g *semel.Guard, k semel.Key, w work) error
	// exec and run execute an intent that is this statement; nil where the store has neither.
	exec, run func(ctx context.Context, g *semel.Guard, k semel.Key, statement, row string) error
	// join executes an intent in the transaction of ctx, or in one that the application begins and ends.
	join func(ctx context.Context, g *semel.Guard, k semel.Key, w work) error
}

func databases() map[string]func(*testing.T) *database {
	return map[string]func(*testing.T) *database{
		"postgresql": postgresPgx, "postgresql by database/sql": postgresSQL, "mariadb": mariadb, "sqlite": sqlite,
	}
}

// intent is work as a store's functions want it.
func intent(w work) func(context.Context) (struct{}, error) {
	return func(ctx context.Context) (struct{}, error) { return struct{}{}, w(ctx) }
}

func postgresStore(t *testing.T) (*pgstore.Store, *sql.DB) {
	t.Helper()
	store, err := pgstore.Open(t.Context(), testserver.PostgresDatabase(t), nil)
	must(t, err)
	return store, stdlib.OpenDBFromPool(store.Pool())
}

func postgresPgx(t *testing.T) *database {
	t.Helper()
	store, pool := postgresStore(t)
	handle := func(ctx context.Context) pgxguard.Handle {
		if tx := pgstore.TxFrom(ctx); tx != nil {
			return tx
		}
		return store.Pool()
	}
	return &database{
		store: store, transactor: store.Transactor(nil), insert: "INSERT INTO effects (name) VALUES ($1)", pool: pool,
		handle:  func(ctx context.Context) outbox.Execer { return outbox.Pgx(handle(ctx)) },
		session: func(ctx context.Context) dbguard.Session { return pgxguard.Session(handle(ctx)) },
		do: func(ctx context.Context, g *semel.Guard, k semel.Key, w work) error {
			_, err := pgstore.Do(ctx, g, k, semel.Fingerprint{}, func(ctx context.Context, _ pgx.Tx) (struct{}, error) { return struct{}{}, w(ctx) })
			return err
		},
		exec: func(ctx context.Context, g *semel.Guard, k semel.Key, statement, row string) error {
			_, err := pgstore.Exec[map[string]any](ctx, g, k, semel.Fingerprint{}, statement+" RETURNING name", row)
			return err
		},
		run: func(ctx context.Context, g *semel.Guard, k semel.Key, statement, row string) error {
			_, err := pgstore.Run(ctx, g, k, semel.Fingerprint{}, []pgstore.Query{{SQL: statement, Args: []any{row}}}, func([]pgx.Rows) (int, error) { return 1, nil })
			return err
		},
		join: func(ctx context.Context, g *semel.Guard, k semel.Key, w work) error {
			tx := pgstore.TxFrom(ctx)
			if tx != nil {
				_, err := pgstore.Join(ctx, g, pgstore.Pgx(tx), k, semel.Fingerprint{}, intent(w))
				return err
			}
			return pgx.BeginFunc(ctx, store.Pool(), func(tx pgx.Tx) error {
				_, err := pgstore.Join(ctx, g, pgstore.Pgx(tx), k, semel.Fingerprint{}, intent(w))
				return err
			})
		},
	}
}

// doSQL is Do of a store, and joinSQL its Join, for work without a result.
type (
	doSQL           = func(context.Context, *semel.Guard, semel.Key, semel.Fingerprint, func(context.Context, *sql.Tx) (struct{}, error)) (struct{}, error)
	joinSQL[Tx any] = func(context.Context, *semel.Guard, Tx, semel.Key, semel.Fingerprint, func(context.Context) (struct{}, error)) (struct{}, error)
)

// overSQL is a database by database/sql. With none of its transactions in a context, from returns nil.
func overSQL[Tx outbox.Execer](d *database, of dbguard.Dialect, from func(context.Context) *sql.Tx, do doSQL, joinIn joinSQL[Tx]) *database {
	d.do = func(ctx context.Context, g *semel.Guard, k semel.Key, w work) error {
		_, err := do(ctx, g, k, semel.Fingerprint{}, func(ctx context.Context, _ *sql.Tx) (struct{}, error) { return struct{}{}, w(ctx) })
		return err
	}
	join := func(ctx context.Context, g *semel.Guard, tx outbox.Execer, k semel.Key, w work) error {
		_, err := joinIn(ctx, g, tx.(Tx), k, semel.Fingerprint{}, intent(w)) //nolint:forcetypeassert // a *sql.Tx is one of every store.
		return err
	}
	d.handle = func(ctx context.Context) outbox.Execer {
		if tx := from(ctx); tx != nil {
			return tx
		}
		return d.pool
	}
	d.session = func(ctx context.Context) dbguard.Session {
		if tx := from(ctx); tx != nil {
			return dbguard.SQL(of, tx)
		}
		return dbguard.SQL(of, d.pool)
	}
	d.join = func(ctx context.Context, g *semel.Guard, k semel.Key, w work) error {
		if tx := from(ctx); tx != nil {
			return join(ctx, g, tx, k, w)
		}
		tx, err := d.pool.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after the commit it does nothing
		if err := join(ctx, g, tx, k, w); err != nil {
			return err
		}
		return tx.Commit()
	}
	return d
}

func postgresSQL(t *testing.T) *database {
	t.Helper()
	store, pool := postgresStore(t)
	return overSQL(&database{
		store: store, transactor: store.Transactor(&pgstore.TxOptions{DB: pool}), insert: "INSERT INTO effects (name) VALUES ($1)", pool: pool,
	}, dbguard.PostgreSQL, pgstore.SQLTxFrom, func(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(context.Context, *sql.Tx) (struct{}, error)) (struct{}, error) {
		return semel.DoTx(ctx, g, store.Transactor(&pgstore.TxOptions{DB: pool}), k, fp, func(ctx context.Context) (struct{}, error) { return fn(ctx, pgstore.SQLTxFrom(ctx)) })
	}, pgstore.Join[struct{}])
}

func mariadb(t *testing.T) *database {
	t.Helper()
	store, err := mysqlstore.Open(t.Context(), testserver.MySQLDatabase(t), nil)
	must(t, err)
	return overSQL(&database{
		store: store, transactor: store.Transactor(nil), insert: "INSERT INTO effects (name) VALUES (?)", pool: store.DB(),
		exec: func(ctx context.Context, g *semel.Guard, k semel.Key, statement, row string) error {
			_, err := mysqlstore.Exec(ctx, g, k, semel.Fingerprint{}, statement, row)
			return err
		},
		run: func(ctx context.Context, g *semel.Guard, k semel.Key, statement, row string) error {
			_, err := mysqlstore.Run(ctx, g, k, semel.Fingerprint{}, []mysqlstore.Query{{SQL: statement, Args: []any{row}}}, func([]mysqlstore.Result) (int, error) { return 1, nil })
			return err
		},
	}, dbguard.MySQL, mysqlstore.TxFrom, mysqlstore.Do[struct{}], mysqlstore.Join[struct{}])
}

func sqlite(t *testing.T) *database {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "effects.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)")
	must(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	store, err := sqlitetx.Open(t.Context(), pool, nil)
	must(t, err)
	return overSQL(&database{
		store: store, transactor: store.Transactor(), insert: "INSERT INTO effects (name) VALUES (?)", pool: pool,
	}, dbguard.SQLite, sqlitetx.TxFrom, sqlitetx.Do[struct{}], sqlitetx.Join[struct{}])
}
