package semel

import (
	"context"
	"errors"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// maxGiveBacks bounds the goroutines that undo claims whose reply was lost.
const maxGiveBacks = 64

// giveBack undoes a claim that may have been recorded although its reply was
// lost, so that an intent that never ran does not lapse into unknown. It tries
// for one lease; beyond that, or when too many are being undone, the record
// lapses, which is safe.
func (c *core) giveBack(p ClaimParams) {
	select {
	case c.giveBacks <- struct{}{}:
	default:
		return
	}
	c.inBackground(func() {
		defer func() { <-c.giveBacks }()
		ctx, cancel := context.WithTimeout(c.life, p.Lease)
		defer cancel()
		c.undo(ctx, p)
	})
}

func (c *core) undo(ctx context.Context, p ClaimParams) {
	s := Settlement{State: StateReleased}
	if p.TakeOver != 0 { // an unknown record stays unknown
		s = Settlement{State: StateUnknown, Note: "taken over, then given back without running", Retention: p.Retention}
	}
	for pause := range waiting.Backoffs() {
		if !waiting.Sleep(ctx, pause) {
			return
		}
		rec, err := c.store.Lookup(ctx, p.Digest)
		if err == nil && (rec.Owner != p.Owner || rec.State != StateClaimed) {
			return
		}
		if err == nil {
			err = c.store.Settle(ctx, p.Digest, rec.Fence, s)
		}
		if err == nil || definite(err) {
			c.waiters.Wake(p.Digest)
			return
		}
	}
}

// yield gives back a claim under which nothing ran. The next claim has another
// owner, so that undoing this one late does not end it.
func (a *attempt) yield(rec *Record, p ClaimParams, to Settlement) {
	a.guard.core.handBack(a.ctx, rec, p, to)
	a.giveSeats(p.TakeOver)
	a.owner = a.guard.core.owners.Next()
}

// handBack settles a claim under which nothing ran, in the background if the
// answer is lost.
func (c *core) handBack(ctx context.Context, rec *Record, p ClaimParams, to Settlement) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
	defer cancel()
	if err := c.store.Settle(ctx, rec.Digest, rec.Fence, to); err != nil && !definite(err) {
		c.giveBack(p) //nolint:contextcheck // it must not end with the context.
	}
	c.waiters.Wake(rec.Digest)
}

// settleLater repeats a settlement that a full store refused, without the outcome, for one lease: what happened is then
// not unknown when room is made. Beyond that, or when too many are repeated, the record lapses, which is safe.
func (c *core) settleLater(d Digest, f Fence, s Settlement, lease time.Duration) {
	select {
	case c.giveBacks <- struct{}{}:
	default:
		return
	}
	c.inBackground(func() {
		defer func() { <-c.giveBacks }()
		ctx, cancel := context.WithTimeout(c.life, lease)
		defer cancel()
		for pause := range waiting.Backoffs() {
			if !waiting.Sleep(ctx, pause) {
				return
			}
			if err := c.store.Settle(ctx, d, f, s); err == nil || definite(err) && !errors.Is(err, ErrFull) {
				c.waiters.Wake(d)
				return
			}
		}
	})
}
