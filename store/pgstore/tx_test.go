package pgstore_test

import (
	"context"
	"database/sql"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/storetest"
)

// txConnections limits the connections of each of two pools.
const txConnections = 4

func TestTx(t *testing.T) {
	t.Parallel()
	h := txBench(t, testserver.Postgres(t))
	storetest.RunTx(t, h.harness(nil, byPool(nil)))
}

// The contract holds at every isolation, however statements are sent, and
// without what only PostgreSQL has: the rules about many callers and about
// texts. Where all is serializable those that race by hand, or nest, are left out:
// transactions of different keys may meet on a page of an index.
func TestTxOtherwise(t *testing.T) {
	t.Parallel()
	setting := func(name, value string) *txServer {
		return txBench(t, with(t, testserver.Postgres(t), func(_ *url.URL, q url.Values) { q.Set(name, value) }))
	}
	plain := txBench(t, testserver.Postgres(t))
	serializable := setting("default_transaction_isolation", "serializable")
	for name, h := range map[string]storetest.TxHarness{
		"repeatable read":              plain.harness(nil, byPool(&pgstore.TxOptions{Isolation: pgx.RepeatableRead})),
		"serializable":                 plain.harness(nil, byPool(&pgstore.TxOptions{Isolation: pgx.Serializable})),
		"serializable by default":      serializable.harness(nil, byPool(nil)),
		"read committed, asked for":    serializable.harness(nil, byPool(&pgstore.TxOptions{Isolation: pgx.ReadCommitted})),
		"exec":                         setting("default_query_exec_mode", "exec").harness(nil, byPool(nil)),
		"simple protocol":              setting("default_query_exec_mode", "simple_protocol").harness(nil, byPool(nil)),
		"cockroach":                    plain.harness(pgstore.Cockroach, byPool(nil)),
		"database/sql":                 plain.harness(nil, byDatabaseSQL("")),
		"database/sql repeatable read": plain.harness(nil, byDatabaseSQL(pgx.RepeatableRead)),
	} {
		if !claimtest.Long() && !slices.Contains([]string{"serializable", "simple protocol", "cockroach", "database/sql"}, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kinds := []string{"tx/commit", "tx/outcome", "dotx/two-guards", "dotx/final", "dotx/unknown", "nested/commit", "nested/rollback", "nested/transactor", "join/"}
			switch {
			case strings.HasPrefix(name, "serializable"):
				kinds = []string{"tx/wait", "tx/adopt", "dotx/duplicates", "dotx/two-guards", "dotx/fail", "dotx/error", "dotx/retention"}
			case strings.Contains(name, "read"):
				kinds = []string{"tx/wait", "tx/adopt", "dotx/", "nested/", "join/"}
			}
			storetest.RunTx(t, h, kinds...)
		})
	}
}

// So it does through a pooler that gives each transaction another connection.
func TestTxPooler(t *testing.T) {
	t.Parallel()
	storetest.RunTx(t, txBench(t, pooler(t, "exec")).harness(nil, byPool(nil)), "dotx/", "tx/race", "tx/wait")
}

// txServer is a server, over two pools.
type txServer struct {
	owner         testing.TB
	first, second *pgxpool.Pool
	db            *sql.DB
}

func txBench(tb testing.TB, dsn string) *txServer {
	tb.Helper()
	h := &txServer{owner: tb, first: pool(tb, dsn, txConnections), second: pool(tb, dsn, txConnections)}
	h.db = stdlib.OpenDBFromPool(h.first)
	closes(tb, h.db)
	return h
}

// transactors makes the two transactors of an instance.
type transactors func(h *txServer, first, second *pgstore.Store) (semel.Transactor, semel.Transactor)

func byPool(o *pgstore.TxOptions) transactors {
	return func(_ *txServer, first, second *pgstore.Store) (semel.Transactor, semel.Transactor) {
		return first.Transactor(o), second.Transactor(o)
	}
}

// byDatabaseSQL has the second work with pgx, as another program might.
func byDatabaseSQL(level pgx.TxIsoLevel) transactors {
	return func(h *txServer, first, second *pgstore.Store) (semel.Transactor, semel.Transactor) {
		return first.Transactor(&pgstore.TxOptions{DB: h.db, Isolation: level}), second.Transactor(nil)
	}
}

// harness gives databases with records and rows.
func (h *txServer) harness(with func(*pgstore.Options) *pgstore.Options, pair transactors) storetest.TxHarness {
	b := &bench{owner: h.owner, pool: h.first, with: with}
	return func(tb testing.TB) *storetest.TxInstance {
		tb.Helper()
		inst := b.instance(tb)
		s, ok := inst.Store.(*pgstore.Store)
		if !ok {
			tb.Fatalf("got a %T", inst.Store)
		}
		o := &pgstore.Options{Schema: s.SchemaName(), SkipMigrations: true}
		if with != nil {
			o = with(o)
		}
		first, second := pair(h, s, newStore(tb, h.second, pgstore.Ticking(o)))
		rows := quoted(o.Schema) + ".business"
		execute(tb, h.first, "CREATE TABLE IF NOT EXISTS "+rows+" (row text NOT NULL); DELETE FROM "+rows)
		return &storetest.TxInstance{
			Store: s, Transactor: first, Second: second,
			Insert: func(ctx context.Context, row string) error {
				return insertRow(ctx, h.first, "INSERT INTO "+rows+" (row) VALUES ($1)", row)
			},
			Count: func(ctx context.Context, row string) (n int, err error) {
				err = h.first.QueryRow(ctx, "SELECT count(*) FROM "+rows+" WHERE row = $1", row).Scan(&n)
				return n, err
			},
			Do: func(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(context.Context) (string, error)) (string, error) {
				if pgstore.SQLTxFrom(ctx) != nil {
					return semel.DoTx(ctx, g, s.Transactor(&pgstore.TxOptions{DB: h.db}), k, fp, fn)
				}
				return pgstore.Do(ctx, g, k, fp, func(ctx context.Context, _ pgx.Tx) (string, error) { return fn(ctx) })
			},
			Own:     h.own("INSERT INTO " + rows + " (row) VALUES ($1)"),
			Advance: inst.Advance, Running: true, Check: inst.Check, Connections: txConnections,
		}
	}
}

// own begins transactions of the application, of pgx and of database/sql by turns.
func (h *txServer) own(insert string) func(context.Context) (*storetest.OwnTx, error) {
	turn := 0
	return func(ctx context.Context) (*storetest.OwnTx, error) {
		if turn++; turn%2 == 0 {
			return h.ownSQL(ctx, insert)
		}
		tx, err := h.second.Begin(ctx)
		if err != nil {
			return nil, err
		}
		return &storetest.OwnTx{
			Join: func(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(context.Context) (string, error)) (string, error) {
				return pgstore.Join(ctx, g, pgstore.Pgx(tx), k, fp, fn)
			},
			Insert: func(ctx context.Context, row string) error { _, err := tx.Exec(ctx, insert, row); return err },
			End: func(commit bool) error {
				if commit {
					return tx.Commit(ctx)
				}
				return tx.Rollback(context.WithoutCancel(ctx))
			},
		}, nil
	}
}

func (h *txServer) ownSQL(ctx context.Context, insert string) (*storetest.OwnTx, error) {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	return &storetest.OwnTx{
		Join: func(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(context.Context) (string, error)) (string, error) {
			return pgstore.Join(ctx, g, tx, k, fp, fn)
		},
		Insert: func(ctx context.Context, row string) error { _, err := tx.ExecContext(ctx, insert, row); return err },
		End: func(commit bool) error {
			if commit {
				return tx.Commit()
			}
			return tx.Rollback()
		},
	}, nil
}

// insertRow writes in the transaction of ctx, or on its own.
func insertRow(ctx context.Context, p *pgxpool.Pool, insert, row string) error {
	var in interface {
		Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	} = p
	if tx := pgstore.SQLTxFrom(ctx); tx != nil {
		_, err := tx.ExecContext(ctx, insert, row)
		return err
	}
	if tx := pgstore.TxFrom(ctx); tx != nil {
		in = tx
	}
	_, err := in.Exec(ctx, insert, row)
	return err
}
