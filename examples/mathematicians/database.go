package mathematicians

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // registers the "sqlite" driver

	"github.com/semel-dev/semel/ids"
)

const (
	maxConnections = 8
	openTimeout    = 10 * time.Second
	busyTimeout    = 5 * time.Second
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
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the file: %w", err)
	}
	settings := url.Values{"_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
	}}
	dsn := url.URL{Scheme: "file", Path: filepath.ToSlash(absolute), RawQuery: settings.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("load the driver: %w", err)
	}
	db.SetMaxOpenConns(maxConnections)
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	if _, err := db.ExecContext(ctx, schemaSQL); err != nil {
		_ = db.Close() // the first error says more
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
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // no-op once committed
	if err := work(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
