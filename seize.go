package semel

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/verdict"
)

// Package seize calls these verbs. No program outside of this repository can, so every settlement by hand has an entry in the audit trail.
func init() { //nolint:gochecknoinits // an exported method would be in the documentation for users.
	verdict.Seize, verdict.Settle, verdict.CompleteIn = (*Guard).seize, (*Claim).settleUnchanged, (*Claim).completeIn
}

// seize claims an intent whatever the policy says: the absent intent of the key if
// before is nil, otherwise the intent of the record before, which is unknown or has
// lapsed. It returns the claim with its record, or no claim and the record that is in
// the way.
func (g *Guard) seize(ctx context.Context, by verdict.By, k Key, before *Record) (*Claim, *Record, error) {
	c := g.core
	c.idle.Enter() // the claim gives it back
	a := attempt{guard: g, ctx: ctx, key: k, owner: c.owners.Next(), start: time.Now(), unbounded: by == verdict.Operator()}
	var s storeAnswer
	//nolint:contextcheck // an attempt carries its context, which looks up with a bound of its own.
	switch {
	case before == nil:
		a.digest = c.digest(k)
		s = a.claimFresh(a.start)
	case by == verdict.Operator():
		a.about(before)
		s = a.ask(before.Fence, a.start)
	default:
		a.about(before)
		s = a.takeOverAlone(before)
	}
	if s.err != nil || !s.won {
		c.idle.Exit()
		return nil, &s.rec, s.err
	}
	return a.openClaim(s), &s.rec, nil
}

// about points the attempt at the record's intent.
func (a *attempt) about(rec *Record) {
	a.key, a.digest, a.fp = Key{rec.Scope, rec.Name}, rec.Digest, rec.Fingerprint
}

// settleUnchanged records a settlement as it is: the policy neither shortens its outcome nor replaces its retention.
func (c *Claim) settleUnchanged(s Settlement) error { return c.settle(s, true) }

// adopter is implemented by a [Tx] that settles a claim which was committed before.
type adopter interface {
	// Adopt begins the transaction, in place of Claim. Its Commit settles the record of
	// that digest, or rolls back with [ErrLost] when it is not claimed with the fence. It
	// returns [ErrUnknown] where the work has ended the transaction itself.
	Adopt(ctx context.Context, d Digest, f Fence) error
}

// completeIn completes the claim in a transaction of t, whose database keeps this
// record: the rows of the work commit together with the outcome that it returns, and
// only as long as no other attempt has taken the claim over (promise 4). After an error
// the claim is open: the rows were rolled back, or, unless it wraps [ErrRolledBack],
// [ErrLost] or is the work's own, its next settlement finds out. False means that nothing
// was done, because these transactions cannot, or another one was in the way.
func (c *Claim) completeIn(t Transactor, work func(context.Context) ([]byte, error)) (bool, error) {
	tx, err := t.Transaction(&c.ctx)
	if err != nil {
		return true, fmt.Errorf("%w: open a transaction: %w", ErrUnavailable, err)
	}
	defer tx.Rollback() //nolint:errcheck // after the commit it gives the connection back.
	in, ok := tx.(adopter)
	if !ok {
		return false, nil
	}
	if err := in.Adopt(&c.ctx, c.digest, c.fence); err != nil {
		return true, fmt.Errorf("%w: begin a transaction: %w", ErrUnavailable, err)
	}
	around := &verdict.Transaction{Store: c.guard.core.records, Outside: &c.ctx}
	outcome, err := work(context.WithValue(tx.Context(&c.ctx), verdict.TransactionKey{}, around))
	if err != nil {
		return !tx.Conflict(err), err
	}
	s := c.guard.policy.completion(outcome, nil)
	err = c.settleBy(s, func(s Settlement, _ time.Time) error {
		ctx, cancel := context.WithTimeout(&c.ctx, c.guard.core.timeout)
		defer cancel()
		var err error
		if s.Outcome, err = c.guard.core.sealer.close(c.digest, s.Kept, s.Outcome); err != nil {
			return err
		}
		return tx.Commit(ctx, s)
	}, func(error) bool { return true })
	return err == nil || !tx.Conflict(err), err
}

// Background runs work until it returns, with a context that ends with the guard;
// [Guard.Shutdown] waits for it.
func (g *Guard) Background(work func(context.Context)) {
	g.core.inBackground(func() { work(g.core.life) })
}

// inBackground runs f in a goroutine that the guard's end waits for.
func (c *core) inBackground(f func()) {
	c.background.Enter()
	go func() {
		defer c.background.Exit()
		f()
	}()
}

// Done is closed when the guard takes no new intents: [Guard.Shutdown] was called.
func (g *Guard) Done() <-chan struct{} { return g.core.drain }
