package semel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/outcomelog"
)

// BeginTx starts an attempt in transaction mode: what [Guard.Begin] is, but the
// claim lives inside of a transaction, which the work shares and which commits
// business rows and outcome together. t must use the database of this guard's
// store. It returns exactly one of three things, as Begin does. It refuses every
// intent where [Guard.CheckTx] says so.
//
// ctx governs the work too. Concurrent attempts of the intent wait within
// [Policy.Wait]: those of this process in memory, those of others on the
// database's own lock, each with a connection of its own.
func (g *Guard) BeginTx(ctx context.Context, t Transactor, k Key, fp Fingerprint) (*TxClaim, *Record, error) {
	a := txAttempt{
		attempt:    attempt{guard: g, ctx: ctx, key: k, fp: fp, start: time.Now(), inTx: true},
		transactor: t,
	}
	claim, rec, err := a.run()
	rec, err = a.reveal(rec, err)
	if rec != nil {
		rec.Waited = a.waited
	}
	if hook := g.core.trace.Began; hook != nil {
		info := a.info(nil, rec, err)
		if claim != nil {
			info.Outcome, info.Fence, info.Attempt, info.Err = outcomelog.Claimed, claim.Fence(), claim.Attempt(), nil
		}
		hook(ctx, info)
	}
	return claim, rec, err
}

// txAttempt is one call of BeginTx.
type txAttempt struct {
	attempt
	transactor Transactor
}

func (a *txAttempt) run() (*TxClaim, *Record, error) {
	if err := a.guard.CheckTx(); err != nil {
		return nil, nil, a.fail(err)
	}
	if err := a.enter(); err != nil {
		return nil, nil, a.fail(err)
	}
	claim, rec, err := a.decide()
	if claim == nil {
		a.guard.core.idle.Exit() // a claim keeps its seat until it has ended
	}
	return claim, rec, err
}

// decide walks the state machine of [attempt.decide] with the transaction's
// claim in the place of the store's.
func (a *txAttempt) decide() (*TxClaim, *Record, error) {
	if err := a.nested(); err != nil {
		return nil, nil, a.fail(err)
	}
	for round := 0; ; round++ {
		claim, s := a.claimAlone()
		if claim != nil {
			return claim, nil, nil
		}
		if s.err == nil && a.running(&s.rec) {
			s = a.wait(s.rec)
		}
		last := round == takeOverRounds
		switch {
		case errors.Is(s.err, ErrNotFound) && last:
			return nil, nil, a.fail(ErrInFlight)
		case errors.Is(s.err, ErrNotFound):
			continue // it was released or rolled back
		case s.err != nil:
			return nil, nil, a.fail(s.err)
		}
		if err := a.refusal(&s.rec); err != nil {
			a.met = new(s.rec)
			return nil, nil, a.fail(err)
		}
		if s.rec.State == StateCompleted {
			return nil, &s.rec, nil
		}
		a.met = new(s.rec)
		if last {
			return nil, nil, a.fail(ErrInFlight)
		}
		if rec, err := a.clear(); rec != nil || err != nil {
			return nil, rec, err
		}
	}
}

// claimAlone claims the key in a transaction, once no other transaction of
// this process works on it.
func (a *txAttempt) claimAlone() (*TxClaim, step) {
	core := a.guard.core
	known, keep, ok := a.recall()
	if ok {
		return nil, step{rec: known}
	}
	if err := a.admit(0); err != nil {
		return nil, a.lookOnly(0, err)
	}
	admitted := true
	defer func() {
		if admitted {
			a.dismiss(0)
		}
	}()
	if a.joins() {
		core.solo.Join(a.digest)
	} else if !core.solo.Enter(a.digest) {
		if s := a.waitSolo(); s.err != nil || s.rec.State != StateAbsent {
			return nil, s
		}
	}
	seated := true
	defer func() { // whatever a transactor does, the seat is not lost
		if seated {
			a.leaveSolo()
		}
	}()
	tx, err := a.transactor.Transaction(a.ctx)
	if err != nil {
		return nil, a.unavailable("open a transaction", err)
	}
	if _, ok := tx.(Recorder); ok && a.guard.Seals() {
		_ = tx.Rollback() // nothing was written
		return nil, step{err: errDatabaseRecords}
	}
	params := a.params(0)
	began := time.Now()
	rec, won, err := tx.Claim(a.ctx, params, max(a.guard.policy.Wait-a.waited, time.Millisecond))
	closed := core.closed.Load() // meanwhile
	if err == nil && won && !closed {
		seated, admitted = false, false
		return a.openTx(tx, params, rec), step{}
	}
	_ = tx.Rollback() // nothing was written
	switch {
	case err == nil && won:
		return nil, step{err: ErrClosed}
	case errors.Is(err, ErrInFlight):
		a.waited += time.Since(began)
		return nil, step{err: fmt.Errorf("%w: another transaction works on it", err)}
	case err != nil:
		return nil, a.unavailable("claim", err)
	}
	keep(&rec)
	return nil, step{rec: rec}
}

// recall asks the memory of completed outcomes, if there is one.
func (a *txAttempt) recall() (rec Record, keep func(*Record), ok bool) {
	if r := a.guard.core.recaller; r != nil {
		return r.Recall(a.ctx, a.digest)
	}
	return rec, func(*Record) {}, false
}

// joins reports whether a transaction is open already. It holds locks for which
// the twin may wait, so it must not wait for the twin in memory, where no
// database sees the circle; and it has its connection.
func (a *txAttempt) joins() bool {
	_, joined := a.transactor.(interface{ Joined() })
	return joined || TxClaimFrom(a.ctx) != nil
}

func (a *txAttempt) unavailable(act string, err error) step {
	if a.ctx.Err() != nil {
		return step{err: fmt.Errorf("%s: %w", act, context.Cause(a.ctx))}
	}
	return step{err: fmt.Errorf("%w: %s: %w", ErrUnavailable, act, err)}
}

// leaveSolo lets the next attempt of this process try.
func (a *txAttempt) leaveSolo() {
	a.guard.core.solo.Leave(a.digest)
	a.guard.core.waiters.Wake(a.digest)
}

// waitSolo waits for the transaction of this process that works on the key. It
// returns the record that it left, an error, or neither once the seat is ours.
func (a *txAttempt) waitSolo() step {
	from := time.Now()
	defer func() { a.waited += time.Since(from) }()
	core := a.guard.core
	deadline := time.NewTimer(a.guard.policy.Wait - a.waited)
	defer deadline.Stop()
	for {
		room, ok := core.waiters.Join(a.digest, a.key.Scope)
		if !ok {
			return step{err: fmt.Errorf("%w: too many attempts wait for it already", ErrInFlight)}
		}
		// Tried after joining: a twin that ends from here on wakes us.
		if core.solo.Enter(a.digest) {
			core.waiters.Leave(a.digest, a.key.Scope, room)
			return step{}
		}
		err := a.sitSolo(room, deadline.C)
		core.waiters.Leave(a.digest, a.key.Scope, room)
		if err != nil {
			return step{err: err}
		}
		rec, err := a.lookup()
		if !errors.Is(err, ErrNotFound) {
			return step{rec: rec, err: err}
		}
	}
}

func (a *txAttempt) sitSolo(room *waiting.Room, deadline <-chan time.Time) error {
	select {
	case <-room.Done():
		return nil
	case <-deadline:
		return fmt.Errorf("%w: a transaction of this process works on it", ErrInFlight)
	case <-a.guard.core.drain:
		return ErrClosed
	case <-a.ctx.Done():
		return fmt.Errorf("wait: %w", context.Cause(a.ctx))
	}
}

// clear deals with a record that is unknown or lapsed, left by somebody who
// works without transactions, as the policy says: by an ordinary claim.
// It returns neither record nor error when the way is free.
func (a *txAttempt) clear() (*Record, error) {
	b := attempt{guard: a.guard, ctx: a.ctx, key: a.key, fp: a.fp, digest: a.digest, owner: a.guard.core.newOwner(), start: a.start, waited: a.waited}
	b.seat()
	claim, rec, err := b.decide()
	a.waited = b.waited
	if claim == nil {
		a.guard.core.idle.Exit()
		return rec, err
	}
	if err := claim.Release("the work runs in a transaction"); err != nil {
		return nil, a.fail(fmt.Errorf("%w: %w", ErrUnknown, err))
	}
	return nil, nil
}

// openTx turns a won transaction into a claim.
func (a *txAttempt) openTx(tx Tx, params ClaimParams, rec Record) *TxClaim {
	g := a.guard
	c := &TxClaim{
		guard: g, key: a.key, params: params, rec: rec, tx: tx, transactor: a.transactor,
		won: time.Now(), outside: a.ctx,
	}
	ctx, cancel := context.WithTimeoutCause(a.ctx, g.policy.MaxRun, overrunError(g.policy.MaxRun))
	stop := context.AfterFunc(g.core.life, cancel)
	c.cancel = func() {
		stop()
		cancel()
	}
	c.ctx = txContext{Context: tx.Context(ctx), claim: c}
	g.core.live.Add(1)
	return c
}

// overrunError is why the context of the work has ended after [Policy.MaxRun].
type overrunError time.Duration

func (d overrunError) Error() string {
	return fmt.Sprintf("%v: it ran for %v", context.DeadlineExceeded, time.Duration(d))
}

func (overrunError) Unwrap() error { return context.DeadlineExceeded }
