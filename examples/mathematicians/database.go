package mathematicians

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"github.com/semel-dev/semel/examples/internal/sqlite"
	"github.com/semel-dev/semel/ids"
)

var (
	//go:embed sql/schema.sql
	schemaSQL string
	//go:embed sql/hand_out.sql
	handOutSQL string
	//go:embed sql/use_handout.sql
	useHandoutSQL string
)

// The kinds of things for which ids are handed out.
const (
	kindMathematician = "mathematician"
	kindPaper         = "paper"
)

// Errors of the database's verbs.
var (
	errNotFound      = errors.New("nothing has this id")
	errNotHandedOut  = errors.New("this id was not handed out: ask for one at …/new")
	errOtherBody     = errors.New("this id was used for something else before: ask for a new one, or send what was sent first")
	errNoAuthor      = errors.New("no mathematician has the author's id")
	errStale         = errors.New("it has changed since the version in If-Match: get it again")
	errTooManyUnused = errors.New("too many ids wait to be used")
)

// database is the SQLite file. mathematician.go and paper.go hold its verbs.
type database struct{ db *sql.DB }

// openDatabase opens the file at path, creating it and its tables if absent.
func openDatabase(path string) (*database, error) {
	db, err := sqlite.Open(context.Background(), path, schemaSQL)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w (is it a writable SQLite file of this application?)", path, err)
	}
	return &database{db}, nil
}

// handOut records that an id was handed out.
func (d *database) handOut(ctx context.Context, kind string, id ids.UUID, most int) error {
	result, err := d.db.ExecContext(ctx, handOutSQL, id[:], kind, most)
	if err != nil {
		return fmt.Errorf("hand out an id: %w", err)
	}
	switch n, err := result.RowsAffected(); {
	case err != nil:
		return fmt.Errorf("hand out an id: %w", err)
	case n == 0:
		return errTooManyUnused
	}
	return nil
}

// useHandout marks an id as used, or returns errNotHandedOut if it was not handed
// out for this kind.
func useHandout(ctx context.Context, tx *sql.Tx, kind string, id ids.UUID) error {
	result, err := tx.ExecContext(ctx, useHandoutSQL, id[:], kind)
	if err != nil {
		return fmt.Errorf("use a hand-out: %w", err)
	}
	switch n, err := result.RowsAffected(); {
	case err != nil:
		return fmt.Errorf("use a hand-out: %w", err)
	case n == 0:
		return errNotHandedOut
	}
	return nil
}

// inTransaction commits what work did, or rolls it back when work fails.
func (d *database) inTransaction(ctx context.Context, work func(tx *sql.Tx) error) error {
	return sqlite.InTransaction(ctx, d.db, work)
}
