// Package lease keeps the time of a claim: the heartbeat that renews its lease, the settlement that ends it, and the
// bound of its work.
package lease

import (
	"container/heap"
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"sync/atomic"
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

// Life is a context without values that [Life.End] ends. What package context needs for that is made when a caller
// asks for it. The zero value goes on.
type Life struct {
	mu     sync.Mutex      // guards the fields below
	made   context.Context //nolint:containedctx // it is a context.
	cancel context.CancelCauseFunc
	cause  error // of its end
}

// End ends the life; only the first cause counts.
func (l *Life) End(cause error) {
	l.mu.Lock()
	if l.cause == nil {
		l.cause = cause
	}
	cause, cancel := l.cause, l.cancel
	l.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

func (l *Life) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made, l.cancel = context.WithCancelCause(context.Background())
		if l.cause != nil {
			l.cancel(l.cause)
		}
	}
	return l.made
}

// Done implements [context.Context].
func (l *Life) Done() <-chan struct{} { return l.context().Done() }

// Err implements [context.Context].
func (l *Life) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.made != nil:
		return l.made.Err()
	case l.cause != nil:
		return context.Canceled
	}
	return nil
}

// Value implements [context.Context]: package context asks for what is its own.
func (l *Life) Value(key any) any { return l.context().Value(key) }

// Deadline implements [context.Context].
func (*Life) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Owners mints tokens that no other attempt of any process has: 64 random bits of its maker, and a count.
type Owners struct {
	prefix [8]byte
	count  atomic.Uint64
}

// NewOwners returns a mint of its own randomness.
func NewOwners() *Owners {
	o := &Owners{}
	_, _ = rand.Read(o.prefix[:]) // it never fails
	return o
}

// Next returns a token.
func (o *Owners) Next() (token [16]byte) {
	copy(token[:], o.prefix[:])
	binary.BigEndian.PutUint64(token[8:], o.count.Add(1))
	return token
}

// Beats calls many clocks at their times, by one timer. The zero value is ready.
type Beats struct {
	mu    sync.Mutex // guards all, and the beats in it
	next  queue
	timer *time.Timer
	rings time.Time // when the timer will; zero when it is not set
}

// beat is the place of one clock in [Beats].
type beat struct {
	at     time.Time
	place  int // in the queue, from 1; 0 when it is not there
	beater interface{ Beat() }
}

// set has the beat called once, after d. A timer that rings sooner is left as it is: it finds nothing to do.
func (b *Beats) set(one *beat, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one.at = time.Now().Add(d)
	if one.place == 0 {
		heap.Push(&b.next, one)
	} else {
		heap.Fix(&b.next, one.place-1)
	}
	b.arm()
}

// unset takes a beat out.
func (b *Beats) unset(one *beat) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one.place > 0 {
		heap.Remove(&b.next, one.place-1)
	}
}

// arm has the timer ring in time for the next beat. mu is held.
func (b *Beats) arm() {
	if len(b.next) == 0 || !b.rings.IsZero() && !b.next[0].at.Before(b.rings) {
		return
	}
	b.rings = b.next[0].at
	if b.timer == nil {
		b.timer = time.AfterFunc(time.Until(b.rings), b.ring)
		return
	}
	b.timer.Reset(time.Until(b.rings))
}

// ring calls what is due, each in a goroutine of its own, which a store may hold up.
func (b *Beats) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for now := time.Now(); len(b.next) > 0 && !b.next[0].at.After(now); {
		if one, ok := heap.Pop(&b.next).(*beat); ok {
			go one.beater.Beat()
		}
	}
	b.rings = time.Time{}
	b.arm()
}

// Rest stops the timer while no clock needs it.
func (b *Beats) Rest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.next) == 0 && b.timer != nil {
		b.timer.Stop()
		b.rings = time.Time{}
	}
}

// queue is a heap of beats, the next one first.
type queue []*beat

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i+1, j+1
}

// Push implements [heap.Interface].
func (q *queue) Push(x any) {
	if one, ok := x.(*beat); ok {
		*q = append(*q, one)
		one.place = len(*q)
	}
}

// Pop implements [heap.Interface].
func (q *queue) Pop() any {
	last := len(*q) - 1
	one := (*q)[last]
	(*q)[last], one.place = nil, 0
	*q = (*q)[:last]
	return one
}
