package sqlitetx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/txn"
	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
)

// txHandle is an open transaction in which statements are run.
type txHandle struct {
	sqlSession
	tx  *sql.Tx // what the work gets; nil where the caller's handle is another one
	own bool    // the store has begun it, so it holds the write lock
}

// txDB implements [txn.DB].
type txDB struct{ store *Store }

// Enter implements [txn.DB].
func (d txDB) Enter(ctx context.Context, act string) error { return d.store.begun(ctx, act) }

// Leave implements [txn.DB].
func (d txDB) Leave() { d.store.gate.Leave() }

// Check implements [txn.DB].
func (txDB) Check(v *semel.Settlement) error { return names.Settlement(v) }

// Save implements [txn.DB].
func (d txDB) Save(ctx context.Context, in *txHandle, savepoint string) error {
	ctx = context.WithoutCancel(ctx)
	err := d.mustBeOpen(ctx, in)
	if err == nil {
		_, err = in.ExecContext(ctx, "SAVEPOINT "+savepoint)
	}
	return d.refused(err)
}

// mustBeOpen refuses a handle without an open transaction, such as a pool: its
// statements would be committed one by one. SQLite has no query for that, but it
// refuses this pragma, which changes nothing, inside of a transaction only.
func (d txDB) mustBeOpen(ctx context.Context, in *txHandle) error {
	if _, err := in.ExecContext(ctx, fmt.Sprintf("PRAGMA synchronous = %d", d.store.synchronous)); err != nil {
		return nil //nolint:nilerr // this is SQLite's refusal; if something else is wrong, the next statement fails.
	}
	return errors.New("the handle has no open transaction (begin one, and pass its handle; or SQLite has ended it on an error)")
}

// Undo implements [txn.DB]. Its only error is that the savepoint is gone:
// SQLite has rolled back the transaction.
func (txDB) Undo(ctx context.Context, in *txHandle, savepoint string) {
	ctx = context.WithoutCancel(ctx)
	_, _ = in.ExecContext(ctx, "ROLLBACK TO "+savepoint)
	_, _ = in.ExecContext(ctx, "RELEASE "+savepoint)
}

// Claim implements [txn.DB].
func (d txDB) Claim(ctx context.Context, in *txHandle, p *semel.ClaimParams, wait time.Duration) (rec semel.Record, won bool, err error) {
	t := d.store.writeStep(in.sqlSession)
	if err = d.lock(ctx, &t, in, wait); err == nil {
		rec, won, err = t.claim(ctx, p)
	}
	return rec, won, d.refused(err)
}

// lock takes the write lock, which only a transaction of the caller's may lack.
func (txDB) lock(ctx context.Context, t *writeStep, in *txHandle, wait time.Duration) error {
	if in.own {
		return t.lock(context.WithoutCancel(ctx))
	}
	return atOnce(ctx, in, func(ctx context.Context) error {
		until, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		err := untilFree(until, func() error { return t.lock(context.WithoutCancel(ctx)) })
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	})
}

// refused explains why a claim inside of a transaction failed.
func (d txDB) refused(err error) error {
	switch {
	case err == nil:
		return nil
	case result.IsStale(err):
		return fmt.Errorf("sqlitetx: claim: the transaction reads what others have overwritten (roll it back and begin again, with BEGIN IMMEDIATE or by joining first): %w", err)
	case result.IsBusy(err):
		return fmt.Errorf("%w: %w: %w", semel.ErrInFlight, errBusy, err)
	}
	return d.store.translate("claim", err)
}

// Settle implements [txn.DB].
func (d txDB) Settle(ctx context.Context, in *txHandle, c *txn.Claimed, v *semel.Settlement, savepoint string) error {
	ctx = context.WithoutCancel(ctx)
	t := d.store.writeStep(in.sqlSession)
	t.Now = d.store.clock.Read(0)
	err := t.Complete(ctx, c.Params.Digest, c.Fence, v)
	if err == nil && savepoint != "" {
		_, err = in.ExecContext(ctx, "RELEASE "+savepoint)
	}
	return err
}

// Keep implements [txn.DB]. A transaction may end after Close, so it needs no open store.
func (d txDB) Keep(ctx context.Context, m *txn.Mark) error {
	w, err := d.store.begin(ctx, m.Params.Digest, d.store.busy)
	if err != nil {
		return err
	}
	defer w.Close()
	rec, won, err := w.claim(ctx, &m.Params)
	if err != nil || !won {
		return err
	}
	if err := w.Settle(context.WithoutCancel(ctx), rec.Digest, rec.Fence, &m.Settlement); err != nil {
		return err
	}
	return w.sendCommit(ctx)
}

// Conflict implements [txn.DB].
func (txDB) Conflict(err error) bool { return result.IsBusy(err) }

// Undone implements [txn.DB]: only the whole transaction's own end can tell.
func (txDB) Undone(error) bool { return false }

// Translate implements [txn.DB].
func (d txDB) Translate(act string, err error) error { return d.store.translate(act, err) }
