package sqlitetx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/semel-dev/semel"
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
	if err := t.store.begun(ctx, "open a transaction"); err != nil {
		return nil, err
	}
	defer t.store.gate.Leave()
	if outer := t.store.workOf(ctx); outer != nil {
		return &savepoint{store: t.store, outer: outer, in: outer.in, tx: outer.tx}, nil
	}
	return &transaction{store: t.store}, nil
}

// transaction is a transaction of the store's own.
type transaction struct {
	store *Store

	mu     sync.Mutex // guards the fields below: the work and the end of its context meet here
	w      *writing   // while it is open
	work   *work
	params semel.ClaimParams
	fence  semel.Fence
	ended  error // why it is open no longer
	stop   func() bool
}

// peekTime is what a claim that may not wait is given, to look for the record.
const peekTime = time.Second

var (
	errCommitted = errors.New("sqlitetx: commit: the transaction has been committed")
	errNoClaim   = errors.New("sqlitetx: commit: nothing was claimed in this transaction")
)

// Claim implements [semel.Tx].
func (t *transaction) Claim(ctx context.Context, p semel.ClaimParams, wait time.Duration) (semel.Record, bool, error) {
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	from := time.Now()
	if rec, err := t.store.lookup(ctx, p.Digest, min(max(wait, peekTime), t.store.busy)); err == nil {
		return rec, false, nil // it does not wait for the writer
	}
	if err := t.store.begun(ctx, "claim"); err != nil {
		return semel.Record{}, false, err
	}
	defer t.store.gate.Leave()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.w != nil || t.ended != nil {
		return semel.Record{}, false, errors.New("sqlitetx: claim: the transaction has been used before")
	}
	rec, err := t.claim(ctx, p, max(0, wait-time.Since(from)))
	switch {
	case errors.Is(err, errTwin), errors.Is(err, errBusy):
		return semel.Record{}, false, fmt.Errorf("%w: %w", semel.ErrInFlight, err)
	case err != nil:
		return semel.Record{}, false, t.store.translate("claim", err)
	}
	return rec, t.w != nil, nil
}

// claim leaves the transaction open when it was won.
func (t *transaction) claim(ctx context.Context, p semel.ClaimParams, wait time.Duration) (semel.Record, error) {
	w, err := t.store.begin(ctx, p.Digest, wait)
	if err != nil {
		return semel.Record{}, err
	}
	p.TakeOver = 0
	rec, won, err := w.Claim(context.WithoutCancel(ctx), &p)
	if err != nil || !won {
		w.end()
		return rec, err
	}
	t.w, t.params, t.fence = w, p, rec.Fence
	t.work = &work{store: t.store, outer: workFrom(ctx), in: t.store.bound(w.tx), tx: w.tx}
	return rec, nil
}

// Context implements [semel.Tx]. When ctx ends, the transaction is rolled back,
// so that work which does not heed it does not keep everybody else from writing.
func (t *transaction) Context(ctx context.Context) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.w == nil {
		return ctx
	}
	t.stop = context.AfterFunc(ctx, func() {
		t.finish(context.WithoutCancel(ctx), fmt.Errorf("%w: %w", semel.ErrRolledBack, context.Cause(ctx)))
	})
	return context.WithValue(ctx, workKey{}, t.work)
}

// Commit implements [semel.Tx].
func (t *transaction) Commit(ctx context.Context, v semel.Settlement) error {
	if err := names.Settlement(&v); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended != nil:
		return t.ended
	case t.w == nil:
		return errNoClaim
	case v.State == semel.StateReleased:
		return fmt.Errorf("sqlitetx: commit: a transaction is not settled as %v", v.State)
	}
	ctx = context.WithoutCancel(ctx)
	w := t.w
	w.Now = t.store.clock.Read(w.Now)
	err := w.Complete(ctx, t.params.Digest, t.fence, &v)
	switch {
	case errors.Is(err, sql.ErrTxDone):
		return t.endedByWork(ctx, v)
	case errors.Is(err, semel.ErrLost):
		return t.endedBySQLite(ctx, &v)
	case err != nil:
		return t.refused(ctx, err)
	}
	return t.answered(ctx, w.commit(ctx))
}

// answered is what the database's answer to COMMIT means.
func (t *transaction) answered(ctx context.Context, err error) error {
	switch result.Primary(result.Code(err)) {
	case result.Busy, result.Locked, result.Full, result.TooBig, result.Constraint:
		return t.refused(ctx, err)
	}
	marks := t.end(errCommitted)
	if err != nil {
		t.store.record(ctx, marks) // what was committed is there already
		return t.store.translate("commit", err)
	}
	return nil
}

// refused ends a transaction that has not been committed, and will not be.
func (t *transaction) refused(ctx context.Context, err error) error {
	err = fmt.Errorf("%w: %w", semel.ErrRolledBack, t.store.translate("commit", err))
	t.store.record(ctx, t.end(err))
	return err
}

// endedByWork settles the record in a transaction of its own, after the work
// has called Commit itself: the claim was committed with the rows.
func (t *transaction) endedByWork(ctx context.Context, v semel.Settlement) error {
	marks := t.end(errCommitted)
	err := t.store.Settle(ctx, t.params.Digest, t.fence, v)
	switch {
	case errors.Is(err, semel.ErrLost):
		t.ended = fmt.Errorf("%w: sqlitetx: commit: the work has rolled the transaction back itself", semel.ErrRolledBack)
		t.store.record(ctx, marks)
		return t.ended
	case err == nil:
		t.store.log.LogAttrs(ctx, slog.LevelWarn, "the work ended the transaction itself, its outcome was recorded after it",
			slog.String("digest", t.params.Digest.String()))
	}
	return err
}

// endedBySQLite records that nobody can tell what happened: the claim is gone,
// because SQLite ended the transaction on an error that the work did not
// return. What it wrote from then on was committed by itself.
func (t *transaction) endedBySQLite(ctx context.Context, v *semel.Settlement) error {
	t.ended = fmt.Errorf("%w: sqlitetx: commit: SQLite ended the transaction on an error which the work did not return; the record is unknown now", semel.ErrLost)
	marks := t.end(t.ended)
	p := t.params
	p.Owner = semel.Owner{} // somebody else's, to whoever asks for this commit
	unknown := semel.Settlement{State: semel.StateUnknown, Note: "SQLite ended the transaction, the work went on", Retention: v.Retention}
	if err := t.store.recordOne(ctx, mark{p, unknown}); err != nil {
		return t.store.translate("commit", err)
	}
	t.store.record(ctx, marks)
	return t.ended
}

// Conflict implements [semel.Tx].
func (t *transaction) Conflict(err error) bool { return result.IsBusy(err) }

// Rollback implements [semel.Tx].
func (t *transaction) Rollback() error {
	t.finish(context.Background(), fmt.Errorf("%w: sqlitetx: it was rolled back", semel.ErrRolledBack))
	return nil // a connection that breaks here is rolled back by SQLite
}

// finish rolls back what is open.
func (t *transaction) finish(ctx context.Context, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.store.record(ctx, t.end(why))
}

// end closes the transaction, committed or not, and hands over what became
// unknown inside of it. Only the first call counts.
func (t *transaction) end(why error) []mark {
	if t.ended == nil {
		t.ended = why
	}
	if t.w == nil {
		return nil
	}
	if t.stop != nil {
		t.stop()
	}
	marks := t.work.close()
	t.w.end()
	t.w = nil
	return marks
}

// record keeps, after a rollback, what became unknown inside of it.
func (s *Store) record(ctx context.Context, marks []mark) {
	ctx, cancel := context.WithTimeout(ctx, s.busy)
	defer cancel()
	for _, m := range marks {
		if err := s.recordOne(ctx, m); err != nil {
			s.log.LogAttrs(ctx, slog.LevelError, "what became unknown in a transaction that was rolled back could not be recorded",
				slog.String("digest", m.params.Digest.String()), slog.Any("error", s.translate("commit", err)))
		}
	}
}

// recordOne writes the record, unless another one is there by now.
func (s *Store) recordOne(ctx context.Context, m mark) error {
	w, err := s.begin(ctx, m.params.Digest, s.busy)
	if err != nil {
		return err
	}
	defer w.end()
	won, err := w.record(ctx, &m)
	if err != nil || !won {
		return err
	}
	return w.commit(ctx)
}

func (t *step) record(ctx context.Context, m *mark) (won bool, err error) {
	rec, won, err := t.Claim(ctx, &m.params)
	if err != nil || !won {
		return false, err
	}
	return true, t.Settle(ctx, rec.Digest, rec.Fence, &m.settlement)
}
