package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
)

var errNoAnswer = errors.New("the store gave no answer")

// batch is a call for many steps.
type batch struct {
	steps   []*step
	claims  []semel.ClaimParams
	settles []semel.SettleParams
	turn    turn
}

// dispatch lets what waits leave, as far as it can. mu is held.
func (s *stream) dispatch() {
	if s.queue.n == 0 {
		return
	}
	now := time.Now()
	for s.queue.n > 0 {
		first := s.queue.first
		if s.opts.MaxDelay > 0 && !first.alone && s.queue.n < s.opts.MaxBatch && !s.closed {
			if due := first.since.Add(s.opts.MaxDelay); now.Before(due) {
				s.setAlarm(due)
				return
			}
		}
		turn, ok := s.slots.takeTurn(min(s.queue.n, s.opts.MaxBatch), now)
		if !ok {
			s.setAlarm(s.slots.stuckAt(now))
			return
		}
		if first.alone || first.next == nil || first.next.alone {
			s.grant(first, turn)
		} else {
			s.send(turn)
		}
	}
}

// setAlarm has dispatch called at the time given, or before. mu is held.
func (s *stream) setAlarm(at time.Time) {
	if s.alarmAt.IsZero() || at.Before(s.alarmAt) {
		s.alarmAt = at
		s.alarm.Reset(time.Until(at))
	}
}

// ring is the alarm.
func (s *stream) ring() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alarmAt = time.Time{}
	s.dispatch()
}

// grant lets the caller take the step alone. mu is held.
func (s *stream) grant(st *step, t turn) {
	s.queue.remove(st)
	s.release(st)
	st.state, st.turn = granted, t
	s.slots.carry(t, 1)
	st.done <- struct{}{}
}

// send lets the first steps of the queue share a batch. mu is held.
func (s *stream) send(t turn) {
	b, ok := s.used.Get().(*batch)
	if !ok {
		return // the pool holds nothing else
	}
	b.turn = t
	for st := s.queue.first; st != nil && !st.alone && len(b.steps) < s.opts.MaxBatch; st = s.queue.first {
		s.queue.remove(st)
		s.release(st)
		st.state = inBatch
		b.steps = append(b.steps, st)
	}
	s.slots.carry(t, len(b.steps))
	s.batches.Add(1)
	go s.execute(b)
}

// execute asks the store. Whatever it does, every step gets its answer.
func (s *stream) execute(b *batch) {
	defer s.batches.Done()
	var won []semel.ClaimAnswer
	var settled []error
	err := errNoAnswer
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the store panicked: %v", dialect.DiscreetPanic(p))
		}
		if err != nil {
			s.lose(b, err)
			return
		}
		s.answer(b, won, settled)
	}()
	for _, st := range b.steps {
		if st.subject.verb == claims {
			b.claims = append(b.claims, st.claim)
		} else {
			b.settles = append(b.settles, st.settle)
		}
	}
	ctx, cancel := context.WithTimeout(s.life, s.opts.Timeout)
	defer cancel()
	won, settled, err = s.batcher.Batch(ctx, b.claims, b.settles)
	if err == nil && (len(won) != len(b.claims) || len(settled) != len(b.settles)) {
		err = fmt.Errorf("%d and %d answers to %d claims and %d settlements", len(won), len(settled), len(b.claims), len(b.settles))
	}
}

// answer hands every caller its answer.
func (s *stream) answer(b *batch, won []semel.ClaimAnswer, settled []error) {
	for _, st := range b.steps {
		if st.subject.verb == claims {
			st.answer, won = won[0], won[1:]
		} else {
			st.answer.Err, settled = settled[0], settled[1:]
		}
	}
	s.mu.Lock()
	s.slots.giveBack(b.turn)
	left := b.steps[:0] // those who still wait for their answer
	for _, st := range b.steps {
		s.dequeue(st)
		if st.abandoned {
			s.recycle(st)
			continue
		}
		st.state = answered
		left = append(left, st)
	}
	s.dispatch()
	s.mu.Unlock()
	for _, st := range left {
		st.done <- struct{}{} // from here on it is the caller's
	}
	clear(b.steps)
	clear(b.claims)
	clear(b.settles)
	b.steps, b.claims, b.settles = b.steps[:0], b.claims[:0], b.settles[:0]
	s.used.Put(b)
}

// lose has the steps of a batch that failed as a whole repeated one by one.
func (s *stream) lose(b *batch, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots.giveBack(b.turn)
	for _, st := range slices.Backward(b.steps) {
		st.outcome = nil // the store may still look at it
		switch {
		case st.abandoned:
			s.dequeue(st)
		case s.gone:
			st.lost = err
			s.dequeue(st)
			s.giveUp(st)
		default:
			st.alone, st.lost, st.state = true, err, waiting
			s.queue.pushFront(st)
		}
	}
	s.dispatch()
}
