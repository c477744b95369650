package dbguard

import (
	"cmp"
	"context"
	"errors"

	"github.com/semel-dev/semel"
)

// ErrFenced says that a holder with a greater fence came after this one, whose
// lock or claim is lost. Nothing may be written in its name any more: roll back.
var ErrFenced = errors.New("dbguard: a later holder has taken over")

const fenceTableName = "semel_fence"

// FenceTable remembers the greatest fence with which each resource was written.
// The zero FenceTable is the table semel_fence. It has one row for each
// resource: delete it with the resource, once the resource has no writers.
type FenceTable struct {
	// Name is the table's name, which may be qualified. Default: semel_fence.
	Name string
}

func (t FenceTable) name() string { return cmp.Or(t.Name, fenceTableName) }

// Schema is the statement that makes the table where it is not there. Put it
// among the application's own migrations.
func (t FenceTable) Schema(d Dialect) (string, error) {
	return statementOf(d, t.name(), "fence_schema")
}

// Create makes the table where it is not there.
func (t FenceTable) Create(ctx context.Context, s Session) error {
	return wrap("create the table of fences", create(ctx, s, t.name(), "fence_schema"))
}

// Advance returns [ErrFenced] when the resource was written with a greater
// fence, and otherwise remembers this one. Until the transaction ends, other
// writers of the resource that use this function wait. It is for rows in another
// database than the lock or claim, whose fence may be any that only grows.
//
// The first write counts: as long as the new holder has written nothing, the
// old one's late write passes. So call it first in the transaction, before
// reading what the work decides by. On a pool it guards no write, and remembers
// at once: a new holder that does so shuts out the old one before it writes. All writers of a resource take their fences
// from one lock; the resource's name is 1 to 200 bytes of text.
//
// [ErrSerialization] means that the transaction has to run again: at REPEATABLE
// READ and above, where the fence was written after the transaction's snapshot,
// in PostgreSQL and in MariaDB with innodb_snapshot_isolation; and in MySQL by a
// deadlock, for one of two that wait while the first write of a new resource
// rolls back.
func (t FenceTable) Advance(ctx context.Context, tx Session, resource string, fence semel.Fence) error {
	mine, err := fence.Int64()
	if err != nil {
		return err
	}
	if err := checkLockName(resource); err != nil {
		return wrap("advance the fence", err)
	}
	affected, err := execVerb(ctx, tx, t.name(), "fence_advance", resource, mine)
	fenced := affected == 0
	if err == nil && tx.Dialect() == MySQL {
		var present int64
		_, err = queryVerb(ctx, tx, t.name(), "fence_seen", []any{resource}, &present)
		fenced = present > mine
	}
	if err == nil && fenced {
		return ErrFenced
	}
	return wrap("advance the fence", err)
}

// Fenced runs work in a transaction that begins with [FenceTable.Advance]: its
// writes count only when no later holder has written the resource through the
// same table.
func (t FenceTable) Fenced(ctx context.Context, db Database, resource string, fence semel.Fence, work func(ctx context.Context, tx Session) error) error {
	return db.InTx(ctx, func(ctx context.Context, tx Session) error {
		if err := t.Advance(ctx, tx, resource, fence); err != nil {
			return err
		}
		return work(ctx, tx)
	})
}
