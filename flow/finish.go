package flow

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/seize"
)

// conclude runs the last step. Only an attempt that ran every step before it itself, and
// whose claim is the first, commits it together with the flow, without a record.
func (r *Run) conclude(s *runStep) ending {
	if r.replays { // the attempt that ran them may have done so, or may yet, unless this one has the flow
		if err := r.held(); err != nil {
			return ending{open: err}
		}
	} else if r.claim.Attempt() == 1 && r.number > 1 {
		return r.fuse(s)
	}
	return r.once(s, false)
}

// fuse runs the last step in a transaction that completes the flow. As long as this
// attempt's claim holds, no later one has recorded the step or begun to undo; those before
// an operator released the flow replay a step that this one ran, and so find that they
// lost it. What is not committed so is recorded as every other step.
func (r *Run) fuse(s *runStep) ending {
	w := &work{step: s, most: r.flows.maxBytes}
	var value, outcome json.RawMessage
	done, err := seize.CompleteIn(r.claim, s.transactor, func(ctx context.Context) ([]byte, error) {
		result, err := w.doStep(context.WithValue(ctx, keyKey{}, r.Key(s.name)))
		if err != nil {
			return nil, err
		}
		value = result.Value
		outcome, err = json.Marshal(recordedAnswer[json.RawMessage]{Version: answerVersion, Value: &value})
		return outcome, err
	})
	switch {
	case done && err == nil:
		s.value, r.settled = value, outcome
		if err := s.decode(value); err != nil { // the answer is recorded, and Start says so
			return ending{open: errors.New("flow: the recorded result does not fit")}
		}
		return ending{}
	case w.failed != nil && markOf(w.failed.err) != 0: // its answer
		return r.record(s, w.failed.err)
	case w.failed == nil && errors.Is(err, semel.ErrUnknown): // the work ended the transaction
		return r.record(s, semel.MarkUnknown(err))
	case done && w.failed != nil:
		return r.unfinished(s, w.failed.err)
	case done:
		return r.unfinished(s, err)
	}
	return r.once(s, false)
}

// record records the step as one that fails so, without its work.
func (r *Run) record(s *runStep, failed error) ending {
	s.work = func(context.Context) (json.RawMessage, error) { return nil, failed }
	return r.once(s, false)
}
