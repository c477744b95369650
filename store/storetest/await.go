package storetest

import (
	"context"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/waiting"
)

func awaitRules() []storeRule {
	return []storeRule{
		{Name: "await/settled", Says: "a wait ends when the claim is settled, in whatever way", check: awaitSettled, needs: needNotifier},
		{Name: "await/nothing", Says: "without a live claim there is nothing to wait for", check: awaitNothing, needs: needNotifier},
		{Name: "await/ends", Promise: 8, Says: "a wait ends with its context, and with the store", check: awaitEnds, needs: needNotifier},
	}
}

// awaits waits in the background, and gives the wait time to begin. The rules
// hold whether it did or not.
func (c *check) awaits(ctx context.Context, d semel.Digest) <-chan error {
	c.Helper()
	notifier, _ := semel.StoreAs[semel.Notifier](c.Store)
	ended := make(chan error, 1)
	go func() { ended <- notifier.Await(ctx, d) }()
	waiting.Sleep(ctx, txGrace)
	return ended
}

func awaitSettled(c *check) {
	for name, to := range settlements() {
		rec := c.wins("an absent intent must be won", c.params(name))
		first, second := c.awaits(c.ctx, rec.Digest), c.awaits(c.ctx, rec.Digest)
		c.renew("a held claim must be renewed", rec, nil)
		c.settle("a held claim must be settled", rec, to, nil)
		c.wantErr("a wait must end when the claim is settled: "+name, <-first, nil)
		c.wantErr("so must every other: "+name, <-second, nil)
	}
}

func awaitNothing(c *check) {
	c.wantErr("an absent intent is not waited for", <-c.awaits(c.ctx, c.params("absent").Digest), nil)
	for name, rec := range c.held() {
		if name != "claimed" {
			c.wantErr("a settled intent is not waited for: "+name, <-c.awaits(c.ctx, rec.Digest), nil)
		}
	}
}

func awaitEnds(c *check) {
	rec := c.wins("an absent intent must be won", c.params("a"))
	ctx, cancel := context.WithCancel(c.ctx)
	first, second := c.awaits(ctx, rec.Digest), c.awaits(c.ctx, rec.Digest)
	cancel()
	c.wantErr("a wait must end with its context", <-first, context.Canceled)
	c.wantErr("Close must return nil", c.Store.Close(), nil)
	c.wantErr("a wait must end with its store", <-second, semel.ErrClosed)
	c.wantErr("Await after Close", <-c.awaits(c.ctx, rec.Digest), semel.ErrClosed)
}
