package sqlitestore

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/semel-dev/semel/store/internal/verb"
)

// applicationID marks our files in SQLite's header: "Seml". Any other
// database is refused, so that a wrong path never ends in a changed file.
const applicationID = 0x53656d6c

//go:embed migrations/*.sql
var migrations embed.FS

// SchemaVersion returns the number of the newest schema that this package reads and writes.
func SchemaVersion() (int, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	return len(names), err
}

// identify returns the schema of the file: 0 for a file that is still empty.
// It changes nothing. It reads more than once, so it needs a transaction:
// another process may be about to migrate the file.
func identify(ctx context.Context, c *conn) (schema int, err error) {
	id, err := c.number(ctx, "PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	version, err := c.number(ctx, "PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	tables, err := c.number(ctx, "SELECT COUNT(*) FROM sqlite_schema")
	if err != nil {
		return 0, err
	}
	switch {
	case id == applicationID:
		return int(version), nil
	case id == 0 && version == 0 && tables == 0:
		return 0, nil
	}
	return 0, fmt.Errorf("this SQLite database belongs to another application (id %#x); it was left as it is, name another file", id)
}

// migrate brings the file to the latest schema, one transaction for all steps.
// Several processes may do it at once: the lock is taken first, then the
// schema is read.
func migrate(ctx context.Context, c *conn) error {
	if err := c.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := migrateLocked(ctx, c); err != nil {
		rollback(ctx, c)
		return err
	}
	return c.exec(ctx, "COMMIT")
}

func migrateLocked(ctx context.Context, c *conn) error {
	latest, err := SchemaVersion()
	if err != nil {
		return err
	}
	schema, err := identify(ctx, c)
	if err != nil || schema >= latest {
		return err
	}
	if err := verb.Migrate(migrations, schema, func(script string) error { return c.exec(ctx, script) }); err != nil {
		return err
	}
	return c.exec(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, latest))
}

// checkSchema refuses what this program cannot work with. A file that is only
// read is not migrated.
func checkSchema(path string, schema, latest int, readOnly bool) error {
	switch {
	case schema > latest:
		return fmt.Errorf("sqlitestore: %s is at schema %d, this program knows up to %d (run a newer semel, or name another file)", path, schema, latest)
	case readOnly && schema == 0:
		return fmt.Errorf("sqlitestore: %s holds no records yet (open it once for writing)", path)
	case readOnly && schema < latest:
		return fmt.Errorf("sqlitestore: %s is at schema %d, want %d (open it once for writing to migrate it)", path, schema, latest)
	}
	return nil
}

// rollback ends the transaction. Its only error is that there is none: a full
// disk or a failing one has ended it already.
func rollback(ctx context.Context, c *conn) {
	_ = c.exec(context.WithoutCancel(ctx), "ROLLBACK")
}
