package semel

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// maxAbandoned bounds the abandoned work of one guard; beyond it the oldest is
// cut off.
const maxAbandoned = 64

// Detached is work that goes on after its claim was settled, such as an answer
// that is streamed. [Claim.Detach] makes one. Its methods are safe for
// concurrent use.
type Detached struct {
	claim *Claim
	idle  waiting.Idle
}

// Detach makes Context outlive the settlement, until [Policy.MaxRun] or until
// the work is cut off (see [Detached.Abandon]). The claim keeps its seat among
// [Options.LiveClaims] and [Options.LiveClaimsPerScope] until [Detached.End],
// which the caller must call when the work has returned. Call Detach before the
// settling method: a claim that was settled has neither context nor seat left,
// and Detach then returns work that has ended.
func (c *Claim) Detach() *Detached {
	d := &Detached{claim: c, idle: waiting.Idle{From: c.clock.Began}}
	switch all := c.clock.Detach(d); all {
	case nil:
		d.idle.End()
		return d
	case d:
		c.guard.core.detached.Add(1)
		return d
	default:
		return all
	}
}

// End ends the claim's context and gives its seat back. Only the first call
// counts.
func (d *Detached) End() {
	if !d.idle.End() {
		return
	}
	c := d.claim
	core := c.guard.core
	core.abandoned.Remove(d)
	core.detached.Add(-1)
	if settled := c.clock.Return(); settled {
		c.life.End(context.Canceled)
		core.ended(c)
	}
}

// Moved notes that the work has progressed.
func (d *Detached) Moved() { d.idle.Moved() }

// Abandon says that no caller waits for the work any more: its context ends
// when Moved is not called for idle. It ends earlier when the guard shuts down,
// or when more work is abandoned than the guard keeps.
func (d *Detached) Abandon(idle time.Duration) {
	d.idle.Watch(idle, d.cutOff, func() { d.claim.guard.core.abandoned.Add(d) })
}

func (d *Detached) cutOff() {
	d.claim.life.End(fmt.Errorf("%w: the caller has gone, and the answer made no progress", context.Canceled))
}
