package semel

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// maxAbandoned bounds the abandoned work of one guard; beyond it the oldest is
// cut off.
const maxAbandoned = 64

// Detached is work that goes on after its claim was settled, such as an answer
// that is streamed. [Claim.Detach] makes one. Its methods are safe for
// concurrent use.
type Detached struct {
	claim *Claim
	moved atomic.Int64 // when the work last progressed, counted from claim.won

	mu    sync.Mutex  // guards the fields below
	timer *time.Timer // nil unless the work is abandoned
	ended bool
}

// Detach makes Context outlive the settlement, until [Policy.MaxRun] or until
// the work is cut off (see [Detached.Abandon]). The claim keeps its seat among
// [Options.LiveClaims] and [Options.LiveClaimsPerScope] until [Detached.End],
// which the caller must call when the work has returned. Call Detach before the
// settling method: a claim that was settled has neither context nor seat left,
// and Detach then returns work that has ended.
func (c *Claim) Detach() *Detached {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.detached == nil {
		if c.phase == phaseEnded {
			return &Detached{claim: c, ended: true}
		}
		c.detached = &Detached{claim: c}
		c.guard.core.detached.Add(1)
	}
	return c.detached
}

// End ends the claim's context and gives its seat back. Only the first call
// counts.
func (d *Detached) End() {
	d.mu.Lock()
	ended := d.ended
	d.ended = true
	if d.timer != nil {
		d.timer.Stop()
	}
	d.mu.Unlock()
	if ended {
		return
	}
	c := d.claim
	core := c.guard.core
	core.abandoned.Remove(d)
	core.detached.Add(-1)
	c.mu.Lock()
	c.detached = nil
	settled := c.phase == phaseEnded
	if settled {
		c.beat.Stop()
	}
	c.mu.Unlock()
	if settled {
		c.cancel(context.Canceled)
		core.ended(c)
	}
}

// Moved notes that the work has progressed.
func (d *Detached) Moved() { d.moved.Store(int64(time.Since(d.claim.won))) }

// Abandon says that no caller waits for the work any more: its context ends
// when Moved is not called for idle. It ends earlier when the guard shuts down,
// or when more work is abandoned than the guard keeps.
func (d *Detached) Abandon(idle time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended || d.timer != nil {
		return
	}
	d.Moved()
	d.timer = time.AfterFunc(idle, func() { d.expire(idle) })
	d.claim.guard.core.abandoned.Add(d)
}

// expire cuts the work off, unless it has moved within idle.
func (d *Detached) expire(idle time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	if left := idle - (time.Since(d.claim.won) - time.Duration(d.moved.Load())); left > 0 {
		d.timer.Reset(left)
		return
	}
	d.cutOff()
}

func (d *Detached) cutOff() {
	d.claim.cancel(fmt.Errorf("%w: the caller has gone, and the answer made no progress", context.Canceled))
}
