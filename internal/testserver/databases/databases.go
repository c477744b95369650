// Package databases gives a test an empty database of every dialect, on real
// servers.
package databases

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/go-sql-driver/mysql" // opens MariaDB
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // opens PostgreSQL
	_ "modernc.org/sqlite"             // opens SQLite

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver"
)

// maxConns bounds the connections of a pool: a test has no more callers at
// once.
const maxConns = 20

// Database is an empty database that ends with the test.
type Database struct {
	Dialect dialect.Dialect
	// DSN is as Semel's commands take it: postgres://…, mysql:… or sqlite:….
	DSN string
	DB  *sql.DB
	// Pool is set for PostgreSQL only, and reaches the same database.
	Pool *pgxpool.Pool
}

// Exec runs statements and ends the test when one fails.
func (d *Database) Exec(tb testing.TB, statements ...string) {
	tb.Helper()
	for _, statement := range statements {
		if _, err := d.DB.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatalf("%s: %v\n%s", d.Dialect, err, statement)
		}
	}
}

// Each runs a test on every dialect, as parallel subtests that are named by it.
func Each(t *testing.T, test func(t *testing.T, d *Database)) {
	t.Helper()
	for _, d := range dialect.All() {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			test(t, Open(t, d))
		})
	}
}

// Open makes an empty database of the dialect.
func Open(tb testing.TB, d dialect.Dialect) *Database {
	tb.Helper()
	switch d {
	case dialect.PostgreSQL:
		return openPostgres(tb)
	case dialect.MySQL:
		source := testserver.MySQLDatabase(tb)
		return &Database{Dialect: d, DSN: "mysql:" + source, DB: Connect(tb, "mysql", source)}
	case dialect.SQLite:
		file := filepath.Join(tb.TempDir(), "test.db")
		source := "file:" + file + "?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(wal)&_pragma=foreign_keys(1)" +
			"&_pragma=synchronous(off)" // no machine dies in these tests
		return &Database{Dialect: d, DSN: "sqlite:" + file, DB: Connect(tb, "sqlite", source)}
	}
	tb.Fatalf("no database for %s", d)
	return nil
}

func openPostgres(tb testing.TB) *Database {
	tb.Helper()
	dsn := testserver.PostgresDatabase(tb)
	return &Database{Dialect: dialect.PostgreSQL, DSN: dsn, DB: Connect(tb, "pgx", dsn), Pool: Pgx(tb, dsn)}
}

// Pgx opens a pool of pgx that ends with the test.
func Pgx(tb testing.TB, dsn string) *pgxpool.Pool {
	tb.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	config.MaxConns = maxConns
	pool, err := pgxpool.NewWithConfig(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

// Connect opens a pool of database/sql that ends with the test.
func Connect(tb testing.TB, driver, source string) *sql.DB {
	tb.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	tb.Cleanup(func() { _ = db.Close() })
	if err := db.PingContext(tb.Context()); err != nil {
		tb.Fatalf("%s: %v", driver, err)
	}
	return db
}
