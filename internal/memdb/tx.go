package memdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

// noLease is the lease of a transaction's claim: it ends with the transaction.
const noLease = 10 * 365 * 24 * time.Hour

// Tx is one transaction.
type Tx struct {
	db     *DB
	pool   *pool
	digest semel.Digest
	fence  semel.Fence
	rows   []string
	locked bool // it holds the key's lock
	ended  bool // it holds no connection any more
	lost   bool // another claim took the key; guarded by db.mu
}

var _ semel.Tx = (*Tx)(nil)

type txKey struct{}

// TxFrom returns the transaction in which ctx works, or nil.
func TxFrom(ctx context.Context) *Tx {
	tx, _ := ctx.Value(txKey{}).(*Tx)
	return tx
}

// Transaction implements [semel.Transactor].
func (p *pool) Transaction(ctx context.Context) (semel.Tx, error) {
	if err := p.db.fault(Begin); err != nil {
		return nil, err
	}
	if tx := TxFrom(ctx); tx != nil && tx.ended {
		return nil, errors.New("memdb: the transaction around this one has ended")
	}
	select {
	case p.seats <- struct{}{}:
		return &Tx{db: p.db, pool: p}, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("memdb: wait for a connection: %w", ctx.Err())
	}
}

// Claim implements [semel.Tx].
func (tx *Tx) Claim(ctx context.Context, p semel.ClaimParams, wait time.Duration) (semel.Record, bool, error) {
	if err := tx.db.fault(Claim); err != nil {
		return semel.Record{}, false, err
	}
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	if err := tx.db.lockKey(ctx, p.Digest, wait); err != nil {
		return semel.Record{}, false, err
	}
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()
	p.TakeOver, p.Lease = 0, noLease
	rec, err := tx.db.inner.Lookup(ctx, p.Digest)
	won := false
	if errors.Is(err, semel.ErrNotFound) {
		rec, won, err = tx.db.inner.Claim(ctx, p)
	}
	if err != nil || !won {
		tx.db.unlockKey(p.Digest)
		return rec, false, err
	}
	tx.locked, tx.digest, tx.fence = true, p.Digest, rec.Fence
	tx.db.open[p.Digest] = tx
	return rec, true, nil
}

// Context implements [semel.Tx].
func (tx *Tx) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, txKey{}, tx)
}

// Commit implements [semel.Tx].
func (tx *Tx) Commit(ctx context.Context, s semel.Settlement) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := tx.db.fault(Commit); err != nil {
		return err
	}
	if err := tx.commit(ctx, s); err != nil {
		return err
	}
	return tx.db.fault(Committed)
}

// commit makes rows and record visible in one step.
func (tx *Tx) commit(ctx context.Context, s semel.Settlement) error {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()
	switch {
	case tx.ended || !tx.locked:
		return fmt.Errorf("memdb: %w: it had ended", semel.ErrRolledBack)
	case tx.lost:
		return semel.ErrLost
	}
	if err := tx.db.inner.Settle(ctx, tx.digest, tx.fence, s); err != nil {
		return err
	}
	tx.db.rows = append(tx.db.rows, tx.rows...)
	delete(tx.db.open, tx.digest)
	tx.db.unlockKey(tx.digest)
	tx.locked = false
	return nil
}

// Conflict implements [semel.Tx].
func (tx *Tx) Conflict(err error) bool { return errors.Is(err, ErrConflict) }

// Rollback implements [semel.Tx].
func (tx *Tx) Rollback() error {
	if tx.ended {
		return nil
	}
	tx.ended = true
	defer func() { <-tx.pool.seats }()
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()
	if !tx.locked {
		return nil
	}
	tx.locked = false
	var err error
	if !tx.lost {
		err = tx.undo(context.Background())
	}
	tx.db.unlockKey(tx.digest)
	return err
}

// undo takes the claim back. db.mu is held.
func (tx *Tx) undo(ctx context.Context) error {
	delete(tx.db.open, tx.digest)
	return tx.db.inner.Settle(ctx, tx.digest, tx.fence, semel.Settlement{State: semel.StateReleased})
}
