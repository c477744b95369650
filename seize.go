package semel

import (
	"context"
	"time"

	"github.com/semel-dev/semel/internal/verdict"
)

// Seize claims an intent whatever the policy says: the absent intent of the key if
// before is nil, otherwise the intent of the record before, which is unknown or has
// lapsed. It returns the claim with its record, or no claim and the record that is in
// the way. Package operator calls it; no other module can name the type of by, so no
// caller settles by hand without an entry in the audit trail.
func (g *Guard) Seize(ctx context.Context, by verdict.By, k Key, before *Record) (*Claim, *Record, error) {
	c := g.core
	c.idle.Enter() // the claim gives it back
	a := attempt{guard: g, ctx: ctx, key: k, owner: c.newOwner(), start: time.Now(), unbounded: by == verdict.Operator()}
	var s step
	//nolint:contextcheck // an attempt carries its context, which looks up with a bound of its own.
	switch {
	case before == nil:
		a.digest = c.digester.digest(k)
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
	return a.open(s), &s.rec, nil
}

// about points the attempt at the record's intent.
func (a *attempt) about(rec *Record) {
	a.key, a.digest, a.fp = Key{rec.Scope, rec.Name}, rec.Digest, rec.Fingerprint
}

// Settle records a verdict of package operator unchanged: the policy neither
// shortens its outcome nor replaces its retention.
func (c *Claim) Settle(_ verdict.By, s Settlement) error { return c.settle(s, true) }

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
