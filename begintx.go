package semel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/verdict"
)

// BeginTx is [Guard.Begin] in transaction mode: the claim lives inside a
// transaction that the work shares, and that commits business rows and outcome
// together. t must use the database of this guard's store. It returns exactly
// one of three things, as Begin does. It refuses every intent where
// [Guard.CheckTx] says so.
//
// ctx governs the work too. Concurrent attempts of the intent wait within
// [Policy.Wait]: those of this process in memory, those of others on the
// database's own lock, each with a connection of its own.
func (g *Guard) BeginTx(ctx context.Context, t Transactor, k Key, fp Fingerprint) (*TxClaim, *Record, error) {
	if n, ok := t.(nester); ok {
		t = n.Nested(ctx)
	}
	a := attempt{guard: g, ctx: ctx, key: k, fp: fp, start: time.Now(), transactor: t}
	rec, err := a.begin()
	return a.tx, rec, err
}

// claimInTx claims the key in a transaction, once no other transaction of
// this process works on it.
func (a *attempt) claimInTx() storeAnswer {
	core := a.guard.core
	known, keep, ok := a.recall()
	if ok {
		return storeAnswer{rec: known}
	}
	if err := a.admit(0); err != nil {
		return a.lookOnly(0, err)
	}
	admitted := true
	defer func() {
		if admitted {
			a.giveSeats(0)
		}
	}()
	if a.joins() {
		core.solo.Join(a.digest)
	} else if !core.solo.Enter(a.digest) {
		if s := a.waitSolo(); s.err != nil || s.rec.State != StateAbsent {
			return s
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
		return a.unavailable("open a transaction", err)
	}
	if _, ok := tx.(outcomeMaker); ok && a.guard.Seals() {
		_ = tx.Rollback() // nothing was written
		return storeAnswer{err: errDatabaseRecords}
	}
	params := a.params(0)
	began := time.Now()
	rec, won, err := tx.Claim(a.ctx, params, max(a.guard.policy.Wait-a.waited, time.Millisecond))
	closed := core.closed.Load() // since enter
	if err == nil && won && !closed {
		seated, admitted = false, false
		a.tx = a.openTx(tx, params, rec)
		return storeAnswer{won: true}
	}
	_ = tx.Rollback() // nothing was written
	switch {
	case err == nil && won:
		return storeAnswer{err: ErrClosed}
	case errors.Is(err, ErrInFlight):
		a.waited += time.Since(began)
		return storeAnswer{err: fmt.Errorf("%w: another transaction works on it", err)}
	case err != nil:
		return a.unavailable("claim", err)
	}
	keep(&rec)
	return storeAnswer{rec: rec}
}

// recall asks the memory of completed outcomes, if there is one.
func (a *attempt) recall() (rec Record, keep func(*Record), ok bool) {
	if r := a.guard.core.recaller; r != nil {
		return r.Recall(a.ctx, a.digest)
	}
	return rec, func(*Record) {}, false
}

// joins reports whether a transaction is open already. The twin may wait for
// its locks, so it must not wait for the twin in memory, where no database
// detects the deadlock.
func (a *attempt) joins() bool {
	_, joined := a.transactor.(interface{ Joined() })
	return joined || TxClaimFrom(a.ctx) != nil
}

func (a *attempt) unavailable(act string, err error) storeAnswer {
	if a.ctx.Err() != nil {
		return storeAnswer{err: fmt.Errorf("%s: %w", act, context.Cause(a.ctx))}
	}
	return storeAnswer{err: fmt.Errorf("%w: %s: %w", ErrUnavailable, act, err)}
}

// leaveSolo lets the next attempt of this process go ahead.
func (a *attempt) leaveSolo() {
	a.guard.core.solo.Leave(a.digest)
	a.guard.core.waiters.Wake(a.digest)
}

// waitSolo waits for the transaction of this process that works on the key. It
// returns the record that it left, an error, or neither once the seat is ours.
func (a *attempt) waitSolo() storeAnswer {
	from := time.Now()
	defer func() { a.waited += time.Since(from) }()
	core := a.guard.core
	deadline := time.NewTimer(a.guard.policy.Wait - a.waited)
	defer deadline.Stop()
	for {
		room, ok := core.waiters.Join(a.digest, a.key.Scope)
		if !ok {
			return storeAnswer{err: fmt.Errorf("%w: too many attempts wait for it already", ErrInFlight)}
		}
		// Tried after joining: a twin that ends from here on wakes us.
		if core.solo.Enter(a.digest) {
			core.waiters.Leave(a.digest, a.key.Scope, room)
			return storeAnswer{}
		}
		again, err := a.pause(room, nil, deadline.C)
		core.waiters.Leave(a.digest, a.key.Scope, room)
		if err == nil && !again {
			err = fmt.Errorf("%w: a transaction of this process works on it", ErrInFlight)
		}
		if err != nil {
			return storeAnswer{err: err}
		}
		rec, err := a.lookup()
		if !errors.Is(err, ErrNotFound) {
			return storeAnswer{rec: rec, err: err}
		}
	}
}

// takeOverInTx deals with a record that is unknown or lapsed, left by an attempt
// that works without transactions, as the policy says: by an ordinary claim.
// When the way is free, it claims in the transaction.
func (a *attempt) takeOverInTx() storeAnswer {
	plain := *a
	plain.transactor, plain.owner = nil, a.guard.core.owners.Next()
	plain.seat()
	rec, err := plain.decide()
	a.waited = plain.waited
	if plain.claim != nil {
		if err := plain.claim.Release("the work runs in a transaction"); err != nil {
			return storeAnswer{err: fmt.Errorf("%w: %w", ErrUnknown, err)}
		}
		return a.claimInTx()
	}
	a.guard.core.idle.Exit()
	if err != nil {
		a.met, a.again = plain.met, plain.again
		return storeAnswer{err: err}
	}
	return storeAnswer{rec: *rec}
}

// openTx turns a won transaction into a claim.
func (a *attempt) openTx(tx Tx, params ClaimParams, rec Record) *TxClaim {
	g := a.guard
	c := &TxClaim{
		guard: g, key: a.key, params: params, rec: rec, tx: tx, transactor: a.transactor,
		won: time.Now(), around: verdict.Transaction{Store: g.core.records, Outside: a.ctx},
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

// overrunError ends the context of work that exceeded [Policy.MaxRun].
type overrunError time.Duration

func (d overrunError) Error() string {
	return fmt.Sprintf("%v: it ran for %v", context.DeadlineExceeded, time.Duration(d))
}

func (overrunError) Unwrap() error { return context.DeadlineExceeded }
