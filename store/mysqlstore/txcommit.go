package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"

	"github.com/semel-dev/semel"
)

// Commit implements [semel.Tx].
func (t *transaction) Commit(ctx context.Context, v semel.Settlement) error {
	if err := t.store.checkEnd(&v); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended != nil:
		return t.ended
	case t.opened == nil:
		return errNoClaim
	}
	if t.opened.conn != nil {
		return t.commit(ctx, &v)
	}
	return t.commitPlain(ctx, &v)
}

// checkEnd refuses what a transaction does not end as.
func (s *Store) checkEnd(v *semel.Settlement) error {
	if err := s.checkSettlement(v); err != nil {
		return err
	}
	if v.State != semel.StateCompleted && v.State != semel.StateUnknown {
		return fmt.Errorf("mysqlstore: commit: a transaction is not settled as %v", v.State)
	}
	return nil
}

// commit sends the settlement and the commit together.
func (t *transaction) commit(ctx context.Context, v *semel.Settlement) error {
	o := t.opened
	statements := []string{"RELEASE SAVEPOINT " + savepointName, "COMMIT"}
	settled := t.store.fits(v)
	if settled {
		statements = []string{statements[0], t.store.settleText(t.params.Digest, t.fence, v), statements[1]}
	} else if changed, err := t.store.settleIn(ctx, o.tx, t.params.Digest, t.fence, v); err != nil || changed == 0 {
		return t.unsettled(ctx, v, err)
	}
	st := &step{statements: statements, ctx: ctx}
	o.conn.closing.Store(st)
	err := o.tx.Commit()
	o.conn.closing.Store(nil)
	switch n := number(err); {
	case err == nil && settled && (len(st.rows) < len(statements) || st.rows[1] != 1):
		t.store.keepMarks(ctx, t.end(errCommitted))
		return t.recordUnknown(ctx, v, "the rows were committed, but the record was gone (did the work, or another program, change the table?)")
	case err == nil:
		t.end(errCommitted)
		return nil
	case n == errNoSavepoint:
		return t.endedUnder(ctx, v)
	case errors.Is(err, sql.ErrTxDone):
		return t.endedByWork(ctx, v)
	}
	return t.answered(ctx, err)
}

// commitPlain sends settlement and commit one after the other.
func (t *transaction) commitPlain(ctx context.Context, v *semel.Settlement) error {
	o := t.opened
	var changed int64
	var err error
	if t.store.fits(v) {
		var rows []int64
		rows, _, err = place{execer: o.tx}.run(ctx, t.store.settleText(t.params.Digest, t.fence, v))
		if err == nil {
			changed = rows[0]
		}
	} else {
		changed, err = t.store.settleIn(ctx, o.tx, t.params.Digest, t.fence, v)
	}
	if err != nil || changed == 0 {
		return t.unsettled(ctx, v, err)
	}
	err = t.commitBefore(ctx)
	if errors.Is(err, sql.ErrTxDone) {
		return t.endedByWork(ctx, v)
	}
	return t.answered(ctx, err)
}

// commitBefore commits, and gives up when ctx ends: database/sql has no context
// for it.
func (t *transaction) commitBefore(ctx context.Context) error {
	if err := t.store.begin(); err != nil {
		return fmt.Errorf("%w: %w", semel.ErrRolledBack, err)
	}
	tx, held := t.opened.tx, t.opened.held
	t.opened.held = nil
	done := make(chan error, 1)
	go func() {
		defer t.store.end()
		err := tx.Commit()
		if err != nil { // it may be open still: the server ends it with the connection
			discard(held)
		}
		_ = held.Close() // it only gives it back
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settleIn sends an outcome that is too large to be part of a text.
func (s *Store) settleIn(ctx context.Context, in Execer, d semel.Digest, f semel.Fence, v *semel.Settlement) (changed int64, err error) {
	res, err := in.ExecContext(ctx, s.tx.settle, txSettleArgs(d, f, v)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// unsettled is what an error before the commit was sent means, or a claim that
// is not there.
func (t *transaction) unsettled(ctx context.Context, v *semel.Settlement, err error) error {
	switch {
	case errors.Is(err, sql.ErrTxDone):
		return t.endedByWork(ctx, v)
	case err == nil:
		return t.endedUnder(ctx, v)
	}
	return t.refused(ctx, err)
}

// answered is what the server's answer to COMMIT means.
func (t *transaction) answered(ctx context.Context, err error) error {
	switch number(err) {
	case 0, errInterrupted, errKilled, errShutdown, errStatementTime, errCommit:
		// It may have been in the middle of the commit.
	default:
		return t.refused(ctx, err)
	}
	if errors.Is(err, semel.ErrRolledBack) {
		return t.refused(ctx, err)
	}
	marks := t.end(errCommitted)
	if err == nil {
		return nil
	}
	t.store.keepMarks(ctx, marks) // what was committed is there already
	return translate("commit", err)
}

// refused ends a transaction that has not been committed, and will not be.
func (t *transaction) refused(ctx context.Context, err error) error {
	err = fmt.Errorf("%w: %w", semel.ErrRolledBack, translate("commit", err))
	t.store.keepMarks(ctx, t.end(err))
	return err
}

// endedByWork settles the record in a transaction of its own, after the work
// has called Commit itself: the claim was committed with the rows.
func (t *transaction) endedByWork(ctx context.Context, v *semel.Settlement) error {
	marks := t.end(errCommitted)
	err := t.store.Settle(ctx, t.params.Digest, t.fence, *v)
	switch {
	case errors.Is(err, semel.ErrLost):
		t.ended = fmt.Errorf("%w: mysqlstore: commit: the work has ended the transaction itself (it must call neither Commit nor Rollback)", semel.ErrRolledBack)
		t.store.keepMarks(ctx, marks)
		return t.ended
	case err == nil:
		t.warn(ctx, "the work committed the transaction itself, its outcome was recorded after it")
	}
	return err
}

// endedUnder deals with a transaction that has ended under the work.
//
// On a connection of this package, everything since then was rolled back by
// now. So if the claim is there, the work has committed it by SQL, with a part
// of the rows; otherwise the server has rolled back all of them. On another
// connection, each statement since then was committed by itself.
func (t *transaction) endedUnder(ctx context.Context, v *semel.Settlement) error {
	ours := t.opened.conn != nil
	marks := t.end(fmt.Errorf("%w: mysqlstore: commit: it has ended under the work", semel.ErrRolledBack))
	defer t.store.keepMarks(ctx, marks)
	unknown := semel.Settlement{State: semel.StateUnknown, Note: "the transaction ended under the work", Retention: v.Retention}
	if !ours {
		unknown = *v
	}
	err := t.store.Settle(ctx, t.params.Digest, t.fence, unknown)
	switch {
	case errors.Is(err, semel.ErrLost) && ours:
		return fmt.Errorf("%w: mysqlstore: commit: the server has rolled the transaction back on an error that the work did not return, or the work has by SQL", semel.ErrRolledBack)
	case errors.Is(err, semel.ErrLost):
		return t.recordUnknown(ctx, v, "the server has rolled the transaction back on an error that the work did not return, or the work has by SQL, and then went on")
	case err != nil:
		return err
	case ours:
		return fmt.Errorf("%w: mysqlstore: commit: the work has committed a part of its rows by SQL (CREATE, ALTER and the like commit, too); the record is unknown now", semel.ErrLost)
	}
	t.warn(ctx, "the work committed the transaction itself by SQL (CREATE, ALTER and the like commit, too), its outcome was recorded after it")
	return nil
}

// recordUnknown records that nobody can tell what happened, and why: the claim is
// gone. Either it was removed, and the rows were committed without it; or the
// transaction was rolled back under the work, and what that wrote from then on
// was committed by itself.
func (t *transaction) recordUnknown(ctx context.Context, v *semel.Settlement, why string) error {
	p := t.params
	p.Owner = semel.Owner{} // somebody else's, to whoever asks for this commit
	unknown := semel.Settlement{State: semel.StateUnknown, Note: why, Retention: v.Retention}
	if err := t.store.keepMark(ctx, mark{p, unknown}); err != nil {
		return translate("commit", err)
	}
	return fmt.Errorf("%w: mysqlstore: commit: %s; the record is unknown now", semel.ErrLost, why)
}

func (t *transaction) warn(ctx context.Context, text string) {
	t.store.log.LogAttrs(ctx, slog.LevelWarn, text, slog.String("digest", t.params.Digest.String())) //nolint:sloglint // the callers' texts are static.
}

func (s *Store) logLost(ctx context.Context, m mark, err error) {
	s.log.LogAttrs(ctx, slog.LevelError, "what became unknown in a transaction that was rolled back could not be recorded",
		slog.String("digest", m.params.Digest.String()), slog.Any("error", err))
}
