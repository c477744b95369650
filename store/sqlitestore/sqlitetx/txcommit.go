package sqlitetx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/txn"
	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
	"github.com/semel-dev/semel/store/sqlitestore/internal/table"
)

// Place implements [txn.Open].
func (w *writing) Place() *txHandle { return &w.in }

// Fence implements [txn.Open].
func (w *writing) Fence() semel.Fence { return w.fence }

// Commit implements [txn.Open].
func (w *writing) Commit(ctx context.Context, c *txn.Claimed, v *semel.Settlement) (txn.End, error) {
	ctx = context.WithoutCancel(ctx)
	w.Now = w.store.clock.Read(w.Now)
	if c.Adopted {
		if end, err := w.hold(ctx, c); end != txn.Committed {
			return end, err
		}
	}
	err := w.Complete(ctx, c.Params.Digest, c.Fence, v)
	switch {
	case errors.Is(err, sql.ErrTxDone):
		return txn.EndedByWork, nil
	case errors.Is(err, semel.ErrLost):
		return txn.Gone, nil
	case err != nil:
		return txn.RolledBack, err
	}
	err = w.sendCommit(ctx)
	switch result.Primary(result.Code(err)) {
	case result.Busy, result.Locked, result.Full, result.TooBig, result.Constraint:
		return txn.RolledBack, err
	}
	return txn.Committed, err
}

// hold reports, by txn.Committed, that the transaction is still open and the claim that it adopted is still there.
func (w *writing) hold(ctx context.Context, c *txn.Claimed) (txn.End, error) {
	if _, err := w.in.ExecContext(ctx, "RELEASE "+adopting); err != nil { // there is none, so the transaction is another one
		return txn.Gone, nil //nolint:nilerr // Gone says so.
	}
	rec, err := table.Find(ctx, w, c.Params.Digest, w.Now)
	if err == nil && (rec.State != semel.StateClaimed || rec.Fence != c.Fence) {
		err = semel.ErrNotFound
	}
	if errors.Is(err, semel.ErrNotFound) {
		err = fmt.Errorf("%w: another attempt has the claim, or an operator settled it", semel.ErrLost)
	}
	if err != nil {
		return txn.RolledBack, err
	}
	return txn.Committed, nil
}

// Recover implements [txn.Open]. It records that the outcome is unknown: the
// claim is gone, because SQLite ended the transaction on an error that the work
// did not return. What it wrote from then on was committed statement by statement.
func (w *writing) Recover(ctx context.Context, c *txn.Claimed, v *semel.Settlement) error {
	m := txn.Mark{Params: c.Params, Settlement: semel.Settlement{
		State: semel.StateUnknown, Note: "SQLite ended the transaction, the work went on", Retention: v.Retention,
	}}
	m.Params.Owner = semel.Owner{} // a repetition of this commit must not take it for its own claim
	if err := (txDB{w.store}).Keep(context.WithoutCancel(ctx), &m); err != nil {
		return w.store.translate("commit", err)
	}
	return fmt.Errorf("%w: sqlitetx: commit: SQLite ended the transaction on an error which the work did not return; the record is unknown now", semel.ErrLost)
}

// Close implements [txn.Open]. It rolls back what was not committed, and lets
// the next one write. After a commit the rollback has nothing to do, and says so.
func (w *writing) Close() {
	if w.in.tx != nil {
		_ = w.in.tx.Rollback()
	}
	if w.conn != nil {
		_ = w.conn.Close()
	}
	w.store.seat.leave(w.digest)
}
