package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
)

var _ semel.Tx = (*sqlTransaction)(nil)

// sqlTransaction is a transaction for one intent through database/sql, in the
// way of the row (see [transaction]): one statement claims and one finishes,
// and a driver sends each on its own.
type sqlTransaction struct {
	store  *Store
	in     sqlSession
	within *turn           // of the transaction that it is nested in
	turn   turn            // of what is nested in it
	tx     *sql.Tx         // what the work gets; nil where the caller's handle is another one
	depth  int             // how many are around it
	outer  *sqlTransaction // the one in the context around the work's, of whatever store

	state            txState
	won              bool // the claim: the work had its turn
	tried            bool // to commit
	params           semel.ClaimParams
	fence, claimedMS int64
}

// sqlSession runs the statements: a transaction of our own, or a
// savepoint in one of the caller's.
type sqlSession interface {
	Execer
	begin(ctx context.Context) error
	commit(ctx context.Context) error
	undo()
	// end gives back what begin or its maker took.
	end()
}

// Claim implements [semel.Tx].
func (t *sqlTransaction) Claim(ctx context.Context, p semel.ClaimParams, wait time.Duration) (semel.Record, bool, error) {
	if err := validate(&p); err != nil {
		return semel.Record{}, false, err
	}
	if t.state != txIdle {
		return semel.Record{}, false, errTxUsed
	}
	t.params = p
	until := time.Now().Add(wait)
	var rec semel.Record
	var won bool
	err := backoff.Do(ctx, func(err error) bool {
		t.in.undo()
		t.state = txIdle
		return t.depth == 0 && !errors.Is(err, semel.ErrInFlight) && passesSQL(err)
	}, func() (err error) {
		rec, won, err = t.claim(ctx, time.Until(until))
		return err
	})
	switch {
	case err != nil:
		return semel.Record{}, false, translate("claim", err)
	case won:
		t.state, t.won = txClaimed, true
		return claimedRecord(&p, t.fence, t.claimedMS), true, nil
	}
	return rec, false, nil
}

// passesSQL is passes for any driver.
func passesSQL(err error) bool {
	switch state(err) {
	case codeSerialization, codeDeadlock, codeDivisionByZero:
		return true
	}
	return errors.Is(err, errOvertaken)
}

func (t *sqlTransaction) claim(ctx context.Context, wait time.Duration) (semel.Record, bool, error) {
	t.state = txBegun
	if err := t.in.begin(ctx); err != nil {
		return semel.Record{}, false, err
	}
	drawn, err := t.first(ctx)
	if err != nil || drawn {
		return semel.Record{}, drawn, err
	}
	rec, there, err := t.look(ctx)
	if err != nil || there {
		return rec, false, err
	}
	// There is a twin, or a row that is a record no more.
	if err := t.lock(ctx, wait); err != nil {
		return semel.Record{}, false, err
	}
	if _, err := t.in.ExecContext(ctx, t.store.sql["tx_clear"], t.params.Digest[:]); err != nil {
		return semel.Record{}, false, err
	}
	drawn, err = t.first(ctx)
	if err != nil || drawn {
		return semel.Record{}, drawn, err
	}
	rec, there, err = t.look(ctx)
	if err == nil && !there {
		err = errOvertaken
	}
	return rec, false, err
}

// first inserts the row of the claim, if nothing is in its way.
func (t *sqlTransaction) first(ctx context.Context) (drawn bool, err error) {
	p, inTime := &t.params, false
	return t.row(ctx, []any{&t.fence, &t.claimedMS, &inTime}, "tx_first",
		p.Digest[:], p.Owner[:], p.Fingerprint[:], p.Retention.Milliseconds(), p.Scope, p.Name, t.store.lockNumber(p.Digest))
}

// look reads the record.
func (t *sqlTransaction) look(ctx context.Context) (rec semel.Record, there bool, err error) {
	var r row
	there, err = t.row(ctx, r.into(), "lookup", t.params.Digest[:])
	if err != nil || !there {
		return rec, false, err
	}
	if err := r.named(nil); err != nil {
		return rec, false, err
	}
	rec, err = r.record()
	return rec, err == nil, err
}

// lock takes the intent's lock, and waits for the twin that has it.
func (t *sqlTransaction) lock(ctx context.Context, wait time.Duration) error {
	number, locked := t.store.lockNumber(t.params.Digest), false
	if _, err := t.row(ctx, []any{&locked}, "tx_lock", number); err != nil || locked {
		return err
	}
	if wait < minWait {
		return fmt.Errorf("%w: its lock is held", semel.ErrInFlight)
	}
	ms := strconv.FormatInt(wait.Milliseconds(), 10)
	if _, err := t.in.ExecContext(ctx, t.store.sql["tx_patience"], ms); err != nil {
		return err
	}
	if _, err := t.in.ExecContext(ctx, t.store.sql["tx_wait"], number); err != nil {
		if state(err) == codeLockTimeout {
			err = fmt.Errorf("%w: its lock was held for %v", semel.ErrInFlight, wait)
		}
		return err
	}
	_, err := t.in.ExecContext(ctx, t.store.sql["tx_patience_end"])
	return err
}

// row reads the one row that a statement returns, if any.
func (t *sqlTransaction) row(ctx context.Context, into []any, name string, args ...any) (there bool, err error) {
	rows, err := t.in.QueryContext(ctx, t.store.sql[name], args...)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if rows.Next() {
		there = true
		err = rows.Scan(into...)
	}
	return there && err == nil, errors.Join(err, rows.Err())
}

// Context implements [semel.Tx].
func (t *sqlTransaction) Context(ctx context.Context) context.Context {
	t.outer = sqlTxFrom(ctx)
	return context.WithValue(ctx, sqlTxKey{}, t)
}

// Conflict implements [semel.Tx].
func (t *sqlTransaction) Conflict(err error) bool { return t.depth == 0 && conflict(err) }

// Commit implements [semel.Tx].
func (t *sqlTransaction) Commit(ctx context.Context, v semel.Settlement) error {
	t.tried = true
	err := normalize(&v)
	switch {
	case errors.Is(err, semel.ErrFull):
		return err
	case err == nil && t.state != txClaimed:
		err = errNoClaim
	case err == nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: pgstore: commit: %w", semel.ErrRolledBack, err)
	}
	t.state = txEnded
	ones := 0
	_, err = t.row(ctx, []any{&ones}, "tx_finish", t.params.Digest[:], t.fence, v.State.String(), v.Kept, v.Outcome, v.Note, v.Retention.Milliseconds(), nil)
	switch {
	case errors.Is(err, sql.ErrTxDone):
		return t.afterAll(ctx, &v)
	case err != nil:
		return t.undone(err)
	}
	err = t.in.commit(ctx)
	switch {
	case err == nil:
		return nil
	case t.depth > 0, !dialect.CommitUnknown(err):
		return t.undone(err)
	}
	return translate("commit", err) // the outcome is unknown
}

func (*sqlTransaction) undone(err error) error {
	if err := translate("commit", err); errors.Is(err, semel.ErrFull) {
		return err
	}
	return fmt.Errorf("%w: %w", semel.ErrRolledBack, translate("commit", err))
}

// afterAll records the outcome of work that committed on its own, together with
// the row of the claim; or that rolled back.
func (t *sqlTransaction) afterAll(ctx context.Context, v *semel.Settlement) error {
	err := t.store.settle(ctx, t.params.Digest, semel.Fence(t.fence), v) //nolint:gosec // the sequence counts from 1.
	if errors.Is(err, semel.ErrLost) {
		return fmt.Errorf("%w: pgstore: commit: %w", semel.ErrRolledBack, errEndedBy)
	}
	return translate("commit", err)
}

// Rollback implements [semel.Tx].
func (t *sqlTransaction) Rollback() error {
	if t.in == nil {
		return nil
	}
	if t.state != txIdle {
		t.in.undo()
	}
	t.state = txEnded
	t.in.end()
	t.in = nil
	t.within.give()
	t.store.gate.Leave()
	return nil // a connection that breaks here is rolled back by the server
}

// state is PostgreSQL's code, whatever driver brings it.
func state(err error) string {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return e.SQLState()
	}
	return ""
}
