package semel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/lease"
	"github.com/semel-dev/semel/internal/waiting"
)

// heartbeat is a claim as its clock calls it, every third of a lease.
type heartbeat Claim

func (h *heartbeat) Beat() {
	c, core := (*Claim)(h), h.guard.core
	core.background.Enter()
	defer core.background.Exit()
	overrun := fmt.Errorf("%w: it ran for %v", context.DeadlineExceeded, c.clock.MaxRun)
	switch due, trusted := c.clock.Due(); due {
	case lease.Renewal:
		began, err := c.renewUntil(trusted)
		if err != nil {
			c.lose(err)
			return
		}
		c.clock.Renewed(began)
	case lease.Overrun:
		c.lose(overrun)
	case lease.DetachedOverrun:
		c.life.End(overrun)
	case lease.Silence:
		c.life.End(fmt.Errorf("settle: %w", context.DeadlineExceeded)) // the store hangs: settleAgain takes over
	case lease.Nothing:
	}
}

// renewUntil renews, again and again while the answer is lost, as long as the
// present lease can be trusted. began is when the successful call started.
func (c *Claim) renewUntil(trusted time.Time) (began time.Time, err error) {
	ctx, cancel := context.WithDeadlineCause(c.guard.core.life, trusted,
		fmt.Errorf("%w: the lease could not be renewed in time", ErrLost))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { // even when the store ignores ctx
		if errors.Is(context.Cause(ctx), ErrLost) {
			c.lose(context.Cause(ctx))
		}
	})
	defer stop()
	for pause := range waiting.Backoffs() {
		began = time.Now()
		err = c.guard.core.store.Renew(ctx, c.digest, c.fence, c.guard.policy.Lease)
		if hook := c.guard.core.trace.Renewed; hook != nil {
			hook(&c.ctx, RenewInfo{Digest: c.digest, Fence: c.fence, Took: time.Since(began), Err: err})
		}
		if err == nil || (definite(err) && !errors.Is(err, ErrFull)) { // room may be made while the lease lasts
			return began, err
		}
		if !waiting.Sleep(ctx, pause) {
			return began, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
	return began, err
}

// lose stops the work, because another attempt may hold the claim by now. The
// claim can still be settled; the store decides by the fence.
func (c *Claim) lose(err error) {
	if !c.clock.Open() || c.ctx.Err() != nil {
		return
	}
	if !errors.Is(err, ErrLost) {
		err = fmt.Errorf("%w: %w", ErrLost, err)
	}
	c.life.End(err)
	if hook := c.guard.core.trace.Lost; hook != nil {
		hook(&c.ctx, LostInfo{Digest: c.digest, Fence: c.fence, Held: time.Since(c.clock.Began), Err: err})
	}
}

// maxCutOffs bounds the goroutines that settle what a shutdown cuts off.
const maxCutOffs = 256

// cutOff gives up every claim that is still open, for the guard's end, and returns their number. Each is recorded as
// unknown, until ctx ends, so that a retry need not wait for the lease. Work that ends after all settles the record
// by its fence, if the store is still open.
func (c *core) cutOff(ctx context.Context) int {
	held := c.open.All()
	cut := make(chan *Claim, len(held))
	for _, claim := range held {
		if claim.clock.Open() {
			cut <- claim
		}
		claim.lose(ErrClosed)
		claim.clock.Stop()
	}
	c.beats.Rest()
	close(cut)
	number := len(cut)
	for range min(number, maxCutOffs) {
		c.inBackground(func() {
			for claim := range cut {
				claim.recordCutOff(ctx)
			}
		})
	}
	return number
}

// recordCutOff records that the work may have happened. Without an answer of the store the lease lapses, which is safe.
func (c *Claim) recordCutOff(ctx context.Context) {
	s := Settlement{State: StateUnknown, Note: "cut off by shutdown", Retention: c.guard.policy.retention(StateUnknown)}
	for pause := range waiting.Backoffs() {
		err := c.guard.core.store.Settle(ctx, c.digest, c.fence, s)
		if err == nil || definite(err) || !waiting.Sleep(ctx, pause) {
			break
		}
	}
	c.guard.core.waiters.Wake(c.digest)
}
