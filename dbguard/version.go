package dbguard

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
)

// StaleError means that the row has changed since the caller read it, and which
// version it has by now. Nothing was changed. Read it again, and let the person or
// program decide again; do not repeat the change on the new version unasked.
type StaleError struct {
	Want, Have int64
}

// Error implements error.
func (e *StaleError) Error() string {
	return fmt.Sprintf("dbguard: the row has changed since it was read: it is at version %d, not %d; read it again", e.Have, e.Want)
}

// Is makes all of them one: errors.Is(err, new(dbguard.StaleError)).
func (*StaleError) Is(target error) bool {
	_, stale := target.(*StaleError)
	return stale
}

// Change is a change of one row, made only if the row has not changed since the
// caller read it.
type Change struct {
	Row Row
	// Version is the row's version when the caller read it.
	Version int64
	// Set lists the new values of columns.
	Set []Cell
	// VersionColumn is an integer column, NOT NULL. Default version.
	VersionColumn string

	// Key names the intent, so that a caller whose answer was lost can ask again:
	// then the change is a replay, not stale. It is remembered in Dedup or in
	// KeyColumn; without both of them Key must be zero, and a replay is a
	// [*StaleError].
	Key semel.Key
	// Fingerprint is that of what was asked with Key.
	Fingerprint semel.Fingerprint
	// Dedup remembers all keys, until they are swept. The change then belongs
	// into a transaction, and a key that was used for something else is
	// [semel.ErrMismatch].
	Dedup *Dedup
	// KeyColumn is a column of the row (bytea, binary(32) or BLOB, NULL at first)
	// that remembers the last key only: one statement and no transaction, but
	// when the row has changed again since, a replay is a [*StaleError], and so
	// is a key that was used for something else.
	KeyColumn string
}

// Changed is the result of a [Change].
type Changed struct {
	// Version is the one that the change made.
	Version int64
	// Replayed: the change was made before, by a request with the same key.
	Replayed bool
}

// UpdateVersion makes the change if the row still has its version, and then
// counts the version up, in one statement:
//
//	UPDATE … SET …, version = version + 1 WHERE id = 1 AND version = 7
//
// When that affects no row, it looks why: a replay of the same intent is a
// success, another caller's change is a [*StaleError], a missing row is [ErrNotFound].
//
// It is right where people or programs read a row, think, and write it back:
// forms, PUT with If-Match, caches. It is not right for counters and stock, on
// which many write at a time: most are refused and come again; there let one
// statement compute (balance = balance - 100), or lock ([LockRows], [Segments]).
// It protects against writers that use the version too, and no others.
//
// With Dedup, roll the transaction back when an error is returned. At REPEATABLE READ
// PostgreSQL ends a transaction that meets another's change with an error that
// [Retryable] knows.
func UpdateVersion(ctx context.Context, s Session, change Change) (Changed, error) {
	if err := change.check(); err != nil {
		return Changed{}, err
	}
	if err := checkEngine(ctx, s, change.Row.Table); err != nil {
		return Changed{}, err
	}
	if change.Dedup == nil {
		return change.update(ctx, s)
	}
	made, first, err := Once(ctx, change.Dedup, s, change.Key, change.Fingerprint, func(ctx context.Context) (int64, error) {
		changed, err := change.update(ctx, s)
		return changed.Version, err
	})
	if err != nil {
		return Changed{}, err
	}
	return Changed{Version: made, Replayed: !first}, nil
}

func (c *Change) check() error {
	if err := c.Row.check(); err != nil {
		return err
	}
	for _, cell := range c.Set {
		if cell.Column == "" || cell.Column == c.versionColumn() || cell.Column == c.KeyColumn {
			return fmt.Errorf("dbguard: a change does not set the column %q itself", cell.Column)
		}
	}
	switch {
	case c.Dedup != nil && c.KeyColumn != "":
		return errors.New("dbguard: a change remembers its key in Dedup or in KeyColumn, not in both")
	case c.Dedup == nil && c.KeyColumn == "" && c.Key != semel.Key{}:
		return errors.New("dbguard: a change with a key needs Dedup or KeyColumn to remember it")
	case c.KeyColumn != "":
		return c.Key.Validate()
	}
	return nil
}

func (c *Change) versionColumn() string { return cmp.Or(c.VersionColumn, "version") }

// mark returns the content of KeyColumn after this change: another key or
// fingerprint has another.
func (c *Change) mark() []byte {
	digest := c.Key.Digest()
	mark := semel.FingerprintOf(string(digest[:]), string(c.Fingerprint[:]))
	return mark[:]
}

// update is the one statement, and the look that follows when it did nothing.
func (c *Change) update(ctx context.Context, s Session) (Changed, error) {
	d := dialect.Dialect(s.Dialect())
	version := d.Quote(c.versionColumn())
	update := build(s.Dialect(), "UPDATE ").name(c.Row.Table).add(" SET " + version + " = " + version + " + 1")
	for _, cell := range c.Set {
		update.add(", ").column(cell.Column).add(" = ").value(cell.Value)
	}
	if c.KeyColumn != "" {
		update.add(", ").column(c.KeyColumn).add(" = ").value(c.mark())
	}
	update.add(" WHERE ").cells(c.Row.Key, " AND ").add(" AND " + version + " = ").value(c.Version)
	if c.KeyColumn != "" { // a caller that read the row again asks at the new version, and was answered before
		column := d.Quote(c.KeyColumn)
		update.add(" AND (" + column + " IS NULL OR " + column + " <> ").value(c.mark()).add(")")
	}
	n, err := update.exec(ctx, s)
	switch {
	case err != nil:
		return Changed{}, wrap("change the row", err)
	case n > 1:
		return Changed{}, fmt.Errorf("dbguard: %d rows of %s were changed: its key is not unique; roll back", n, c.Row.Table)
	case n == 1:
		return Changed{Version: c.Version + 1}, nil
	}
	return c.look(ctx, s)
}

// look finds out why no row was changed.
func (c *Change) look(ctx context.Context, s Session) (Changed, error) {
	var have int64
	var last []byte
	read, dest := build(s.Dialect(), "SELECT ").column(c.versionColumn()), []any{&have}
	if c.KeyColumn != "" {
		read.add(", ").column(c.KeyColumn)
		dest = append(dest, &last)
	}
	found, err := read.add(" FROM ").name(c.Row.Table).add(" WHERE ").cells(c.Row.Key, " AND ").current().first(ctx, s, dest...)
	switch {
	case err != nil:
		return Changed{}, wrap("look why no row was changed", err)
	case !found:
		return Changed{}, ErrNotFound
	case c.KeyColumn != "" && string(last) == string(c.mark()):
		return Changed{Version: have, Replayed: true}, nil
	}
	return Changed{}, &StaleError{Want: c.Version, Have: have}
}
