package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

var errNoAnswer = errors.New("the store gave no answer")

// batch is a call for many steps.
type batch[P, A any] struct {
	steps  []*step[P, A]
	params []P
	turn   turn
}

// dispatch lets what waits leave, as far as it can. mu is held.
func (l *lane[P, A]) dispatch() {
	if l.queue.n == 0 {
		return
	}
	now := time.Now()
	for l.queue.n > 0 {
		first := l.queue.first
		if l.opts.MaxDelay > 0 && !first.alone && l.queue.n < l.opts.MaxBatch && !l.closed {
			if due := first.since.Add(l.opts.MaxDelay); now.Before(due) {
				l.setAlarm(due)
				return
			}
		}
		turn, ok := l.slots.take(min(l.queue.n, l.opts.MaxBatch), now)
		if !ok {
			l.setAlarm(l.slots.stuckAt(now))
			return
		}
		if first.alone || first.next == nil || first.next.alone {
			l.grant(first, turn)
		} else {
			l.send(turn)
		}
	}
}

// setAlarm has dispatch called at the time given, or before. mu is held.
func (l *lane[P, A]) setAlarm(at time.Time) {
	if l.alarmAt.IsZero() || at.Before(l.alarmAt) {
		l.alarmAt = at
		l.alarm.Reset(time.Until(at))
	}
}

// ring is the alarm.
func (l *lane[P, A]) ring() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alarmAt = time.Time{}
	l.dispatch()
}

// grant lets the caller take the step alone. mu is held.
func (l *lane[P, A]) grant(st *step[P, A], t turn) {
	l.queue.remove(st)
	l.vacate(st)
	st.state, st.turn = granted, t
	l.slots.carry(t, 1)
	st.done <- struct{}{}
}

// send lets the first steps of the queue travel together. mu is held.
func (l *lane[P, A]) send(t turn) {
	b, ok := l.used.Get().(*batch[P, A])
	if !ok {
		return // the pool holds nothing else
	}
	b.turn = t
	for st := l.queue.first; st != nil && !st.alone && len(b.steps) < l.opts.MaxBatch; st = l.queue.first {
		l.queue.remove(st)
		l.vacate(st)
		st.state = travelling
		b.steps = append(b.steps, st)
	}
	l.slots.carry(t, len(b.steps))
	l.batches.Add(1)
	go l.travel(b)
}

// travel asks the store. Whatever it does, every step gets its answer.
func (l *lane[P, A]) travel(b *batch[P, A]) {
	defer l.batches.Done()
	var answers []A
	err := errNoAnswer
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the store panicked: %v", p)
		}
		if err != nil {
			l.lose(b, err)
			return
		}
		l.answer(b, answers)
	}()
	for _, st := range b.steps {
		b.params = append(b.params, st.params)
	}
	ctx, cancel := context.WithTimeout(l.life, l.opts.Timeout)
	defer cancel()
	answers, err = l.ask(ctx, b.params)
	if err == nil && len(answers) != len(b.params) {
		err = fmt.Errorf("%d answers to %d steps", len(answers), len(b.params))
	}
}

// answer hands every caller its answer.
func (l *lane[P, A]) answer(b *batch[P, A], answers []A) {
	for i, st := range b.steps {
		st.answer = answers[i]
	}
	l.mu.Lock()
	l.slots.giveBack(b.turn)
	left := b.steps[:0] // those who still wait for their answer
	for _, st := range b.steps {
		l.depart(st)
		if st.abandoned {
			l.recycle(st)
			continue
		}
		st.state = answered
		left = append(left, st)
	}
	l.dispatch()
	l.mu.Unlock()
	for _, st := range left {
		st.done <- struct{}{} // from here on it is the caller's
	}
	clear(b.steps)
	clear(b.params)
	b.steps, b.params = b.steps[:0], b.params[:0]
	l.used.Put(b)
}

// lose has the steps of a batch that failed as a whole repeated one by one.
func (l *lane[P, A]) lose(b *batch[P, A], err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slots.giveBack(b.turn)
	for _, st := range slices.Backward(b.steps) {
		st.outcome = nil // the store may still look at it
		switch {
		case st.abandoned:
			l.depart(st)
		case l.gone:
			st.lost = err
			l.depart(st)
			l.giveUp(st)
		default:
			st.alone, st.lost, st.state = true, err, waiting
			l.queue.pushFront(st)
		}
	}
	l.dispatch()
}
