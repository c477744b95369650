// Package openlog opens the outcome log in the database of a store. Other users of openstore keep no log, and need not link it.
package openlog

import (
	"context"
	"database/sql"
	"errors"

	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/outcomelog/archive"
)

// Log is an archive next to the records of a store, with connections of its own.
type Log struct {
	*archive.Archive

	db *sql.DB
}

// Open opens the outcome log of a store that was opened before. The name of its table follows from the DSN. The caller closes it.
// The error wraps [openstore.ErrNoTables] where the store cannot hold one, and [archive.ErrNone] where it does not and o.ReadOnly
// is set.
func Open(ctx context.Context, dsn string, o archive.Options) (*Log, error) {
	database, table, err := openstore.OutcomeTable(dsn)
	if err != nil {
		return nil, err
	}
	o.Table = table
	use := opendb.Write
	if o.ReadOnly {
		use = opendb.Read
	}
	db, err := opendb.Open(ctx, database, use)
	if err != nil {
		return nil, err
	}
	log, err := archive.Open(ctx, db.DB, &o)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Log{log, db.DB}, nil
}

// Close ends the archive and its connections.
func (l *Log) Close() error { return errors.Join(l.Archive.Close(), l.db.Close()) }
