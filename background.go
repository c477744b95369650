package semel

import (
	"context"
	"time"
)

const (
	// maxGiveBacks bounds the goroutines that undo claims whose reply was lost.
	maxGiveBacks = 64
	// sweepStep is how many records one sweep removes at most.
	sweepStep = 500
	// Between the steps of one sweep there is a pause for the load beside it:
	// sweepRest times as long as the step took, and at least sweepPause.
	sweepRest  = 4
	sweepPause = 2 * time.Millisecond
)

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
	c.background.enter()
	go func() {
		defer c.background.exit()
		defer func() { <-c.giveBacks }()
		ctx, cancel := context.WithTimeout(c.life, p.Lease)
		defer cancel()
		c.undo(ctx, p)
	}()
}

func (c *core) undo(ctx context.Context, p ClaimParams) {
	s := Settlement{State: StateReleased}
	if p.TakeOver != 0 { // what was unknown before stays unknown
		s = Settlement{State: StateUnknown, Note: "taken over, then given back without running", Retention: p.Retention}
	}
	for pause := range backoffs() {
		if !sleep(ctx, pause) {
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
			c.waiters.wake(p.Digest)
			return
		}
	}
}

// startSweeping sweeps expired records beside the load, where the store can.
func (c *core) startSweeping(every time.Duration) {
	sweeper, ok := StoreAs[Sweeper](c.store)
	if !ok || every < 0 {
		return
	}
	if every == 0 {
		every = DefaultSweepEvery
	}
	c.background.enter()
	go func() {
		defer c.background.exit()
		for sleep(c.life, every) {
			c.sweep(sweeper)
		}
	}()
}

// sweep removes what has expired, in short steps.
func (c *core) sweep(sweeper Sweeper) {
	for {
		began := time.Now()
		removed, err := sweeper.Sweep(c.life, sweepStep)
		took := time.Since(began)
		if hook := c.trace.Swept; hook != nil && (removed > 0 || err != nil) && c.life.Err() == nil {
			hook(c.life, SweepInfo{Removed: removed, Took: took, Err: err})
		}
		if err != nil || removed < sweepStep || !sleep(c.life, max(sweepPause, sweepRest*took)) {
			return
		}
	}
}
