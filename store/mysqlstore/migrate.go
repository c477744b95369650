package mysqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
)

// lockSeconds limits one request for the lock; it is repeated
// until the context ends.
const lockSeconds = 1

// migrate takes the missing steps. Several processes may do it at once: one
// does, the others wait. A step that a crash cut off is taken again.
func (s *Store) migrate(ctx context.Context) (err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return translate("migrate", err)
	}
	defer func() { // The pool would keep the lock for as long as it keeps the connection.
		if bad := conn.Raw(func(any) error { return driver.ErrBadConn }); !errors.Is(bad, driver.ErrBadConn) {
			err = errors.Join(err, bad, conn.Close())
		}
	}()
	lock, err := s.lock(ctx, conn)
	if err != nil {
		return err
	}
	defer func() {
		// So that others need not wait for the server to notice that the connection is closed.
		//semel:safe the connection is closed behind it, not given back to the pool, and gives back the lock
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK(?)", lock)
	}()
	steps, err := s.dialect.migrations()
	if err != nil {
		return err
	}
	schema, err := s.schema(ctx, conn)
	if err != nil {
		return translate("read the schema", err)
	}
	for _, step := range steps[min(schema, len(steps)):] {
		for _, statement := range step.Statements {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return translate("migrate to schema "+step.Name, err)
			}
		}
	}
	return nil
}

// lock takes the lock of these tables, whose name is one of the whole server.
func (s *Store) lock(ctx context.Context, conn *sql.Conn) (name string, err error) {
	var database sql.NullString
	if err := conn.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&database); err != nil {
		return "", translate("migrate", err)
	}
	name = lockName(database.String, s.dialect.names.Replace("{{migration}}"))
	for {
		var got sql.NullInt64
		//semel:safe a second lock of the same connection goes with it: migrate closes it
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", name, lockSeconds).Scan(&got); err != nil {
			return "", translate("wait for another migration", err)
		}
		if got.Int64 == 1 {
			return name, nil
		}
		if err := ctx.Err(); err != nil {
			return "", fmt.Errorf("mysqlstore: wait for another migration: %w", err)
		}
	}
}

// lockName is short enough for MySQL whatever the names are.
func lockName(database, table string) string {
	sum := sha256.Sum256([]byte(database + "." + table))
	return "semel_migrate_" + hex.EncodeToString(sum[:16])
}
