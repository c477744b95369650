// Package lease keeps the time of a claim: the heartbeat that renews its lease, the settlement that ends it, and the
// bound of its work.
package lease

import (
	"sync"
	"time"

	"github.com/semel-dev/semel/internal/transition"
)

// Clock is the time of one claim. Its work may outlive the settlement, as a W. The exported fields are set
// before [Clock.Start], and do not change. Methods are safe for concurrent use.
type Clock[W any] struct {
	Began  time.Time // when the call that won began
	Lease  time.Duration
	MaxRun time.Duration // bounds the work

	mu      sync.Mutex // guards the fields below
	beats   *Beats
	beat    beat
	trusted time.Time // until when the lease can be relied on
	silence time.Time // when the first call of a settlement must have returned
	phase   phase
	work    *W // detached work, which the timer bounds after the settlement
}

type phase uint8

const (
	open     phase = iota
	settling       // a settlement is being recorded
	ended
)

// Due is the reason for a beat.
type Due uint8

const (
	// Nothing means: what the timer was set for is over.
	Nothing Due = iota
	// Renewal means: the lease is to be renewed.
	Renewal
	// Overrun means: the claim is open, and its work has run for MaxRun.
	Overrun
	// DetachedOverrun means: the claim is settled, and its work has run for MaxRun.
	DetachedOverrun
	// Silence means: the first call of a settlement has not returned in its time.
	Silence
)

// Start lets beats call the beater. left is the rest of the lease: less than all of it when a repeated call found that
// it had won before.
func (c *Clock[W]) Start(beats *Beats, left time.Duration, beater interface{ Beat() }) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trusted = c.trustedFrom(c.Began).Add(left - c.Lease)
	c.beats, c.beat.beater = beats, beater
	beats.set(&c.beat, min(left/3, c.MaxRun)-time.Since(c.Began))
}

// trustedFrom returns the moment from which a lease asked for at began may have lapsed.
func (c *Clock[W]) trustedFrom(began time.Time) time.Time {
	return began.Add(transition.Trusted(c.Lease))
}

// Due returns what a beat has to do. A renewal has until trusted.
func (c *Clock[W]) Due() (due Due, trusted time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	overrun := time.Since(c.Began) >= c.MaxRun
	switch {
	case c.phase == settling && time.Now().Before(c.silence): // the beat was under way when the settlement began
		return Nothing, time.Time{}
	case c.phase == settling:
		return Silence, time.Time{}
	case c.phase == open && overrun:
		return Overrun, time.Time{}
	case c.phase == open:
		return Renewal, c.trusted
	case overrun && c.work != nil:
		return DetachedOverrun, time.Time{}
	}
	return Nothing, time.Time{}
}

// Renewed notes a renewal by a call that began then, and sets the next beat.
func (c *Clock[W]) Renewed(began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trusted = c.trustedFrom(began)
	if c.phase == open {
		c.beats.set(&c.beat, max(0, min(c.Lease/3-time.Since(began), c.MaxRun-time.Since(c.Began))))
	}
}

// Open reports whether no settlement has begun.
func (c *Clock[W]) Open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase == open
}

// Settle ends the heartbeat, and bounds the first call of the settlement in its place. It returns false when another
// settlement has begun.
func (c *Clock[W]) Settle(timeout time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != open {
		return false
	}
	c.phase, c.silence = settling, time.Now().Add(timeout)
	c.beats.set(&c.beat, timeout)
	return true
}

// Reopen says that the settlement was refused, and another one may follow.
func (c *Clock[W]) Reopen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase = open
}

// End says that the claim is settled. first is false when it was before; detached says that its work goes on.
func (c *Clock[W]) End() (first, detached bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, detached = c.phase != ended, c.work != nil
	c.phase = ended
	switch {
	case !detached:
		c.beats.unset(&c.beat)
	case first:
		c.beats.set(&c.beat, max(0, c.MaxRun-time.Since(c.Began)))
	}
	return first, detached
}

// Stop stops the timer, unless it bounds detached work.
func (c *Clock[W]) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != ended {
		c.beats.unset(&c.beat)
	}
}

// Detach lets work outlive the settlement. It returns the work that is detached already, or nil after the settlement.
func (c *Clock[W]) Detach(work *W) *W {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.work != nil:
	case c.phase == ended:
		return nil
	default:
		c.work = work
	}
	return c.work
}

// Return says that the detached work has returned, and reports whether the claim was settled before.
func (c *Clock[W]) Return() (settled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.work = nil
	if c.phase == ended {
		c.beats.unset(&c.beat)
	}
	return c.phase == ended
}
