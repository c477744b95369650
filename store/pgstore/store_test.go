package pgstore_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness(t, testserver.Postgres(t), nil))
}

func TestStoreUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, harness(t, testserver.Postgres(t), nil))
}

// The contract holds however the driver sends statements, whatever the default
// isolation is, and without what only PostgreSQL has.
func TestStoreOtherwise(t *testing.T) {
	t.Parallel()
	setting := func(name, value string) string {
		return with(t, testserver.Postgres(t), func(_ *url.URL, q url.Values) { q.Set(name, value) })
	}
	shapes := []string{"batch/", "list/", "sweep/", "outcome/", "key/"} // they use every statement
	for name, c := range map[string]struct {
		kinds []string
		h     storetest.Harness
	}{
		"exec":            {shapes, harness(t, setting("default_query_exec_mode", "exec"), nil)},
		"cache describe":  {shapes[:3], harness(t, setting("default_query_exec_mode", "cache_describe"), nil)},
		"simple protocol": {shapes[:3], harness(t, setting("default_query_exec_mode", "simple_protocol"), nil)},
		"repeatable read": {[]string{"race/"}, harness(t, setting("default_transaction_isolation", "repeatable read"), nil)},
		"serializable":    {[]string{"race/", "history/"}, harness(t, setting("default_transaction_isolation", "serializable"), nil)},
		"cockroach":       {shapes[:3], harness(t, testserver.Postgres(t), pgstore.Cockroach)},
	} {
		if !claimtest.Long() && !slices.Contains([]string{"simple protocol", "serializable", "cockroach"}, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, c.h, c.kinds...)
		})
	}
}

// Everything that holds without shared batches holds with them.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	storetest.Run(t, claimtest.Grouped(harness(t, testserver.Postgres(t), nil)))
}

// bench lends schemas to a harness: they are emptied and used
// again, and share one pool, because there are hundreds of instances.
type bench struct {
	owner testing.TB // of the schemas and the pool
	pool  *pgxpool.Pool
	with  func(*pgstore.Options) *pgstore.Options

	mu   sync.Mutex // guards the fields below
	free []string
}

// harness gives instances on a server. with changes their options.
func harness(tb testing.TB, dsn string, with func(*pgstore.Options) *pgstore.Options) storetest.Harness {
	tb.Helper()
	b := &bench{owner: tb, pool: pool(tb, dsn, 8), with: with}
	return b.instance
}

// instance is an empty store for one rule.
func (b *bench) instance(tb testing.TB) *storetest.Instance {
	tb.Helper()
	o := &pgstore.Options{Schema: b.schema(tb), SkipMigrations: true}
	if b.with != nil {
		o = b.with(o)
	}
	o = pgstore.Ticking(o)
	inst := claimtest.Instance(tb, func(tb testing.TB) *pgstore.Store { tb.Helper(); return newStore(tb, b.pool, o) })
	inst.Running = true
	inst.Advance = func(d time.Duration) {
		execute(tb, b.pool, fmt.Sprintf("UPDATE %q.tick SET ms = ms + %d", o.Schema, d.Milliseconds()))
	}
	inst.Check = func(tb testing.TB) { tb.Helper(); check(tb, b.pool, o.Schema) }
	return inst
}

// schema gives an empty schema, and takes it back after the rule.
func (b *bench) schema(tb testing.TB) string {
	tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var name string
	if n := len(b.free); n > 0 {
		name, b.free = b.free[n-1], b.free[:n-1]
		execute(tb, b.pool, fmt.Sprintf("DELETE FROM %[1]q.record; UPDATE %[1]q.tick SET ms = 0", name))
	} else {
		name = testserver.PostgresSchema(b.owner)
		noError(tb, newStore(tb, b.pool, &pgstore.Options{Schema: name}).Close())
		execute(tb, b.pool, fmt.Sprintf("CREATE TABLE %[1]q.tick (ms bigint NOT NULL); INSERT INTO %[1]q.tick VALUES (0)", name))
	}
	tb.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.free = append(b.free, name)
	})
	return name
}

// check checks that the table is as the package says.
func check(tb testing.TB, pool *pgxpool.Pool, schema string) {
	tb.Helper()
	var wrong string
	err := pool.QueryRow(context.WithoutCancel(tb.Context()), fmt.Sprintf(`SELECT coalesce(string_agg(word, ', '), '') FROM (
SELECT fence || ' is swept too late' FROM %[1]q.record WHERE sweep_ms > greatest(expires_ms, claimed_ms + 300000) AND state <> 'released'
UNION ALL SELECT fence || ' is swept too early' FROM %[1]q.record WHERE sweep_ms < claimed_ms + 300000
UNION ALL SELECT fence || ' has a digest of another length' FROM %[1]q.record WHERE length(digest) <> 32
UNION ALL SELECT 'fence ' || max(fence) || ' was never given' FROM %[1]q.record HAVING max(fence) > (SELECT last_value FROM %[1]q.fence)
) AS found (word)`, schema)).Scan(&wrong)
	if err != nil || wrong != "" {
		tb.Errorf("the table is wrong: %s, error %v", wrong, err)
	}
}

// pool connects to a server, for as long as the test runs.
func pool(tb testing.TB, dsn string, conns int32) *pgxpool.Pool {
	tb.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	noError(tb, err)
	config.MaxConns = conns
	p, err := pgxpool.NewWithConfig(tb.Context(), config)
	noError(tb, err)
	tb.Cleanup(p.Close)
	return p
}

// newStore opens a store over a pool; the caller closes it.
func newStore(tb testing.TB, pool *pgxpool.Pool, o *pgstore.Options) *pgstore.Store {
	tb.Helper()
	s, err := pgstore.New(tb.Context(), pool, o)
	noError(tb, err)
	return s
}

// quoted is a name as SQL has it.
func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// execute runs SQL as another program would.
func execute(tb testing.TB, pool *pgxpool.Pool, sql string) {
	tb.Helper()
	if _, err := pool.Exec(context.WithoutCancel(tb.Context()), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
}

// modes are the ways in which the driver sends statements.
func modes() []string {
	return []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"}
}
