package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/semel-dev/semel"
)

// undo undoes the finished steps, the last one first, and returns their names.
// Steps that never ran need none. Each Undo is an intent, so another
// attempt goes on where this one ended.
func (r *Run) undo() ([]string, error) {
	if err := r.seal(); err != nil {
		return nil, err
	}
	if err := r.held(); err != nil {
		return nil, err
	}
	var undone []string
	for _, s := range slices.Backward(r.done) {
		if s.undo == nil {
			continue
		}
		end := r.undoStep(s)
		if end.open != nil {
			return nil, end.open
		}
		if !s.on { // the other database has another clock
			r.behind = semel.Key{Scope: r.scope, Name: undoPrefix + s.key.Name}
		}
		if !end.cancelled { // an operator decided that it is not undone
			undone = append(undone, s.name)
		}
	}
	return undone, nil
}

// sealNote is that of the tombstone behind the last step.
const sealNote = "the flow failed before this step"

// seal leaves a tombstone behind the last step, unless it has one: nothing goes
// forward from here on, neither a process that lost the flow nor a function that was
// changed.
func (r *Run) seal() error {
	if r.stopped {
		return nil
	}
	next := r.next()
	r.sealing = true
	w := &work{step: next, note: sealNote}
	err := r.bury(r.ctx, next, w)
	switch {
	case w.stopped, !w.ran && errors.Is(err, semel.ErrCancelled):
		r.behind = next.key
		return nil
	case w.ran:
		return r.unfinished(next, err).open
	case err == nil: // a record without a fingerprint, which no step has
		err = semel.ErrMismatch
	}
	return r.refused(next, err).open
}

func (r *Run) undoStep(s *runStep) ending {
	u := &runStep{
		settings: settings{base: s.base, transactor: s.transactor, tx: s.tx},
		name:     undoPrefix + s.name,
		input:    s.value,
		key:      semel.Key{Scope: r.scope, Name: undoPrefix + s.key.Name},
		work: func(ctx context.Context) (json.RawMessage, error) {
			return json.RawMessage("null"), s.undo(ctx, s.value)
		},
		decode: func(json.RawMessage) error { return nil },
	}
	u.apply(s.undoWith)
	if err := u.check(); err != nil {
		return r.parked(u, fmt.Errorf("it cannot be undone: %w", err))
	}
	end := r.once(u, false)
	if end.final != nil && !end.cancelled {
		return r.parked(u, fmt.Errorf("it cannot be undone: %w", end.final))
	}
	return end
}

// held reports whether the flow is still this attempt's, after the seal: another one
// that finishes it looks for the seal after it took the flow over.
func (r *Run) held() error {
	rec, err := r.flows.guard.Store().Lookup(r.ctx, r.claim.Digest())
	if err == nil && (rec.Fence != r.claim.Fence() || rec.State != semel.StateClaimed) {
		err = semel.ErrLost
	}
	if err != nil {
		return &Unfinished{Flow: r.flow, RetryAfter: retryUnfinished, Err: err}
	}
	return nil
}

// sealed reports whether an attempt before has begun to undo. One that went on behind the last step
// ran another function.
func (r *Run) sealed() (bool, error) {
	if r.claim.Attempt() == 1 && !r.replays {
		return false, nil
	}
	next := r.next()
	rec, err := r.flows.steps.Lookup(r.ctx, next.key)
	switch {
	case errors.Is(err, semel.ErrNotFound):
		return false, nil
	case err != nil && !errors.Is(err, semel.ErrUnreadable):
		return false, r.unfinished(next, err).open
	case rec.Fingerprint != semel.Fingerprint{}:
		return false, r.parked(next, fmt.Errorf("%w: an attempt before began step %d, and the function ended before it", semel.ErrMismatch, r.number+1)).open
	}
	return true, nil
}

// next is the step that would follow the last one.
func (r *Run) next() *runStep {
	return &runStep{settings: settings{base: r.flows.steps}, name: "the end", key: semel.Key{Scope: r.scope, Name: strconv.Itoa(r.number + 1)}}
}
