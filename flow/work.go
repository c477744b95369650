package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/mark"
)

// maxMessage bounds the message of a final error, in bytes.
const maxMessage = 1024

// work is the work of a step under its guard.
type work struct {
	step    *runStep
	most    int      // bytes of a result
	note    string   // of a tombstone
	ran     bool     // the guard let it run
	failed  *failure // how it last failed
	unkept  error    // why its result was not kept: it happened
	stopped bool     // it has a tombstone
}

// doStep does the work, and says how an error of it is to be recorded: the guard must not
// take an error of the work's own guards for one of its own.
func (w *work) doStep(ctx context.Context) (kept, error) {
	w.ran, w.failed = true, nil
	value, err := w.step.work(ctx)
	switch lost, ok := err.(*unkept); { //nolint:errorlint // one within an error of the work is another flow's.
	case ok && w.step.tx:
		err = semel.MarkFinal(lost.error)
	case ok:
		if err := semel.ClaimFrom(ctx).CompleteWithout(nil); err != nil {
			return kept{}, err
		}
		w.unkept = lost.error
		return kept{}, lost.error
	case err == nil && len(value) > w.most && w.step.tx:
		err = semel.MarkFinal(fmt.Errorf("its result has %d bytes, and %d can be kept", len(value), w.most))
	}
	if err != nil {
		w.failed = fail(err, w.step.tx)
		return kept{}, w.failed
	}
	return kept{Step: w.step.name, Value: value, Place: w.step.place}, nil
}

// unkept is the error of work that happened, although JSON has no form for its result. It
// never leaves the package.
type unkept struct{ error }

// keep encodes a result for its record.
func keep(v any) (json.RawMessage, error) {
	value, err := json.Marshal(v)
	if err != nil {
		return nil, &unkept{fmt.Errorf("its result cannot be kept: %w", err)}
	}
	return value, nil
}

// stop leaves a tombstone for a step that must not begin any more.
func (w *work) stop(ctx context.Context) (kept, error) {
	w.ran = true
	err := semel.ClaimFrom(ctx).Cancel(w.note)
	w.stopped = err == nil
	return kept{}, errors.Join(errLate, err)
}

// failure is an error of a step's work, and how it is recorded.
type failure struct {
	err    error // as the work returned it
	marked error // as the guard gets it
	state  semel.State
}

func (f *failure) Error() string { return f.marked.Error() }
func (f *failure) Unwrap() error { return f.marked }

// fail decides how an error of a step's work is recorded. The outermost mark counts.
func fail(err error, tx bool) *failure {
	f := &failure{err: err, marked: err, state: markOf(err)}
	switch {
	case f.state == semel.StateCompleted:
		f.marked = semel.MarkFinal(errors.New(cut(err)))
	case f.state == semel.StateAbsent && tx: // the guard sees a conflict in err
		f.state = semel.StateReleased
	case f.state == semel.StateAbsent:
		f.state, f.marked = semel.StateUnknown, semel.MarkUnknown(err)
	}
	return f
}

// markOf returns the mark of an error, or that of the replay of a final error;
// StateAbsent for none.
func markOf(err error) semel.State {
	if marked := mark.Of[semel.State](err); marked != semel.StateAbsent {
		return marked
	}
	if final, ok := errors.AsType[*semel.FinalError](err); ok && final != nil {
		return semel.StateCompleted
	}
	return semel.StateAbsent
}

func cut(err error) string {
	message := dialect.Discreet(err).Error()
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return message
}
