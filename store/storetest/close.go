package storetest

import (
	"context"
	"errors"

	"github.com/semel-dev/semel"
)

func contextRules() []storeRule {
	return []storeRule{
		{Name: "context/cancelled-claim", Promise: 1, Says: "a Claim whose context ended errs, and can be repeated", check: contextClaim, needs: needReliable},
		{Name: "context/cancelled-renew", Promise: 1, Says: "a Renew whose context ended errs, and can be repeated", check: contextRenew, needs: needReliable},
		{Name: "context/cancelled-settle", Promise: 2, Says: "a Settle whose context ended errs, and can be repeated", check: contextSettle, needs: needReliable},
		{Name: "context/cancelled-lookup", Says: "a Lookup whose context ended errs", check: contextLookup, needs: needReliable},
	}
}

func closeRules() []storeRule {
	return []storeRule{
		{Name: "close/twice", Says: "a second Close returns nil", check: closeTwice},
		{Name: "close/verbs", Promise: 10, Says: "a closed store answers every verb with ErrClosed", check: closeVerbs, needs: needReliable},
	}
}

// undecided fails unless err leaves open whether the verb was taken: it is an
// error, but not one of the sentinels.
func (c *check) undecided(err error) {
	c.Helper()
	if err == nil {
		c.fail("a context that has ended must be an error", err, context.Canceled)
	}
	for _, sentinel := range []error{
		semel.ErrNotFound, semel.ErrLost, semel.ErrSettled, semel.ErrFull, semel.ErrClosed,
	} {
		if errors.Is(err, sentinel) {
			c.fail("a context that has ended must not look like an answer", err, context.Canceled)
		}
	}
}

func (c *check) ended() context.Context {
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	return ctx
}

func contextClaim(c *check) {
	p := c.params("a")
	_, won, err := c.Store.Claim(c.ended(), p)
	c.undecided(err)
	c.equal("an error must not come with a win", won, false)
	rec := c.wins("the same Claim must be won when it is repeated", p)
	c.equal("a repeated Claim must still be the first attempt", rec.Attempt, 1)
}

func contextRenew(c *check) {
	rec := c.wins("an absent intent must be won", c.params("a"))
	c.undecided(c.Store.Renew(c.ended(), rec.Digest, rec.Fence, lease))
	c.renew("the same Renew must succeed when it is repeated", rec, nil)
}

func contextSettle(c *check) {
	for name, to := range settlements() {
		rec := c.wins("an absent intent must be won", c.params(name))
		c.undecided(c.Store.Settle(c.ended(), rec.Digest, rec.Fence, to))
		c.settle("the same Settle must succeed when it is repeated: "+name, rec, to, nil)
	}
}

func contextLookup(c *check) {
	rec := c.wins("an absent intent must be won", c.params("a"))
	_, err := c.Store.Lookup(c.ended(), rec.Digest)
	c.undecided(err)
	_, err = c.Store.Lookup(c.ended(), c.params("b").Digest)
	c.undecided(err)
}

func closeTwice(c *check) {
	c.wins("an absent intent must be won", c.params("a"))
	c.wantErr("Close must return nil", c.Store.Close(), nil)
	c.wantErr("a second Close must return nil", c.Store.Close(), nil)
}

func closeVerbs(c *check) {
	p, rec := c.claimed("a")
	c.wantErr("Close must return nil", c.Store.Close(), nil)
	_, _, err := c.Store.Claim(c.ctx, p)
	c.wantErr("Claim after Close", err, semel.ErrClosed)
	c.renew("Renew after Close", rec, semel.ErrClosed)
	for name, to := range settlements() {
		c.settle("Settle after Close: "+name, rec, to, semel.ErrClosed)
	}
	_, err = c.Store.Lookup(c.ctx, p.Digest)
	c.wantErr("Lookup after Close", err, semel.ErrClosed)
	if lister, ok := semel.StoreAs[semel.Lister](c.Store); ok {
		_, err = lister.List(c.ctx, semel.ListParams{})
		c.wantErr("List after Close", err, semel.ErrClosed)
	}
	if sweeper, ok := semel.StoreAs[semel.Sweeper](c.Store); ok {
		_, err = sweeper.Sweep(c.ctx, 1)
		c.wantErr("Sweep after Close", err, semel.ErrClosed)
	}
	if counter, ok := semel.StoreAs[semel.Counter](c.Store); ok {
		_, err = counter.Count(c.ctx)
		c.wantErr("Count after Close", err, semel.ErrClosed)
	}
	if batcher, ok := c.Store.(semel.Batcher); ok {
		_, _, err = batcher.Batch(c.ctx, []semel.ClaimParams{p}, nil)
		c.wantErr("Batch of claims after Close", err, semel.ErrClosed)
		_, _, err = batcher.Batch(c.ctx, nil, []semel.SettleParams{{Digest: p.Digest, Fence: rec.Fence, Settlement: completed("late")}})
		c.wantErr("Batch of settlements after Close", err, semel.ErrClosed)
	}
}
