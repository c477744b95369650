package mysqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/storetest"
)

// testConns limits the connections that the stores of one test share.
const testConns = 8

// fast are the parameters of a pool that save round trips.
const fast = "interpolateParams=true&multiStatements=true"

// snapshots makes a lock on a row that is newer than the transaction's snapshot
// error 1020, as MariaDB does by default from 11.6.2 on.
const snapshots = "innodb_snapshot_isolation=1"

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness(t, fast, nil))
}

// What the store does on MySQL, which has no INSERT … RETURNING.
func TestStoreWithoutReturning(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness(t, fast, mysqlstore.WithoutReturning))
}

func TestStoreUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, harness(t, fast, nil))
}

// Everything that holds without shared batches holds with them.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	storetest.Run(t, claimtest.Grouped(harness(t, fast, nil)))
}

// bench lends tables to a harness: they are emptied and used again, and share one pool, because there are hundreds of instances.
type bench struct {
	db    *sql.DB // the stores'
	admin *sql.DB // the test's own, with the server's defaults
	with  func(*mysqlstore.Options) *mysqlstore.Options

	mu   sync.Mutex // guards the fields below
	free []string
	made int
}

// harness gives instances on the shared server, through a pool with the given parameters. with changes their options.
func harness(tb testing.TB, params string, with func(*mysqlstore.Options) *mysqlstore.Options) storetest.Harness {
	tb.Helper()
	return newBench(tb, params, with).instance
}

func newBench(tb testing.TB, params string, with func(*mysqlstore.Options) *mysqlstore.Options) *bench {
	tb.Helper()
	dsn := testserver.MySQLDatabase(tb)
	return &bench{db: pool(tb, dsn, params), admin: pool(tb, dsn, ""), with: with}
}

func (b *bench) instance(tb testing.TB) *storetest.Instance {
	tb.Helper()
	o := &mysqlstore.Options{TablePrefix: b.tables(tb)}
	if b.with != nil {
		o = b.with(o)
	}
	o = mysqlstore.Ticking(o)
	inst := claimtest.Instance(tb, func(tb testing.TB) *mysqlstore.Store { tb.Helper(); return newStore(tb, b.db, o) })
	inst.Running = true
	inst.Advance = func(d time.Duration) {
		execute(tb, b.admin, fmt.Sprintf("UPDATE %stick SET ms = ms + %d", o.TablePrefix, d.Milliseconds()))
	}
	inst.Check = func(tb testing.TB) { tb.Helper(); check(tb, b.admin, o.TablePrefix) }
	return inst
}

// tables gives the prefix of empty tables, and takes it back after the tb.
func (b *bench) tables(tb testing.TB) string {
	tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var prefix string
	if n := len(b.free); n > 0 {
		prefix = b.free[n-1]
		b.free = b.free[:n-1]
		// Rows that are deleted leave locks behind until the server purges them.
		execute(tb, b.admin, fmt.Sprintf("TRUNCATE TABLE %srecord", prefix))
		execute(tb, b.admin, fmt.Sprintf("UPDATE %stick SET ms = 0", prefix))
	} else {
		b.made++
		prefix = fmt.Sprintf("s%d_", b.made)
		noError(tb, newStore(tb, b.admin, &mysqlstore.Options{TablePrefix: prefix}).Close())
		execute(tb, b.admin, fmt.Sprintf("CREATE TABLE %stick (ms BIGINT NOT NULL) ENGINE = InnoDB", prefix))
		execute(tb, b.admin, fmt.Sprintf("INSERT INTO %stick VALUES (0)", prefix))
	}
	tb.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.free = append(b.free, prefix)
	})
	return prefix
}

// check checks that the table is as the package says.
func check(tb testing.TB, db *sql.DB, prefix string) {
	tb.Helper()
	rows, err := db.QueryContext(context.WithoutCancel(tb.Context()), fmt.Sprintf(`
SELECT CONCAT(fence, ' is swept too late') FROM %[1]srecord WHERE sweep_ms > GREATEST(expires_ms, claimed_ms + 300000)
UNION ALL SELECT CONCAT(fence, ' was released, but holds an outcome') FROM %[1]srecord WHERE state = 'released' AND outcome IS NOT NULL
UNION ALL SELECT CONCAT(fence, ' lapses after it expires') FROM %[1]srecord WHERE state = 'claimed' AND lease_until_ms > expires_ms
UNION ALL SELECT CONCAT(fence, ' was settled, but not when') FROM %[1]srecord WHERE (settled_ms = 0) <> (state = 'claimed')
`, prefix))
	if err != nil {
		tb.Error(err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var wrong string
		if err := rows.Scan(&wrong); err != nil {
			tb.Error(err)
		}
		tb.Errorf("the table is wrong: %s", wrong)
	}
	if err := rows.Err(); err != nil {
		tb.Error(err)
	}
}

// pool connects to a server, for as long as the test runs.
func pool(tb testing.TB, dsn, params string) *sql.DB {
	tb.Helper()
	db := quietPool(tb, withParams(dsn, params))
	db.SetMaxOpenConns(testConns)
	db.SetMaxIdleConns(testConns)
	return db
}

// quietPool is a pool over the driver's own connector, which says nothing of broken connections.
func quietPool(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	return poolOver(tb, dsn, mysql.NewConnector)
}

// config reads a DSN.
func config(tb testing.TB, dsn string) *mysql.Config {
	tb.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	noError(tb, err)
	return cfg
}

// proxied is the DSN of the same database behind a proxy.
func proxied(tb testing.TB, dsn string) (far string, proxy *testserver.Proxy) {
	tb.Helper()
	cfg := config(tb, dsn)
	proxy = testserver.NewProxy(tb, cfg.Addr)
	cfg.Addr = proxy.Addr()
	return cfg.FormatDSN(), proxy
}

func withParams(dsn, params string) string {
	if params == "" {
		return dsn
	}
	return dsn + "?" + params
}

// newStore opens a store over a pool; the caller closes it.
func newStore(tb testing.TB, db *sql.DB, o *mysqlstore.Options) *mysqlstore.Store {
	tb.Helper()
	s, err := mysqlstore.New(tb.Context(), db, o)
	noError(tb, err)
	return s
}

// execute runs SQL as another program would.
func execute(tb testing.TB, db *sql.DB, statement string, args ...any) {
	tb.Helper()
	if _, err := db.ExecContext(context.WithoutCancel(tb.Context()), statement, args...); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}
