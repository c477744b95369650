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
	//go:embed sql/take_id.sql
	takeIDSQL string
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
type database struct {
	db        *sql.DB
	clientIDs bool
}

// openDatabase opens the file at path, creating it and its tables if absent.
func openDatabase(path string, clientIDs bool) (*database, error) {
	db, err := sqlite.Open(context.Background(), path, schemaSQL)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w (is it a writable SQLite file of this application?)", path, err)
	}
	return &database{db, clientIDs}, nil
}

// handOut records that an id was handed out.
func (d *database) handOut(ctx context.Context, kind string, id ids.UUID, most int) error {
	result, err := d.db.ExecContext(ctx, handOutSQL, id[:], kind, most)
	return changed(result, err, "hand out an id", errTooManyUnused)
}

// changed returns the error of a statement, or none if it changed no row.
func changed(result sql.Result, err error, act string, none error) error {
	n := int64(1)
	if err == nil {
		n, err = result.RowsAffected()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", act, err)
	}
	if n == 0 {
		return none
	}
	return nil
}

// useID marks an id as used. It returns errNotHandedOut if the id was not handed
// out for this kind, or, where clients make ids, errOtherBody if it is another
// kind's.
func (d *database) useID(ctx context.Context, tx *sql.Tx, kind string, id ids.UUID) error {
	unusable := errNotHandedOut
	if d.clientIDs {
		unusable = errOtherBody
		if _, err := tx.ExecContext(ctx, takeIDSQL, id[:], kind); err != nil {
			return fmt.Errorf("take an id: %w", err)
		}
	}
	result, err := tx.ExecContext(ctx, useHandoutSQL, id[:], kind)
	return changed(result, err, "use a hand-out", unusable)
}

// inTransaction commits what work did, or rolls it back when work fails.
func (d *database) inTransaction(ctx context.Context, work func(tx *sql.Tx) error) error {
	return sqlite.InTransaction(ctx, d.db, work)
}
