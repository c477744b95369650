package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

var (
	errNotTaken = errors.New("not executed")
	errLeft     = errors.New("the answer was not waited for")
)

// lane brings the steps of one verb to the store, P being what is asked and A
// what is answered.
type lane[P, A any] struct {
	opts    Options
	ask     func(context.Context, []P) ([]A, error)
	life    context.Context //nolint:containedctx // the store's life, ended by Close.
	seats   chan struct{}   // full when MaxQueue steps wait
	closing chan struct{}   // closed when nothing new is taken
	batches sync.WaitGroup
	steps   sync.Pool // of *step[P, A]
	used    sync.Pool // of *batch[P, A]

	mu      sync.Mutex // guards the fields below
	tails   map[semel.Digest]*step[P, A]
	queue   queue[P, A]
	slots   slots
	closed  bool
	gone    bool          // what is lost is not repeated any more
	drained chan struct{} // closed when closed and nothing waits or is under way
	alarm   *time.Timer
	alarmAt time.Time // zero when it is not set
}

func newLane[P, A any](life context.Context, opts Options, ask func(context.Context, []P) ([]A, error)) *lane[P, A] {
	l := &lane[P, A]{
		opts: opts, ask: ask, life: life,
		seats:   make(chan struct{}, opts.MaxQueue),
		closing: make(chan struct{}),
		drained: make(chan struct{}),
		tails:   map[semel.Digest]*step[P, A]{},
		slots:   slots{all: make([]slot, opts.InFlight), patience: opts.Timeout + opts.Timeout/4},
	}
	l.steps.New = func() any { return &step[P, A]{done: make(chan struct{}, 1)} }
	l.used.New = func() any { return &batch[P, A]{} }
	l.alarm = time.AfterFunc(time.Hour, l.ring)
	l.alarm.Stop()
	return l
}

// step returns a fresh step. Its caller enters with it, and afterwards, unless
// that failed, recycles it or leaves with it.
func (l *lane[P, A]) step(d semel.Digest) *step[P, A] {
	st, ok := l.steps.Get().(*step[P, A])
	if !ok {
		return nil // the pool holds nothing else
	}
	*st = step[P, A]{digest: d, done: st.done, outcome: st.outcome}
	return st
}

func (l *lane[P, A]) recycle(st *step[P, A]) {
	var none step[P, A]
	st.params, st.answer = none.params, none.answer
	l.steps.Put(st)
}

// enter returns when the step was answered, or when it is its caller's turn to
// take it alone. After an error the step is no longer the caller's.
func (l *lane[P, A]) enter(ctx context.Context, st *step[P, A]) (alone bool, err error) {
	if err := ctx.Err(); err != nil {
		l.recycle(st)
		return false, fmt.Errorf("%w: %w", errNotTaken, err)
	}
	if ok, err := l.enterAtOnce(st); ok || err != nil {
		return true, err
	}
	if err := l.sit(ctx); err != nil {
		l.recycle(st)
		return false, err
	}
	st.seated = true
	l.mu.Lock()
	if l.closed {
		l.vacate(st)
		l.mu.Unlock()
		l.recycle(st)
		return false, semel.ErrClosed
	}
	l.arrive(st)
	l.dispatch()
	l.mu.Unlock()
	return l.wait(ctx, st)
}

// enterAtOnce lets a step in that has the lane to itself.
func (l *lane[P, A]) enterAtOnce(st *step[P, A]) (ok bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		l.recycle(st)
		return false, semel.ErrClosed
	}
	if l.opts.MaxDelay > 0 || l.queue.n > 0 || l.tails[st.digest] != nil {
		return false, nil
	}
	if st.turn, ok = l.slots.take(1, time.Now()); ok {
		st.state = granted
		l.tails[st.digest] = st
	}
	return ok, nil
}

// sit takes a place in the queue.
func (l *lane[P, A]) sit(ctx context.Context) error {
	select {
	case l.seats <- struct{}{}:
		return nil
	default:
	}
	select {
	case l.seats <- struct{}{}:
		return nil
	case <-l.closing:
		return semel.ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: %d others wait already: %w", errNotTaken, l.opts.MaxQueue, ctx.Err())
	}
}

// vacate gives the step's place back.
func (l *lane[P, A]) vacate(st *step[P, A]) {
	if st.seated {
		st.seated = false
		<-l.seats
	}
}

// arrive puts the step behind those that came before it. mu is held.
func (l *lane[P, A]) arrive(st *step[P, A]) {
	if l.opts.MaxDelay > 0 {
		st.since = time.Now()
	}
	st.before = l.tails[st.digest]
	l.tails[st.digest] = st
	if st.before != nil {
		st.before.after = st
		return
	}
	l.queue.pushBack(st)
}

// depart lets the next step on the same digest come forward. mu is held.
func (l *lane[P, A]) depart(st *step[P, A]) {
	next := st.after
	switch {
	case st.before != nil: // it was not its turn
		st.before.after = next
		if next != nil {
			next.before = st.before
		} else {
			l.tails[st.digest] = st.before
		}
	case next != nil:
		next.before = nil
		l.queue.pushBack(next)
	default:
		delete(l.tails, st.digest)
	}
	st.before, st.after = nil, nil
	if l.closed && len(l.tails) == 0 {
		l.empty()
	}
}

// wait returns when the step is granted or answered, or its caller's context
// has ended.
func (l *lane[P, A]) wait(ctx context.Context, st *step[P, A]) (alone bool, err error) {
	select {
	case <-st.done:
		return l.called(st)
	case <-ctx.Done():
	}
	l.mu.Lock()
	switch st.state {
	case waiting:
		l.withdraw(st)
		l.mu.Unlock()
		l.recycle(st)
		return false, fmt.Errorf("%w: %w", errNotTaken, ctx.Err())
	case travelling:
		st.abandoned = true
		l.mu.Unlock()
		return false, fmt.Errorf("%w: %w", errLeft, ctx.Err())
	case granted, answered, givenUp:
	}
	l.mu.Unlock()
	<-st.done
	if alone, err = l.called(st); !alone {
		return false, err
	}
	lost := st.lost
	l.leave(st)
	if lost != nil {
		return false, fmt.Errorf("the batch was lost: %w; %w", lost, ctx.Err())
	}
	return false, fmt.Errorf("%w: %w", errNotTaken, ctx.Err())
}

// called says what the step was woken for.
func (l *lane[P, A]) called(st *step[P, A]) (alone bool, err error) {
	l.mu.Lock()
	state, lost := st.state, st.lost
	l.mu.Unlock()
	if state != givenUp {
		return state == granted, nil
	}
	l.recycle(st)
	if lost != nil {
		return false, fmt.Errorf("the batch was lost: %w", lost)
	}
	return false, semel.ErrClosed
}

// withdraw takes a step that waits out of the queue. mu is held.
func (l *lane[P, A]) withdraw(st *step[P, A]) {
	if st.before == nil {
		l.queue.remove(st)
	}
	l.depart(st)
	l.vacate(st)
}

// giveUp tells its caller that the step waited in vain. mu is held, and the
// step is no longer the lane's.
func (l *lane[P, A]) giveUp(st *step[P, A]) {
	st.state = givenUp
	st.done <- struct{}{}
}

// leave ends a step that its caller took alone.
func (l *lane[P, A]) leave(st *step[P, A]) {
	l.mu.Lock()
	l.slots.giveBack(st.turn)
	l.depart(st)
	l.dispatch()
	l.mu.Unlock()
	l.recycle(st)
}
