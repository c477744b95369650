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

// stream brings claims and settlements to the store.
type stream struct {
	opts    Options
	batcher semel.Batcher
	life    context.Context      //nolint:containedctx // the store's life, ended by Close.
	limits  [verbs]chan struct{} // full when MaxQueue steps of the verb wait
	closing chan struct{}        // closed when nothing new is taken
	batches sync.WaitGroup
	steps   sync.Pool // of *step
	used    sync.Pool // of *batch

	mu      sync.Mutex // guards the fields below
	tails   map[subject]*step
	queue   queue
	slots   slots
	closed  bool
	gone    bool          // what is lost is not repeated any more
	drained chan struct{} // closed when closed and nothing waits or is under way
	alarm   *time.Timer
	alarmAt time.Time // zero when it is not set
}

func newStream(life context.Context, opts Options, batcher semel.Batcher) *stream {
	s := &stream{
		opts: opts, batcher: batcher, life: life,
		closing: make(chan struct{}),
		drained: make(chan struct{}),
		tails:   map[subject]*step{},
		slots:   slots{all: make([]slot, opts.InFlight), patience: opts.Timeout + opts.Timeout/4},
	}
	for v := range s.limits {
		s.limits[v] = make(chan struct{}, opts.MaxQueue)
	}
	s.steps.New = func() any { return &step{done: make(chan struct{}, 1)} }
	s.used.New = func() any { return &batch{} }
	s.alarm = time.AfterFunc(time.Hour, s.ring)
	s.alarm.Stop()
	return s
}

// step returns a fresh step. Its caller enters with it, and afterwards, unless
// that failed, recycles it or leaves with it.
func (s *stream) step(d semel.Digest, v verb) *step {
	st, ok := s.steps.Get().(*step)
	if !ok {
		return nil // the pool holds nothing else
	}
	*st = step{subject: subject{d, v}, done: st.done, outcome: st.outcome}
	return st
}

func (s *stream) recycle(st *step) {
	st.claim, st.settle, st.answer = semel.ClaimParams{}, semel.SettleParams{}, semel.ClaimAnswer{}
	s.steps.Put(st)
}

// enter returns when the step was answered, or when it is its caller's turn to
// take it alone. After an error the caller must not use the step.
func (s *stream) enter(ctx context.Context, st *step) (alone bool, err error) {
	if err := ctx.Err(); err != nil {
		s.recycle(st)
		return false, fmt.Errorf("%w: %w", errNotTaken, err)
	}
	if ok, err := s.enterAtOnce(st); ok || err != nil {
		return true, err
	}
	if err := s.acquire(ctx, st.subject.verb); err != nil {
		s.recycle(st)
		return false, err
	}
	st.acquired = true
	s.mu.Lock()
	if s.closed {
		s.release(st)
		s.mu.Unlock()
		s.recycle(st)
		return false, semel.ErrClosed
	}
	s.enqueue(st)
	s.dispatch() //nolint:contextcheck // a batch has a context of its own.
	s.mu.Unlock()
	return s.wait(ctx, st)
}

// enterAtOnce lets a step in that has the stream to itself.
func (s *stream) enterAtOnce(st *step) (ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.recycle(st)
		return false, semel.ErrClosed
	}
	if s.opts.MaxDelay > 0 || s.queue.n > 0 || s.tails[st.subject] != nil {
		return false, nil
	}
	if st.turn, ok = s.slots.takeTurn(1, time.Now()); ok {
		st.state = granted
		s.tails[st.subject] = st
	}
	return ok, nil
}

// acquire takes a place in the queue.
func (s *stream) acquire(ctx context.Context, v verb) error {
	select {
	case s.limits[v] <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.limits[v] <- struct{}{}:
		return nil
	case <-s.closing:
		return semel.ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: %d others wait already: %w", errNotTaken, s.opts.MaxQueue, ctx.Err())
	}
}

// release gives the step's place back.
func (s *stream) release(st *step) {
	if st.acquired {
		st.acquired = false
		<-s.limits[st.subject.verb]
	}
}

// enqueue puts the step behind those that came before it. mu is held.
func (s *stream) enqueue(st *step) {
	if s.opts.MaxDelay > 0 {
		st.since = time.Now()
	}
	st.before = s.tails[st.subject]
	s.tails[st.subject] = st
	if st.before != nil {
		st.before.after = st
		return
	}
	s.queue.pushBack(st)
}

// dequeue lets the next step of the same place come forward. mu is held.
func (s *stream) dequeue(st *step) {
	next := st.after
	switch {
	case st.before != nil: // it was not its turn
		st.before.after = next
		if next != nil {
			next.before = st.before
		} else {
			s.tails[st.subject] = st.before
		}
	case next != nil:
		next.before = nil
		s.queue.pushBack(next)
	default:
		delete(s.tails, st.subject)
	}
	st.before, st.after = nil, nil
	if s.closed && len(s.tails) == 0 {
		s.empty()
	}
}

// wait returns when the step is granted or answered, or its caller's context
// has ended.
func (s *stream) wait(ctx context.Context, st *step) (alone bool, err error) {
	select {
	case <-st.done:
		return s.called(st)
	case <-ctx.Done():
	}
	s.mu.Lock()
	switch st.state {
	case waiting:
		s.withdraw(st)
		s.mu.Unlock()
		s.recycle(st)
		return false, fmt.Errorf("%w: %w", errNotTaken, ctx.Err())
	case inBatch:
		st.abandoned = true
		s.mu.Unlock()
		return false, fmt.Errorf("%w: %w", errLeft, ctx.Err())
	case granted, answered, givenUp:
	}
	s.mu.Unlock()
	<-st.done
	if alone, err = s.called(st); !alone {
		return false, err
	}
	lost := st.lost
	s.leave(st) //nolint:contextcheck // see above.
	if lost != nil {
		return false, fmt.Errorf("the batch was lost: %w; %w", lost, ctx.Err())
	}
	return false, fmt.Errorf("%w: %w", errNotTaken, ctx.Err())
}

// called says what the step was woken for.
func (s *stream) called(st *step) (alone bool, err error) {
	s.mu.Lock()
	state, lost := st.state, st.lost
	s.mu.Unlock()
	if state != givenUp {
		return state == granted, nil
	}
	s.recycle(st)
	if lost != nil {
		return false, fmt.Errorf("the batch was lost: %w", lost)
	}
	return false, semel.ErrClosed
}

// withdraw takes a step that waits out of the queue. mu is held.
func (s *stream) withdraw(st *step) {
	if st.before == nil {
		s.queue.remove(st)
	}
	s.dequeue(st)
	s.release(st)
}

// giveUp tells its caller that the step waited in vain. mu is held, and the
// stream has dropped the step.
func (s *stream) giveUp(st *step) {
	st.state = givenUp
	st.done <- struct{}{}
}

// leave ends a step that its caller took alone.
func (s *stream) leave(st *step) {
	s.mu.Lock()
	s.slots.giveBack(st.turn)
	s.dequeue(st)
	s.dispatch()
	s.mu.Unlock()
	s.recycle(st)
}
