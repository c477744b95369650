package guardtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/dbguard/pgxguard"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/databases"
)

// Database is an empty database that ends with the test, as one driver reaches
// it.
type Database struct {
	dbguard.Database
	// SQL is the pool of database/sql, even where Database goes through pgx.
	SQL *sql.DB
	// Pool is set where Database goes through pgx.
	Pool *pgxpool.Pool
	// Strict says that at REPEATABLE READ the database ends a transaction that
	// locks a row newer than its snapshot.
	Strict bool
}

// MySQLSnapshots is the name of MariaDB as it is by default from 11.6.2 on, in
// [Databases].
const MySQLSnapshots = "mysql, snapshots"

// Databases makes an empty database, by the name of each server and driver:
// pgx, postgresql (through database/sql), mysql, [MySQLSnapshots] and sqlite. A
// test has a parallel subtest for each:
//
//	for name, open := range guardtest.Databases() {
//		t.Run(name, func(t *testing.T) {
//			t.Parallel()
//			db := open(t)
func Databases() map[string]func(testing.TB) *Database {
	all := map[string]func(testing.TB) *Database{"pgx": Pgx, MySQLSnapshots: mysqlSnapshots}
	for _, d := range dialect.All() {
		all[d.String()] = func(tb testing.TB) *Database {
			tb.Helper()
			return Open(tb, d)
		}
	}
	return all
}

// RaceDatabases are those of [Databases] that the race of a guard runs on. Under
// the race detector [MySQLSnapshots] is left out: races take minutes, and most
// run at READ COMMITTED, where the server's option changes nothing.
func RaceDatabases() map[string]func(testing.TB) *Database {
	all := Databases()
	if !raceInSnapshots {
		delete(all, MySQLSnapshots)
	}
	return all
}

// maxConnsSQLite is less than [Callers]: one of them writes at a time, the others
// poll for it, and callers beyond these wait in the pool, which wakes them.
const maxConnsSQLite = 4

// Open makes an empty database, reached through database/sql. In PostgreSQL it is
// a schema, first in the search path, because a database takes seconds to make.
func Open(tb testing.TB, d dialect.Dialect) *Database {
	tb.Helper()
	if d == dialect.PostgreSQL {
		db := databases.Connect(tb, "pgx", postgresSchema(tb))
		return &Database{Database: dbguard.SQLDatabase(d, db), SQL: db, Strict: true}
	}
	db := databases.Open(tb, d).DB
	if d == dialect.SQLite {
		db.SetMaxOpenConns(maxConnsSQLite)
	}
	return &Database{Database: dbguard.SQLDatabase(d, db), SQL: db}
}

// Pgx makes an empty database of PostgreSQL, reached through pgx.
func Pgx(tb testing.TB) *Database {
	tb.Helper()
	dsn := postgresSchema(tb)
	pool := databases.Pgx(tb, dsn)
	return &Database{Database: pgxguard.Database(pool), SQL: databases.Connect(tb, "pgx", dsn), Pool: pool, Strict: true}
}

// mysqlSnapshots makes an empty database on MariaDB, on connections with
// innodb_snapshot_isolation.
func mysqlSnapshots(tb testing.TB) *Database {
	tb.Helper()
	db := databases.Connect(tb, "mysql", testserver.MySQLDatabase(tb)+"?innodb_snapshot_isolation=1")
	return &Database{Database: dbguard.SQLDatabase(dialect.MySQL, db), SQL: db, Strict: true}
}

// postgresSchema makes a schema and returns the DSN whose search path it is.
func postgresSchema(tb testing.TB) string {
	tb.Helper()
	schema := testserver.PostgresSchema(tb)
	dsn, err := url.Parse(testserver.Postgres(tb))
	if err != nil {
		tb.Fatal(err)
	}
	query := dsn.Query()
	query.Set("search_path", schema)
	dsn.RawQuery = query.Encode()
	conn, err := pgx.Connect(tb.Context(), dsn.String())
	if err != nil {
		tb.Fatal(err)
	}
	_, err = conn.Exec(tb.Context(), "CREATE SCHEMA "+schema)
	if err := errors.Join(err, conn.Close(tb.Context())); err != nil {
		tb.Fatal(err)
	}
	return dsn.String()
}

// Run executes statements outside of a transaction and ends the test when one
// fails.
func (d *Database) Run(tb testing.TB, statements ...string) {
	tb.Helper()
	for _, statement := range statements {
		if _, err := d.Exec(tb.Context(), statement); err != nil {
			tb.Fatalf("%s: %v\n%s", d.Dialect(), err, statement)
		}
	}
}

// Number reads the one number that a query returns; NULL is 0.
func (d *Database) Number(tb testing.TB, query string, args ...any) int64 {
	tb.Helper()
	n, err := number(tb.Context(), d, query, args...)
	if err != nil {
		tb.Fatalf("%s: %v\n%s", d.Dialect(), err, query)
	}
	return n
}

// InTxAt is InTx at another level of isolation. SQLite has one only, and runs
// at that.
func (d *Database) InTxAt(ctx context.Context, level sql.IsolationLevel, work func(ctx context.Context, tx dbguard.Session) error) error {
	switch {
	case d.Dialect() == dialect.SQLite:
		return d.InTx(ctx, work)
	case d.Pool != nil:
		return d.inPgxTxAt(ctx, level, work)
	}
	tx, err := d.SQL.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	if err := work(ctx, dbguard.SQL(d.Dialect(), tx)); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (d *Database) inPgxTxAt(ctx context.Context, level sql.IsolationLevel, work func(ctx context.Context, tx dbguard.Session) error) error {
	levels := map[sql.IsolationLevel]pgx.TxIsoLevel{
		sql.LevelReadCommitted:  pgx.ReadCommitted,
		sql.LevelRepeatableRead: pgx.RepeatableRead,
		sql.LevelSerializable:   pgx.Serializable,
	}
	own, ok := levels[level]
	if !ok {
		return fmt.Errorf("pgx has no level %s", level)
	}
	return pgx.BeginTxFunc(ctx, d.Pool, pgx.TxOptions{IsoLevel: own}, func(tx pgx.Tx) error {
		return work(ctx, pgxguard.Session(tx))
	})
}

// number reads one number.
func number(ctx context.Context, s dbguard.Session, query string, args ...any) (int64, error) {
	rows, err := s.Query(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	var n sql.NullInt64
	if !rows.Next() {
		return 0, errors.Join(errors.New("the query returned no row"), rows.Err(), rows.Close())
	}
	return n.Int64, errors.Join(rows.Scan(&n), rows.Close())
}
