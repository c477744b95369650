package semel

import (
	"context"
	"errors"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// maxGiveBacks bounds the goroutines that repeat settlements.
const maxGiveBacks = 64

// repeat settles a record in the background, for one lease, until settle has a definite
// answer other than that the store is full. After that, or when too many are being
// repeated, the record lapses, which is safe.
func (c *core) repeat(d Digest, lease time.Duration, settle func(context.Context) error) {
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
			if err := settle(ctx); err == nil || definite(err) && !errors.Is(err, ErrFull) {
				c.waiters.Wake(d)
				return
			}
		}
	})
}

// giveBack undoes a claim that may have been recorded although its reply was
// lost, so that an intent that never ran does not lapse into unknown.
func (c *core) giveBack(p ClaimParams) {
	s := Settlement{State: StateReleased}
	if p.TakeOver != 0 { // an unknown record stays unknown
		s = Settlement{State: StateUnknown, Note: "taken over, then given back without running", Retention: p.Retention}
	}
	c.repeat(p.Digest, p.Lease, func(ctx context.Context) error {
		rec, err := c.store.Lookup(ctx, p.Digest)
		if err != nil || rec.Owner != p.Owner || rec.State != StateClaimed {
			return err
		}
		return c.store.Settle(ctx, p.Digest, rec.Fence, s)
	})
}

// settleLater repeats a settlement that a full store refused, without the outcome, so
// that the record need not lapse into unknown when there is room again.
func (c *core) settleLater(d Digest, f Fence, s Settlement, lease time.Duration) {
	c.repeat(d, lease, func(ctx context.Context) error { return c.store.Settle(ctx, d, f, s) })
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
