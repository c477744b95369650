package semel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// pollFirst and pollMost bound how often a waiter asks the store, for the
	// case that the twin runs in another process.
	pollFirst = 20 * time.Millisecond
	pollMost  = 500 * time.Millisecond
)

// wait blocks until the running twin ends, and claims if that left no record.
func (a *attempt) wait(met Record) storeAnswer {
	from := time.Now()
	defer func() { a.waited += time.Since(from) }()
	a.met = &met
	left := a.guard.policy.Wait - a.waited
	if left <= 0 {
		return storeAnswer{rec: met}
	}
	deadline := time.NewTimer(left)
	defer deadline.Stop()
	for poll := pollFirst; ; poll = min(2*poll, pollMost) {
		rec, again, err := a.sit(deadline.C, poll)
		s := storeAnswer{rec: rec, err: err}
		if errors.Is(err, ErrNotFound) && a.transactor == nil {
			s = a.claimFresh(time.Now())
		}
		if s.err != nil || s.won || !again || !a.running(&s.rec) {
			return s
		}
	}
}

// sit waits for one wake-up, poll or end, and returns the record as it is then;
// again is false when the patience is used up.
func (a *attempt) sit(deadline <-chan time.Time, poll time.Duration) (rec Record, again bool, err error) {
	c := a.guard.core
	room, ok := c.waiters.Join(a.digest, a.key.Scope)
	if !ok {
		return Record{}, false, fmt.Errorf("%w: too many attempts wait for it already", ErrInFlight)
	}
	if c.notifier != nil {
		d := a.digest
		c.waiters.Listen(c.life, d, room, c.inBackground, func(ctx context.Context) error { return c.notifier.Await(ctx, d) })
	}
	defer c.waiters.Leave(a.digest, a.key.Scope, room)
	// Looked up after joining: a twin that settles from here on wakes us.
	rec, err = a.lookup()
	if err != nil || rec.State != StateClaimed || rec.Lapsed() {
		return rec, true, err
	}
	if room.Notified() {
		poll = pollMost // the store notifies; polling is the fallback
	}
	timer := time.NewTimer(min(poll, max(rec.LeaseLeft(), time.Millisecond)))
	defer timer.Stop()
	if again, err = a.pause(room, timer.C, deadline); err != nil {
		return rec, false, err
	}
	rec, err = a.lookup()
	return rec, again, err
}

// pause waits in the room; again is false when the deadline woke it.
func (a *attempt) pause(room *waiting.Room, poll, deadline <-chan time.Time) (again bool, err error) {
	select {
	case <-room.Done():
		return true, nil
	case <-poll:
		return true, nil
	case <-deadline:
		return false, nil
	case <-a.guard.core.drain:
		return false, ErrClosed
	case <-a.ctx.Done():
		return false, fmt.Errorf("wait: %w", context.Cause(a.ctx))
	}
}
