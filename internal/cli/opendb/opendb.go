package opendb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
)

// ErrDSN means that the DSN is wrong as written: nothing was opened, and
// trying again does not help.
var ErrDSN = errors.New("database: wrong DSN")

const (
	// connectTimeout bounds how long connecting may take, unless the DSN says
	// otherwise.
	connectTimeout = 10 * time.Second
	// lockTimeout bounds how long a statement waits for a lock of another session.
	lockTimeout = 10 * time.Second
	// maxConns is enough: the verbs ask one question after the other.
	maxConns = 4

	examples = "write postgres://…, mysql://… or sqlite:PATH, such as sqlite:shop.db or postgres://app@db.example/shop"
)

// Use is the purpose for which a database is opened.
type Use uint8

const (
	// Read only reads: the server, or the driver, refuses to write.
	Read Use = iota
	// Write also writes.
	Write
)

// Database is an open database. Close it.
type Database struct {
	*sql.DB

	Dialect dialect.Dialect
}

// Open connects to the database that the DSN names (postgres://…, mysql://… or
// mysql: and the driver's own form, sqlite:PATH), which must exist. The error
// wraps [ErrDSN] when the DSN itself is wrong; any other error means that the
// database could not be reached. No error repeats a password.
func Open(ctx context.Context, dsn string, use Use) (*Database, error) {
	return openAs(ctx, dsn, use, Login{})
}

func openAs(ctx context.Context, dsn string, use Use, l Login) (*Database, error) {
	scheme, rest, err := split(dsn)
	if err != nil {
		return nil, err
	}
	var db *Database
	switch scheme {
	case "postgres", "postgresql":
		db, err = openPostgres(scheme+":"+rest, use, l)
	case "mysql", "mariadb":
		db, err = openMySQL(scheme, rest, use, l)
	case "sqlite":
		db, err = openSQLite(rest, use)
	case "redis", "rediss", "nats", "memory":
		err = fmt.Errorf("%w: %s keeps no tables (%s)", ErrDSN, scheme, examples)
	default:
		err = fmt.Errorf("%w: no database is called %q (%s)", ErrDSN, scheme, examples)
	}
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(maxConns)
	ctx, cancel := context.WithTimeout(ctx, 2*connectTimeout) // longer than the drivers' own limit
	defer cancel()
	if err := db.ready(ctx); err != nil {
		_ = db.Close() // the error of the connection is the news
		return nil, fmt.Errorf("database: open %s: %w", Redact(dsn), err)
	}
	return db, nil
}

// Redact returns the DSN in a form that may be printed: a path as it is, and
// only the kind of database of a DSN that could hold a password.
func Redact(dsn string) string {
	scheme, rest, err := split(dsn)
	switch {
	case err != nil:
		return "…"
	case scheme == "sqlite":
		return scheme + ":" + rest
	}
	return scheme + ":…"
}

// ready finds out whether the database answers. SQLite opens the file only when
// it is read.
func (db *Database) ready(ctx context.Context) error {
	if db.Dialect != dialect.SQLite {
		return db.PingContext(ctx)
	}
	var tables int
	return db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
}

func split(dsn string) (scheme, rest string, err error) {
	if dsn == "" {
		return "", "", fmt.Errorf("%w: none is given (%s)", ErrDSN, examples)
	}
	if scheme, rest, err = dialect.SplitDSN(dsn, "database"); err != nil {
		err = fmt.Errorf("%w: %w (%s)", ErrDSN, err, examples)
	}
	return scheme, rest, err
}
