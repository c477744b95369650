package dbguard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

const (
	lockTableName = "semel_lock"
	// minLockIdle is the shortest time a name is unused before it is forgotten: a
	// clock that is set back by less gives no fence twice.
	minLockIdle = time.Hour
)

// LockTable is a table of locks in a database. The zero LockTable is the table
// semel_lock. A [Locker] works on it by [LockTable.On]:
//
//	locker := dbguard.NewLocker(dbguard.LockTable{}.On(db))
//
// Every name that was ever locked has a row, until [LockTable.Sweep].
type LockTable struct {
	// Name is the table's name, which may be qualified: billing.locks.
	// Default: semel_lock.
	Name string
}

func (t LockTable) name() string { return cmp.Or(t.Name, lockTableName) }

// Schema is the statement that makes the table where it is not there. Put it
// among the application's own migrations.
func (t LockTable) Schema(d Dialect) (string, error) {
	return statementOf(d, t.name(), "lock_schema")
}

// Create makes the table where it is not there.
func (t LockTable) Create(ctx context.Context, s Session) error {
	return wrap("create the table of locks", create(ctx, s, t.name(), "lock_schema"))
}

// Sweep forgets names that were last locked longer ago than idle, at most limit
// of them, and returns how many; call it again while it forgets as many as
// it may. It reads the whole table. Fences go on growing: a name that comes
// back begins with the time as its fence. Idle is at least an hour, and longer
// than the database's clock may ever be set back.
func (t LockTable) Sweep(ctx context.Context, s Session, idle time.Duration, limit int) (int64, error) {
	if idle < minLockIdle || limit < 1 {
		return 0, fmt.Errorf("dbguard: sweep locks: idle is %v and limit %d, want at least %v and 1", idle, limit, minLockIdle)
	}
	args := []any{idle.Microseconds(), limit}
	if s.Dialect() == MySQL {
		args = []any{idle.Microseconds(), idle.Microseconds(), limit}
	}
	n, err := execVerb(ctx, s, t.name(), "lock_sweep", args...)
	return n, wrap("sweep locks", err)
}

// On is the store of a [Locker] in this table. The session is a pool: each
// statement must commit on its own.
func (t LockTable) On(pool Session) LockStore { return lockTableStore{t.name(), pool} }

var _ LockStore = lockTableStore{}

type lockTableStore struct {
	table string
	pool  Session
}

// Acquire implements [LockStore].
func (s lockTableStore) Acquire(ctx context.Context, name string, owner semel.Owner, lease time.Duration) (semel.Fence, bool, error) {
	args := []any{name, owner[:], lease.Microseconds()}
	var fence int64
	if s.pool.Dialect() != MySQL {
		won, err := queryVerb(ctx, s.pool, s.table, "lock_acquire", args, &fence)
		return semel.Fence(fence), won, err //nolint:gosec // a time, not negative.
	}
	changed, err := execVerb(ctx, s.pool, s.table, "lock_acquire", args...)
	if err != nil || changed == 0 {
		return 0, false, err
	}
	won, err := queryVerb(ctx, s.pool, s.table, "lock_mine", args[:2], &fence)
	return semel.Fence(fence), won, err //nolint:gosec // a time, not negative.
}

// Renew implements [LockStore].
func (s lockTableStore) Renew(ctx context.Context, name string, owner semel.Owner, lease time.Duration) (bool, error) {
	changed, err := execVerb(ctx, s.pool, s.table, "lock_renew", lease.Microseconds(), name, owner[:])
	return changed > 0, err
}

// Release implements [LockStore].
func (s lockTableStore) Release(ctx context.Context, name string, owner semel.Owner) (bool, error) {
	changed, err := execVerb(ctx, s.pool, s.table, "lock_release", name, owner[:])
	return changed > 0, err
}

// CheckFence returns [ErrFenced] when another holder has taken the lock since the
// fence was issued. Otherwise no one can take the lock before the transaction
// ends: a taker waits for that. Everything the transaction writes is therefore
// written under the lock, however long its holder was suspended.
//
// The lock and the rows are in the same database, and tx is the transaction that
// writes ([ErrNoTransaction] for a pool). Call it first in the transaction: at
// REPEATABLE READ or above, a renewal between the snapshot and the check makes
// PostgreSQL refuse with [ErrSerialization]. In PostgreSQL and MySQL the lock is
// renewed while the transaction runs; in SQLite, which has one writer at a time,
// a transaction longer than the lease costs the lock, though its writes are still
// right.
//
// For a lock kept elsewhere, such as in Redis, use [FenceTable.Advance].
func (t LockTable) CheckFence(ctx context.Context, tx Session, name string, fence semel.Fence) error {
	mine, err := fence.Int64()
	if err = errors.Join(err, inTransaction(tx)); err != nil {
		return err
	}
	var present int64
	found, err := queryVerb(ctx, tx, t.name(), "fence_check", []any{name}, &present)
	switch {
	case err != nil:
		return fmt.Errorf("check the fence: %w", err)
	case !found || present > mine:
		return ErrFenced
	case present < mine:
		return errors.New("dbguard: check the fence: it is greater than the lock's own: name the lock and the table that it is of")
	}
	return nil
}
