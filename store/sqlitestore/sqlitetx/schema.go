package sqlitetx

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the newest schema of its tables that this package reads and
// writes.
func Schema() (int, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	return len(names), err
}

// migration returns the script that leads from schema n-1 to schema n. Scripts
// are numbered from 1 without gaps and never change once released.
func migration(n int64) (string, error) {
	names, err := fs.Glob(migrations, fmt.Sprintf("migrations/%04d_*.sql", n))
	if err != nil {
		return "", err
	}
	if len(names) != 1 {
		return "", fmt.Errorf("%d scripts have the number %d", len(names), n)
	}
	script, err := migrations.ReadFile(names[0])
	return string(script), err
}

// migrate brings the tables to the latest schema and writes the clock down,
// all in one transaction. Several processes may do it at once: the lock is
// taken first, then the schema is read. It returns the latest time that the
// file had seen.
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
	latest, err := Schema()
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
	for n := schema + 1; n <= int64(latest); n++ {
		script, err := migration(n)
		if err != nil {
			return 0, err
		}
		if _, err := conn.ExecContext(ctx, script); err != nil {
			return 0, fmt.Errorf("migrate to schema %d: %w", n, err)
		}
	}
	if floor, err = number(ctx, conn, "SELECT clock_ms FROM semel_meta WHERE id = 1"); err != nil {
		return 0, err
	}
	_, err = conn.ExecContext(ctx, "UPDATE semel_meta SET schema = MAX(schema, ?1), clock_ms = MAX(clock_ms, ?2) WHERE id = 1", latest, s.clock.Read(floor))
	return floor, err
}

// The pauses between two attempts to get a lock. One caller of a process asks
// at a time, so they can be short.
const (
	firstPause = 250 * time.Microsecond
	mostPause  = 5 * time.Millisecond
)

// untilFree repeats what another transaction is in the way of, until ctx ends.
func untilFree(ctx context.Context, try func() error) error {
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		err := try()
		if err == nil || !result.IsBusy(err) || result.IsStale(err) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}
