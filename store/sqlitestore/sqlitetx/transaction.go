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

// Transactor opens transactions of the store's database, for
// [semel.Guard.BeginTx] and for middleware. Inside of a transaction of this
// store, with its context, they are savepoints of that one.
func (s *Store) Transactor() semel.Transactor { return transactor{s} }

type transactor struct{ store *Store }

// Transaction implements [semel.Transactor]. It takes nothing yet: Claim takes
// a place in the queue for the file's only writer, and then a connection.
func (t transactor) Transaction(ctx context.Context) (semel.Tx, error) {
	s := t.store
	if err := s.begun(ctx, "open a transaction"); err != nil {
		return nil, err
	}
	defer s.gate.Leave()
	if outer := s.transactions.WorkOf(ctx); outer != nil {
		return s.transactions.Within(outer), nil
	}
	return s.transactions.New(s.claim), nil
}

// TxFrom returns the transaction under which ctx works, or nil: outside of one,
// and where it was joined by a handle other than a *sql.Tx.
func TxFrom(ctx context.Context) *sql.Tx {
	if w := txn.From[*place](ctx); w != nil {
		return w.Place.tx
	}
	return nil
}

// peekTime bounds the look-up of the record by a claim that may not wait.
const peekTime = time.Second

// claim is a [txn.Begin]. It does not wait for the writer where there is a record.
func (s *Store) claim(ctx context.Context, p *semel.ClaimParams, wait time.Duration) (rec semel.Record, o txn.Open[*place], err error) {
	from := time.Now()
	if rec, err := s.lookup(ctx, p.Digest, min(max(wait, peekTime), s.busy)); err == nil {
		return rec, nil, nil
	}
	w, err := s.begin(ctx, p.Digest, max(0, wait-time.Since(from)))
	if err == nil {
		var won bool
		rec, won, err = w.claim(ctx, p)
		if won {
			w.fence = rec.Fence
			return rec, w, nil
		}
		w.Close()
	}
	switch {
	case errors.Is(err, errTwin), errors.Is(err, errBusy):
		err = fmt.Errorf("%w: %w", semel.ErrInFlight, err)
	case err != nil:
		err = s.translate("claim", err)
	}
	return rec, nil, err
}

// Place implements [txn.Open].
func (w *writing) Place() *place { return &w.in }

// Fence implements [txn.Open].
func (w *writing) Fence() semel.Fence { return w.fence }

// Commit implements [txn.Open].
func (w *writing) Commit(ctx context.Context, c *txn.Claimed, v *semel.Settlement) (txn.End, error) {
	ctx = context.WithoutCancel(ctx)
	w.Now = w.store.clock.Read(w.Now)
	err := w.Complete(ctx, c.Params.Digest, c.Fence, v)
	switch {
	case errors.Is(err, sql.ErrTxDone):
		return txn.EndedByWork, nil
	case errors.Is(err, semel.ErrLost):
		return txn.Gone, nil
	case err != nil:
		return txn.RolledBack, err
	}
	err = w.commit(ctx)
	switch result.Primary(result.Code(err)) {
	case result.Busy, result.Locked, result.Full, result.TooBig, result.Constraint:
		return txn.RolledBack, err
	}
	return txn.Committed, err
}

// Recover implements [txn.Open]. It records that the outcome is unknown: the
// claim is gone, because SQLite ended the transaction on an error that the work
// did not return. What it wrote from then on was committed statement by statement.
func (w *writing) Recover(ctx context.Context, c *txn.Claimed, v *semel.Settlement) error {
	m := txn.Mark{Params: c.Params, Settlement: semel.Settlement{
		State: semel.StateUnknown, Note: "SQLite ended the transaction, the work went on", Retention: v.Retention,
	}}
	m.Params.Owner = semel.Owner{} // a repetition of this commit must not take it for its own claim
	if err := w.store.transactions.KeepOne(context.WithoutCancel(ctx), m); err != nil {
		return err
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
