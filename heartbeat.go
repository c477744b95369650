package semel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// renew is the heartbeat: called by the claim's timer, every third of a lease.
func (c *Claim) renew() {
	core := c.guard.core
	core.background.Enter()
	defer core.background.Exit()
	c.mu.Lock()
	phase, trusted, detached := c.phase, c.trusted, c.detached != nil
	c.mu.Unlock()
	switch {
	case phase == phaseSettling:
		c.cancel(fmt.Errorf("settle: %w", context.DeadlineExceeded)) // the store hangs: settleAgain takes over
		return
	case phase == phaseEnded:
		if detached && time.Since(c.won) >= c.guard.policy.MaxRun {
			c.cancel(fmt.Errorf("%w: it ran for %v", context.DeadlineExceeded, c.guard.policy.MaxRun))
		}
		return
	case time.Since(c.won) >= c.guard.policy.MaxRun:
		c.lose(fmt.Errorf("%w: it ran for %v", context.DeadlineExceeded, c.guard.policy.MaxRun))
		return
	}
	began, err := c.renewUntil(trusted)
	if err != nil {
		c.lose(err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trusted = trustedUntil(began, c.guard.policy.Lease)
	if c.phase == phaseOpen {
		c.beat.Reset(max(0, min(
			c.guard.policy.Lease/3-time.Since(began),
			c.guard.policy.MaxRun-time.Since(c.won))))
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
	c.mu.Lock()
	open := c.phase == phaseOpen && c.ctx.Err() == nil
	c.mu.Unlock()
	if !open {
		return
	}
	if !errors.Is(err, ErrLost) {
		err = fmt.Errorf("%w: %w", ErrLost, err)
	}
	c.cancel(err)
	if hook := c.guard.core.trace.Lost; hook != nil {
		hook(&c.ctx, LostInfo{Digest: c.digest, Fence: c.fence, Held: time.Since(c.won), Err: err})
	}
}

// opened enters the claim among those that hold a seat.
func (c *core) opened(claim *Claim) {
	c.live.Add(1)
	c.openMu.Lock()
	defer c.openMu.Unlock()
	c.open[claim] = struct{}{}
}

// ended removes the claim, and gives its seat back.
func (c *core) ended(claim *Claim) {
	c.live.Add(-1)
	if !claim.unbounded {
		c.quota.Leave(claim.scope)
	}
	c.openMu.Lock()
	defer c.openMu.Unlock()
	delete(c.open, claim)
}

// loseAll gives up every claim that is still open; for the guard's end.
func (c *core) loseAll() {
	c.openMu.Lock()
	open := maps.Clone(c.open)
	c.openMu.Unlock()
	for claim := range open {
		claim.lose(ErrClosed)
		claim.mu.Lock()
		if claim.phase != phaseEnded { // else it is detached, and MaxRun still bounds it
			claim.beat.Stop()
		}
		claim.mu.Unlock()
	}
}
