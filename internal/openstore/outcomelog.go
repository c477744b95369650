package openstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/semel-dev/semel/internal/opendb"
	"github.com/semel-dev/semel/outcomelog/archive"
)

// ErrNoTables says that a store keeps no tables, so that it cannot hold an outcome log.
var ErrNoTables = errors.New("the outcome log needs a store in PostgreSQL, MySQL, MariaDB or SQLite")

// OutcomeLog is an archive next to the records of a store, with connections of its own.
type OutcomeLog struct {
	*archive.Archive

	db *sql.DB
}

// OpenOutcomeLog opens the outcome log in the database of a store that was opened before. The name of its table follows from the
// DSN. The caller closes it. The error wraps [ErrNoTables] where the store cannot hold one, and [archive.ErrNone] where it does not
// and o.ReadOnly is set.
func OpenOutcomeLog(ctx context.Context, dsn string, o archive.Options) (*OutcomeLog, error) {
	scheme, rest, err := split(dsn)
	if err != nil {
		return nil, err
	}
	switch scheme {
	case "postgres", "postgresql":
		var p parameters
		rest, p, err = takeParameters(rest, paramSchema, paramCache, paramGroupCommit)
		o.Table = cmp.Or(p.schema, "semel") + ".outcome"
	case "mysql", "mariadb":
		var p parameters
		rest, p, err = takeParameters(rest, paramPrefix, paramCache, paramGroupCommit, paramMaxConns)
		o.Table = cmp.Or(p.prefix, "semel_") + "outcome"
	case "sqlite":
		o.Table = "outcome"
	default:
		return nil, fmt.Errorf("%w: %s keeps no tables", ErrNoTables, scheme)
	}
	if err != nil {
		return nil, err
	}
	use := opendb.Write
	if o.ReadOnly {
		use = opendb.Read
	}
	db, err := opendb.Open(ctx, scheme+":"+rest, use)
	if err != nil {
		return nil, err
	}
	log, err := archive.Open(ctx, db.DB, &o)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &OutcomeLog{log, db.DB}, nil
}

// Close ends the archive and its connections.
func (l *OutcomeLog) Close() error { return errors.Join(l.Archive.Close(), l.db.Close()) }
