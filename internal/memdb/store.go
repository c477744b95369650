package memdb

import (
	"context"
	"time"

	"github.com/semel-dev/semel"
)

// Claim implements [semel.Store]: it waits until no transaction works on the
// key, or takes it away from it, as [Options.Optimistic] says.
func (db *DB) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	if db.opts.Optimistic {
		db.mu.Lock()
		defer db.mu.Unlock()
		if tx := db.open[p.Digest]; tx != nil {
			if err := tx.undo(ctx); err != nil {
				return semel.Record{}, false, err
			}
			tx.lost = true
		}
		return db.inner.Claim(ctx, p)
	}
	if err := db.lockKey(ctx, p.Digest, -1); err != nil {
		return semel.Record{}, false, err
	}
	rec, won, err := db.inner.Claim(ctx, p)
	db.mu.Lock()
	defer db.mu.Unlock()
	db.unlockKey(p.Digest)
	return rec, won, err
}

// Renew implements [semel.Store].
func (db *DB) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.open[d] != nil {
		return semel.ErrLost
	}
	return db.inner.Renew(ctx, d, f, lease)
}

// Settle implements [semel.Store].
func (db *DB) Settle(ctx context.Context, d semel.Digest, f semel.Fence, s semel.Settlement) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	switch {
	case db.open[d] == nil:
		return db.inner.Settle(ctx, d, f, s)
	case s.State == semel.StateReleased:
		return nil
	}
	return semel.ErrLost
}

// Lookup implements [semel.Store].
func (db *DB) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.open[d] != nil {
		return semel.Record{}, semel.ErrNotFound
	}
	return db.inner.Lookup(ctx, d)
}

// Close closes the store below.
func (db *DB) Close() error { return db.inner.Close() }
