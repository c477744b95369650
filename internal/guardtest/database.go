package guardtest

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strconv"
	"strings"
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
// pgx, postgresql (through database/sql), mysql, [MySQLSnapshots] and sqlite.
// [Each] runs a test on all of them.
func Databases() map[string]func(testing.TB) *Database {
	all := map[string]func(testing.TB) *Database{"pgx": Pgx, MySQLSnapshots: mysqlSnapshots}
	for _, d := range []dbguard.Dialect{dbguard.PostgreSQL, dbguard.MySQL, dbguard.SQLite} {
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

// Each runs a parallel subtest on each of [Databases].
func Each(t *testing.T, test func(t *testing.T, db *Database)) {
	t.Helper()
	each(t, Databases(), test)
}

// EachRace runs a parallel subtest on each of [RaceDatabases].
func EachRace(t *testing.T, test func(t *testing.T, db *Database)) {
	t.Helper()
	each(t, RaceDatabases(), test)
}

func each(t *testing.T, databases map[string]func(testing.TB) *Database, test func(t *testing.T, db *Database)) {
	t.Helper()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// maxConnsSQLite is less than [Callers]: one of them writes at a time, the others
// poll for it, and callers beyond these wait in the pool, which wakes them.
const maxConnsSQLite = 4

// Open makes an empty database, reached through database/sql. In PostgreSQL it is
// a schema, first in the search path, because a database takes seconds to make.
func Open(tb testing.TB, d dbguard.Dialect) *Database {
	tb.Helper()
	if d == dbguard.PostgreSQL {
		db := databases.Connect(tb, "pgx", postgresSchema(tb))
		return &Database{Database: dbguard.SQLDatabase(d, db), SQL: db, Strict: true}
	}
	db := databases.Open(tb, dialect.Dialect(d)).DB
	if d == dbguard.SQLite {
		db.SetMaxOpenConns(maxConnsSQLite)
	}
	return &Database{Database: dbguard.SQLDatabase(d, db), SQL: db, Strict: d == dbguard.MySQL && snapshotIsolation(tb, db)}
}

// snapshotIsolation reports whether the server has innodb_snapshot_isolation on by default, as MariaDB from 11.6.2.
func snapshotIsolation(tb testing.TB, db *sql.DB) bool {
	tb.Helper()
	var on bool
	err := db.QueryRowContext(tb.Context(), "SELECT @@innodb_snapshot_isolation").Scan(&on)
	return err == nil && on // MySQL and older versions do not know the variable
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
	return &Database{Database: dbguard.SQLDatabase(dbguard.MySQL, db), SQL: db, Strict: true}
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
	//semel:safe a second run is refused: the schema is there
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
	n, err := Number(tb.Context(), d, query, args...)
	if err != nil {
		tb.Fatalf("%s: %v\n%s", d.Dialect(), err, query)
	}
	return n
}

// Insert executes a statement for each key from 0 on, in place of its {key}, in one
// transaction.
func (d *Database) Insert(tb testing.TB, keys int, statement string) {
	tb.Helper()
	err := d.InTx(tb.Context(), func(ctx context.Context, tx dbguard.Session) error {
		for key := range keys {
			if _, err := tx.Exec(ctx, strings.ReplaceAll(statement, "{key}", strconv.Itoa(key))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// InTxAt is InTx at another level of isolation. SQLite has one only, and runs
// at that.
func (d *Database) InTxAt(ctx context.Context, level sql.IsolationLevel, work func(ctx context.Context, tx dbguard.Session) error) error {
	switch {
	case d.Dialect() == dbguard.SQLite:
		return d.InTx(ctx, work)
	case d.Pool != nil:
		o := pgx.TxOptions{IsoLevel: pgx.TxIsoLevel(strings.ToLower(level.String()))}
		return pgx.BeginTxFunc(ctx, d.Pool, o, func(tx pgx.Tx) error { return work(ctx, pgxguard.Session(tx)) })
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

// InSnapshot runs work in a transaction at REPEATABLE READ that has read the table, and so
// does not see what others commit.
func (d *Database) InSnapshot(ctx context.Context, table string, work func(ctx context.Context, tx dbguard.Session) error) error {
	return d.InTxAt(ctx, sql.LevelRepeatableRead, func(ctx context.Context, tx dbguard.Session) error {
		if _, err := Number(ctx, tx, "SELECT count(*) FROM "+table); err != nil {
			return err
		}
		return work(ctx, tx)
	})
}

// Number reads the one number that a query of a session returns; NULL is 0.
func Number(ctx context.Context, s dbguard.Session, query string, args ...any) (int64, error) {
	rows, err := s.Query(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	var n sql.NullInt64
	if !rows.Next() {
		return 0, errors.Join(errors.New("the query returned no row"), rows.Err(), rows.Close())
	}
	err = errors.Join(rows.Scan(&n), rows.Close())
	return n.Int64, err
}
