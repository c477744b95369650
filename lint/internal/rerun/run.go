package rerun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/dialect"
)

// ErrRefused means that the database may hold something of value, and [Options].Yes is not set.
var ErrRefused = errors.New("prove")

// Options are the settings of [Run].
type Options struct {
	// Yes takes a database that is on another host, or whose name does not say that it holds nothing of value.
	Yes bool
	// Progress gets the number of statements that are done.
	Progress func(done, all int, what string)
}

// dropTime bounds the removal of a copy.
const dropTime = 30 * time.Second

// Run runs every statement twice on a scratch copy of the database that the DSN names, which is only read,
// and returns an outcome for each. The error wraps [ErrRefused], or [opendb.ErrDSN] when the DSN is wrong;
// any other one means that the server could not be reached, or cannot make a copy.
func Run(ctx context.Context, dsn string, statements []Statement, o *Options) (outcomes []Outcome, err error) {
	if o == nil {
		o = &Options{}
	}
	c, err := copyOf(ctx, dsn, o.Yes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.drop()) }()
	e := &engine{copy: c}
	if e.layout, err = c.read(ctx); err != nil {
		return nil, fmt.Errorf("read the copy: %w", err)
	}
	for i, s := range statements {
		one, err := e.prove(ctx, s)
		if err != nil {
			return outcomes, err
		}
		outcomes = append(outcomes, one)
		if o.Progress != nil {
			o.Progress(i+1, len(statements), "")
		}
	}
	return outcomes, nil
}

// copyOf makes a copy of the database that the DSN names.
func copyOf(ctx context.Context, dsn string, yes bool) (scratch, error) {
	place, err := opendb.Locate(dsn)
	if err != nil {
		return nil, err
	}
	if !place.Loopback() && !yes {
		return nil, fmt.Errorf("%w: the database is on another host: a copy is made there, and rows are written to it (allow that with --yes)", ErrRefused)
	}
	original, err := opendb.Open(ctx, dsn, opendb.Read)
	if err != nil {
		return nil, err
	}
	defer original.Close() //nolint:errcheck // it only read.
	if !yes && !scratchName(place.Database) {
		if err := holdsNothing(ctx, original.DB, place); err != nil {
			return nil, err
		}
	}
	switch place.Dialect {
	case dialect.PostgreSQL:
		return copyPostgres(ctx, dsn, original)
	case dialect.MySQL:
		return copyMySQL(ctx, dsn, original)
	case dialect.SQLite:
	}
	return copySQLite(ctx, original)
}

// holdsNothing refuses a database that holds rows.
func holdsNothing(ctx context.Context, db *sql.DB, place opendb.Place) error {
	l, err := readLayout(ctx, db, place.Dialect)
	if err != nil {
		return err
	}
	for _, t := range l.tables {
		var rows bool
		if err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+t.path+")").Scan(&rows); err != nil {
			return fmt.Errorf("look for rows in %s: %w", t.Name, err)
		}
		if rows {
			return fmt.Errorf("%w: the database holds rows, and its name has none of the words test, scratch, dev, tmp and sandbox: name one that is meant for tests (or allow a copy of this one with --yes)", ErrRefused)
		}
	}
	return nil
}

// ending returns a context in which a copy is removed, even after an interrupt.
func ending() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), dropTime)
}
