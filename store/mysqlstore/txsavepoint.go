package mysqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/txn"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Save implements [txn.DB].
func (txDB) Save(ctx context.Context, in txHandle, name string) error {
	if _, _, err := in.runAll(ctx, "SAVEPOINT "+name); err != nil {
		return translate("claim", err)
	}
	if !in.doubtful {
		return nil
	}
	// Outside of a transaction, a savepoint is gone as soon as it is set.
	_, _, err := in.runAll(ctx, "ROLLBACK TO SAVEPOINT "+name)
	switch {
	case number(err) == errNoSavepoint:
		return errors.New("mysqlstore: join: no transaction is open in the handle that was given (begin one, and hand over that)")
	case err != nil:
		return translate("claim", err)
	}
	return nil
}

// Undo implements [txn.DB].
func (txDB) Undo(ctx context.Context, in txHandle, name string) {
	_, _, _ = in.runAll(ctx, "ROLLBACK TO SAVEPOINT "+name)
}

// Claim implements [txn.DB].
func (d txDB) Claim(ctx context.Context, in txHandle, p *semel.ClaimParams, wait time.Duration) (rec semel.Record, won bool, err error) {
	k := seeker{store: d.store, params: p, deadline: time.Now().Add(wait)}
	rec, fence, err := k.seek(ctx, in)
	if err != nil || fence == 0 {
		return rec, false, err
	}
	return semel.Record{Fence: fence}, true, nil
}

// Settle implements [txn.DB]. The savepoint may stay: it ends with the
// transaction.
func (d txDB) Settle(ctx context.Context, in txHandle, c *txn.Claimed, v *semel.Settlement, _ string) error {
	changed, err := d.store.settle1(ctx, in, c, v)
	if err == nil && changed == 0 {
		return semel.ErrLost
	}
	return err
}

// seek claims in an open transaction, or returns the record in its
// way. A claim that waited takes another fence when it has the lock.
func (k *seeker) seek(ctx context.Context, in txHandle) (rec semel.Record, fence semel.Fence, err error) {
	for range rounds {
		sent := time.Now()
		_, ids, err := in.runAll(ctx, k.store.txClaim(k.params, k.old, k.patience)...)
		if err == nil && k.late(sent) {
			ids, err = k.store.refence(ctx, in, k.params, fenceOf(ids))
		}
		if err == nil {
			return rec, fenceOf(ids), nil
		}
		left := time.Until(k.deadline)
		switch {
		case number(err) == errDuplicateEntry:
		case isLockWait(err) && left > 0:
			k.patience = min(lockSlice, left)
			continue
		case isLockWait(err):
			return rec, 0, fmt.Errorf("%w: mysqlstore: claim: %w", semel.ErrInFlight, err)
		default:
			return rec, 0, translate("claim", err)
		}
		rec, err = k.store.findLocked(ctx, in.execer, k.params.Digest, max(left, 0))
		switch {
		case errors.Is(err, semel.ErrNotFound):
			k.old = nil
		case isLockWait(err):
			return rec, 0, fmt.Errorf("%w: mysqlstore: claim: %w", semel.ErrInFlight, err)
		case err != nil:
			return rec, 0, err
		case !verb.Absent(&rec):
			return rec, 0, nil
		default:
			k.old = &rec
		}
	}
	return rec, 0, fmt.Errorf("%w: mysqlstore: claim: %w again and again", semel.ErrInFlight, errChanged)
}
