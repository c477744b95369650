package sqlitetx

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/store/internal/verb"
	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
)

//go:embed migrations/*.sql
var migrations embed.FS

// newestSchema returns the newest schema of its tables that this package reads and
// writes.
func newestSchema() (int, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	return len(names), err
}

// migrate brings the tables to the latest schema and records the clock, all in
// one transaction. Several processes may do it at once: the lock is taken
// first, then the schema is read. It returns the latest time that the file had
// seen.
func (s *Store) migrate(ctx context.Context, conn *sql.Conn) (floor int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.busy)
	defer cancel()
	quiet := context.WithoutCancel(ctx)
	if err := atOnce(ctx, conn, func(ctx context.Context) error {
		return untilFree(ctx, func() error {
			_, err := conn.ExecContext(quiet, "BEGIN IMMEDIATE")
			return err
		})
	}); err != nil {
		return 0, err
	}
	if floor, err = s.migrateLocked(quiet, conn); err == nil {
		err = untilFree(ctx, func() error {
			_, err := conn.ExecContext(quiet, "COMMIT")
			return err
		})
	}
	if err != nil {
		_, _ = conn.ExecContext(quiet, "ROLLBACK") // its only error is that SQLite has done it already
	}
	return floor, err
}

func (s *Store) migrateLocked(ctx context.Context, conn *sql.Conn) (floor int64, err error) {
	latest, err := newestSchema()
	if err != nil {
		return 0, err
	}
	schema, err := number(ctx, conn, "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'semel_meta'")
	if err == nil && schema != 0 {
		schema, err = number(ctx, conn, "SELECT schema FROM semel_meta WHERE id = 1")
	}
	switch {
	case err != nil:
		return 0, err
	case schema > int64(latest):
		return 0, fmt.Errorf("the tables are at schema %d, this program knows up to %d (update it)", schema, latest)
	}
	if err := verb.Migrate(migrations, int(schema), func(script string) error {
		_, err := conn.ExecContext(ctx, script)
		return err
	}); err != nil {
		return 0, err
	}
	if floor, err = number(ctx, conn, "SELECT clock_ms FROM semel_meta WHERE id = 1"); err != nil {
		return 0, err
	}
	_, err = conn.ExecContext(ctx, "UPDATE semel_meta SET schema = MAX(schema, ?1), clock_ms = MAX(clock_ms, ?2) WHERE id = 1", latest, s.clock.Read(floor))
	return floor, err
}

// pauses between two attempts to get a lock are short: one caller of a process
// asks at a time.
var pauses = waiting.Backoff{First: 250 * time.Microsecond, Most: 5 * time.Millisecond} //nolint:gochecknoglobals // it is never changed.

// untilFree repeats what another transaction is in the way of, until ctx ends.
func untilFree(ctx context.Context, try func() error) error {
	return pauses.Do(ctx, func(err error) bool { return result.IsBusy(err) && !result.IsStale(err) }, try)
}
