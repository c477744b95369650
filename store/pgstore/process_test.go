package pgstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/storetest"
)

// processes share a schema, which does not exist at first, and order through
// every door by turns. A place is a schema and a DSN.
func processes() storetest.Processes {
	return storetest.Processes{
		Name: "pgstore",
		Place: func(tb testing.TB) string {
			tb.Helper()
			dsn, schema := testserver.Postgres(tb), testserver.PostgresSchema(tb)
			p := pool(tb, dsn, 1)
			execute(tb, p, "CREATE SCHEMA "+quoted(schema+"_shop")+"; CREATE TABLE "+ordersOf(schema)+" (id bigint GENERATED ALWAYS AS IDENTITY, name text NOT NULL)")
			tb.Cleanup(func() { execute(tb, p, "DROP SCHEMA "+quoted(schema+"_shop")+" CASCADE") })
			return schema + " " + dsn + "&application_name=" + schema
		},
		Open: func(ctx context.Context, place string) (semel.Store, error) {
			schema, dsn, _ := strings.Cut(place, " ")
			return pgstore.Open(ctx, dsn, &pgstore.Options{Schema: schema, MaxConns: 4, Together: rand.IntN(2) == 0})
		},
		Check: func(tb testing.TB, place string) {
			tb.Helper()
			schema, _, _ := strings.Cut(place, " ")
			check(tb, pool(tb, testserver.Postgres(tb), 1), schema)
		},
		Do: func(ctx context.Context, g *semel.Guard, name string) (string, error) {
			s, _ := semel.StoreAs[*pgstore.Store](g.Store())
			db := stdlib.OpenDBFromPool(s.Pool())
			defer db.Close()
			doors := slices.Collect(maps.Values(doors()))
			o, err := doors[rand.IntN(len(doors))](ctx, &shop{pool: s.Pool(), store: s, guard: g, orders: ordersOf(s.SchemaName())}, db, name)
			return fmt.Sprint(o.ID), err
		},
		Rows: func(tb testing.TB, place string) map[string]int {
			tb.Helper()
			schema, _, _ := strings.Cut(place, " ")
			p := pool(tb, testserver.Postgres(tb), 1)
			testserver.Eventually(tb, "the server has ended the connections", func() bool {
				var n int
				err := p.QueryRow(tb.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", schema).Scan(&n)
				return err == nil && n == 0
			})
			rows := map[string]int{}
			for name := range strings.FieldsSeq((&shop{pool: p, orders: ordersOf(schema)}).names(tb)) {
				rows[name]++
			}
			return rows
		},
	}
}

// door is one way to order once.
type door func(ctx context.Context, s *shop, db *sql.DB, name string) (order, error)

func doors() map[string]door {
	return map[string]door{
		"do": func(ctx context.Context, s *shop, _ *sql.DB, name string) (order, error) { return s.do(ctx, name) },
		"exec": func(ctx context.Context, s *shop, _ *sql.DB, name string) (order, error) {
			return s.exec(ctx, s.guard, name, name)
		},
		"run": func(ctx context.Context, s *shop, _ *sql.DB, name string) (order, error) {
			return s.run(ctx, s.guard, name, nil, name)
		},
		"queries": func(ctx context.Context, s *shop, _ *sql.DB, name string) (order, error) {
			return s.with(ctx, s.guard, name, nil, name)
		},
		"database/sql": func(ctx context.Context, s *shop, db *sql.DB, name string) (order, error) {
			o, _, err := s.doSQL(ctx, db, name, nil)
			return o, err
		},
		"serializable": func(ctx context.Context, s *shop, _ *sql.DB, name string) (order, error) {
			t := s.store.Transactor(&pgstore.TxOptions{Isolation: pgx.Serializable})
			return semel.DoTx(ctx, s.guard, t, orderKey(name), semel.Fingerprint{1}, func(ctx context.Context) (order, error) {
				return s.insert(ctx, pgstore.TxFrom(ctx), name)
			})
		},
	}
}

// ordersOf is the table of the shop whose records are in a schema.
func ordersOf(schema string) string { return quoted(schema+"_shop") + ".orders" }

func TestProcesses(t *testing.T) {
	t.Parallel()
	storetest.RunProcesses(t, processes())
}

// Promises 1, 2 and 4: nothing is given twice while the server ends connections
// in the middle of verbs and of transactions.
func TestTerminatedConnections(t *testing.T) {
	t.Parallel()
	p := processes()
	admin := pool(t, testserver.Postgres(t), 4)
	p.Disturb = func(_ testing.TB, place string) func() {
		schema, _, _ := strings.Cut(place, " ")
		execute(t, admin, fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '%s' ORDER BY state = 'idle', random() LIMIT 1", schema))
		return func() {}
	}
	storetest.RunProcesses(t, p)
}

// So it is while the network breaks them, before or after the server did what
// it was asked.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(testserver.Postgres(t))
	noError(t, err)
	p, proxy := processes(), testserver.NewProxy(t, u.Host)
	direct := p.Place
	p.Place = func(tb testing.TB) string { tb.Helper(); return strings.Replace(direct(tb), u.Host, proxy.Addr(), 1) }
	p.Disturb = func(testing.TB, string) func() { return proxy.Disturb() }
	storetest.RunProcesses(t, p)
}
