package dbguard

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dialect"
)

// ErrFenced says that a holder with a greater fence came after this one, whose
// lock or claim is lost. Nothing may be written in its name any more: roll back.
var ErrFenced = errors.New("dbguard: a later holder has taken over")

const (
	fenceTableName = "semel_fence"
)

// CheckFence answers [ErrFenced] when somebody has taken the lock since the
// fence was given, and otherwise sees to it that nobody does before the
// transaction ends: a taker waits for that. So what the transaction writes is
// written within the lock, however long its holder stood still.
//
// It is for locks of a [LockTable] in the same database (this one for the table
// semel_lock), and tx is the transaction that writes ([ErrNoTransaction] for a
// pool). Call it first in the transaction: at REPEATABLE READ or above, a renewal between the snapshot and
// the check makes PostgreSQL refuse with a serialization error. In PostgreSQL
// and MySQL the lock is renewed while the transaction runs; in SQLite, where
// one writes at a time, a transaction that is longer than the lease costs the
// lock, though what it writes is still right.
//
// Where the lock is elsewhere, as in Redis, use [AdvanceFence].
func CheckFence(ctx context.Context, tx Session, name string, fence semel.Fence) error {
	return LockTable{}.CheckFence(ctx, tx, name, fence)
}

// FenceTable remembers the greatest fence with which each resource was written.
// The zero FenceTable is the table semel_fence. It has one row for each
// resource: delete it with the resource, when nobody can write that any more.
type FenceTable struct {
	// Name is the table's name, which may be qualified. Default: semel_fence.
	Name string
}

func (t FenceTable) name() string { return cmp.Or(t.Name, fenceTableName) }

// Schema is the statement that makes the table where it is not there. Put it
// among the application's own migrations.
func (t FenceTable) Schema(d dialect.Dialect) (string, error) {
	return statementOf(d, t.name(), "fence_schema")
}

// Create makes the table where it is not there.
func (t FenceTable) Create(ctx context.Context, s Session) error {
	if _, err := execVerb(ctx, s, t.name(), "fence_schema"); err != nil {
		return fmt.Errorf("create the table of fences: %w", err)
	}
	return nil
}

// AdvanceFence is [FenceTable.Advance] in the table semel_fence.
func AdvanceFence(ctx context.Context, tx Session, resource string, fence semel.Fence) error {
	return FenceTable{}.Advance(ctx, tx, resource, fence)
}

// Advance answers [ErrFenced] when the resource was written with a greater
// fence, and otherwise remembers this one. Until the transaction ends, whoever
// else writes the resource by this function waits. It is for rows in another
// database than the lock or claim, whose fence may be any that only grows.
//
// The first write counts: as long as the new holder has written nothing, the
// old one's late write passes. So call it first in the transaction, before
// reading what the work decides by. On a pool it guards no write, and remembers
// at once: a new holder that does so shuts out the old one before it writes. All writers of a resource take their fences
// from one lock; the resource's name is 1 to 200 bytes of text.
//
// In MySQL, when the first write of a new resource rolls back while two others
// wait for it, one of these is told of a deadlock: run its transaction again.
func (t FenceTable) Advance(ctx context.Context, tx Session, resource string, fence semel.Fence) error {
	mine, err := fence.Int64()
	if err != nil {
		return err
	}
	if err := checkLockName(resource); err != nil {
		return fmt.Errorf("advance the fence: %w", err)
	}
	affected, err := execVerb(ctx, tx, t.name(), "fence_advance", resource, mine)
	if err != nil {
		return fmt.Errorf("advance the fence: %w", err)
	}
	if tx.Dialect() != dialect.MySQL {
		if affected == 0 {
			return ErrFenced
		}
		return nil
	}
	var present int64
	if _, err := queryVerb(ctx, tx, t.name(), "fence_seen", []any{resource}, &present); err != nil {
		return fmt.Errorf("advance the fence: %w", err)
	}
	if present > mine {
		return ErrFenced
	}
	return nil
}

// Fenced runs work in a transaction that begins with [AdvanceFence]: its writes
// count only when no later holder has written the resource by this function or
// that one.
func Fenced(ctx context.Context, db Database, resource string, fence semel.Fence, work func(ctx context.Context, tx Session) error) error {
	return db.InTx(ctx, func(ctx context.Context, tx Session) error {
		if err := AdvanceFence(ctx, tx, resource, fence); err != nil {
			return err
		}
		return work(ctx, tx)
	})
}
