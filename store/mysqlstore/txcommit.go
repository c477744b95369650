package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	sqldialect "github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/store/internal/txn"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Commit implements [txn.Open].
func (o *opened) Commit(ctx context.Context, c *txn.Claimed, v *semel.Settlement) (txn.End, error) {
	if c.Adopted {
		return o.commitAdopted(ctx, c, v)
	}
	if o.conn == nil {
		return o.commitPlain(ctx, c, v)
	}
	// Settlement and commit travel together.
	statements := []string{"RELEASE SAVEPOINT " + savepointName, "COMMIT"}
	settled := o.store.fits(v)
	if settled {
		statements = []string{statements[0], o.store.settleText(c.Params.Digest, c.Fence, v), statements[1]}
	} else if changed, err := o.store.settleIn(ctx, o.tx, c, v); err != nil || changed == 0 {
		return unsettled(err)
	}
	st := &roundTrip{statements: statements, ctx: ctx}
	err := o.commitWith(st)
	switch {
	case err == nil && settled && (len(st.rows) < len(statements) || st.rows[1] != 1):
		o.committed = true
		return txn.Gone, nil
	case number(err) == errNoSavepoint:
		return txn.Gone, nil
	}
	return ending(err)
}

// commitWith commits with a step, on a connection of this package.
func (o *opened) commitWith(st *roundTrip) error {
	o.conn.closing.Store(st)
	defer o.conn.closing.Store(nil)
	return o.tx.Commit()
}

// commitAdopted settles first, and commits only what that has changed.
func (o *opened) commitAdopted(ctx context.Context, c *txn.Claimed, v *semel.Settlement) (txn.End, error) {
	in := o.Place()
	_, _, err := in.runAll(ctx, "RELEASE SAVEPOINT "+savepointName)
	var changed int64
	if err == nil {
		changed, err = o.store.settle1(ctx, in, c, v)
	}
	switch {
	case number(err) == errNoSavepoint:
		return txn.Gone, nil
	case err != nil:
		return unsettled(err)
	case changed == 0:
		return txn.RolledBack, fmt.Errorf("%w: another attempt has the claim, or an operator settled it", semel.ErrLost)
	case o.conn == nil:
		return ending(o.commitBefore(ctx))
	}
	return ending(o.commitWith(&roundTrip{statements: []string{"COMMIT"}, ctx: ctx}))
}

// commitPlain sends settlement and commit one after the other.
func (o *opened) commitPlain(ctx context.Context, c *txn.Claimed, v *semel.Settlement) (txn.End, error) {
	changed, err := o.store.settle1(ctx, txHandle{execer: o.tx}, c, v)
	if err != nil || changed == 0 {
		return unsettled(err)
	}
	return ending(o.commitBefore(ctx))
}

// commitBefore commits, and gives up when ctx ends: database/sql has no context
// for it.
func (o *opened) commitBefore(ctx context.Context) error {
	tx, held := o.tx, o.held
	done := make(chan error, 1)
	if err := o.store.gate.Go("commit", func() {
		err := tx.Commit()
		if err != nil { // it may be open still: the server ends it with the connection
			discard(held)
		}
		_ = held.Close() // it only gives it back
		done <- err
	}); err != nil {
		return fmt.Errorf("%w: %w", semel.ErrRolledBack, err)
	}
	o.held = nil
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settle1 settles in an open transaction, and returns how many rows it changed.
func (s *Store) settle1(ctx context.Context, in txHandle, c *txn.Claimed, v *semel.Settlement) (changed int64, err error) {
	if !s.fits(v) {
		return s.settleIn(ctx, in.execer, c, v)
	}
	rows, _, err := in.runAll(ctx, s.settleText(c.Params.Digest, c.Fence, v))
	if err == nil && len(rows) == 1 {
		changed = rows[0]
	}
	return changed, err
}

// settleIn sends an outcome that is too large to be part of a text.
func (s *Store) settleIn(ctx context.Context, in Execer, c *txn.Claimed, v *semel.Settlement) (changed int64, err error) {
	res, err := in.ExecContext(ctx, s.tx.settle, txSettleArgs(c.Params.Digest, c.Fence, v)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// unsettled says what an error before the commit was sent means, or a claim that
// is gone.
func unsettled(err error) (txn.End, error) {
	switch {
	case errors.Is(err, sql.ErrTxDone):
		return txn.EndedByWork, nil
	case err == nil:
		return txn.Gone, nil
	}
	return txn.RolledBack, err
}

// ending says what the server's answer to COMMIT means.
func ending(err error) (txn.End, error) {
	switch {
	case errors.Is(err, sql.ErrTxDone):
		return txn.EndedByWork, nil
	case errors.Is(err, semel.ErrRolledBack):
		return txn.RolledBack, err
	case err != nil && !sqldialect.CommitUnknown(err):
		return txn.RolledBack, err
	}
	return txn.Committed, err // or in the middle of the commit
}

// Recover implements [txn.Open].
//
// On a connection of this package, everything since the transaction ended was
// rolled back by now. So if the claim is there, the work has committed it by SQL,
// with a part of the rows; otherwise the server has rolled back all of them. On
// another connection, each statement since then was committed on its own.
func (o *opened) Recover(ctx context.Context, c *txn.Claimed, v *semel.Settlement) error {
	if o.committed {
		return o.recordUnknown(ctx, c, v, "the rows were committed, but the record was gone (did the work, or another program, change the table?)")
	}
	ours := o.conn != nil
	unknown := semel.Settlement{State: semel.StateUnknown, Note: "the transaction ended under the work", Retention: v.Retention}
	if !ours {
		unknown = *v
	}
	err := o.store.Settle(ctx, c.Params.Digest, c.Fence, unknown)
	switch {
	case errors.Is(err, semel.ErrLost) && ours:
		return fmt.Errorf("%w: mysqlstore: commit: the server has rolled the transaction back on an error that the work did not return, or the work has by SQL", semel.ErrRolledBack)
	case errors.Is(err, semel.ErrLost):
		return o.recordUnknown(ctx, c, v, "the server has rolled the transaction back on an error that the work did not return, or the work has by SQL, and then went on")
	case err != nil:
		return err
	case ours:
		return fmt.Errorf("%w: mysqlstore: commit: the work has committed a part of its rows by SQL (CREATE, ALTER and the like commit as well); the record is unknown now", semel.ErrLost)
	}
	o.store.transactions.Warn(ctx, c, "the work committed the transaction itself by SQL (CREATE, ALTER and the like commit as well), its outcome was recorded after it")
	return nil
}

// recordUnknown records that the outcome is unknown, and why: the claim is gone.
// Either it was removed, and the rows were committed without it; or the
// transaction was rolled back under the work, and what that wrote from then on
// was committed on its own.
func (o *opened) recordUnknown(ctx context.Context, c *txn.Claimed, v *semel.Settlement, why string) error {
	m := txn.Mark{Params: c.Params, Settlement: semel.Settlement{State: semel.StateUnknown, Note: why, Retention: v.Retention}}
	m.Params.Owner = semel.Owner{} // a repetition of this commit must not take it for its own claim
	if err := (txDB{o.store}).Keep(ctx, &m); err != nil {
		return translate("commit", err)
	}
	return fmt.Errorf("%w: mysqlstore: commit: %s; the record is unknown now", semel.ErrLost, why)
}

// prepareTransactions must follow what makes the store.
func (s *Store) prepareTransactions() {
	s.transactions = txn.Transactions[txHandle]{DB: txDB{s}, Store: s, Name: s.gate.Name, Log: s.log, Timeout: resetTimeout}
}

// txDB implements [txn.DB].
type txDB struct{ store *Store }

// Enter implements [txn.DB].
func (d txDB) Enter(_ context.Context, act string) error { return d.store.gate.Enter(act, verb.Writes) }

// Leave implements [txn.DB].
func (d txDB) Leave() { d.store.gate.Leave() }

// Check implements [txn.DB].
func (d txDB) Check(v *semel.Settlement) error { return d.store.checkSettlement(v) }

// Keep implements [txn.DB].
func (d txDB) Keep(ctx context.Context, m *txn.Mark) error {
	rec, won, err := d.store.Claim(ctx, m.Params)
	if err != nil || !won {
		return err
	}
	return d.store.Settle(ctx, rec.Digest, rec.Fence, m.Settlement)
}

// Conflict implements [txn.DB].
func (txDB) Conflict(err error) bool { return isTxConflict(err) }

// Undone implements [txn.DB]. After a lock wait too, nothing but running the
// whole transaction again helps.
func (txDB) Undone(err error) bool { return isTxConflict(err) }

// Translate implements [txn.DB].
func (txDB) Translate(act string, err error) error { return translate(act, err) }
