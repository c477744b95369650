package flow

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

// Failed is the answer of a flow that ended with a final error: all that it had
// done is undone, as far as its steps say how. Every later attempt gets it.
type Failed struct { //nolint:errname // the word for a flow, which is also an answer.
	Flow   string   `json:"flow"`
	Reason string   `json:"reason"`
	Step   string   `json:"step,omitempty"`   // the one whose final error the function returned; empty for an error of its own
	Undone []string `json:"undone,omitempty"` // the steps that were undone, the last one first
}

// Error says why the flow failed, and what was undone.
func (e *Failed) Error() string {
	if len(e.Undone) == 0 {
		return fmt.Sprintf("flow %s failed: %s", e.Flow, e.Reason)
	}
	return fmt.Sprintf("flow %s failed: %s (undone: %s)", e.Flow, e.Reason, strings.Join(e.Undone, ", "))
}

// Unfinished is the error of an attempt that ended before the flow did. Nothing is
// lost: the next attempt, or the background, goes on with the step.
type Unfinished struct { //nolint:errname // the word for a flow, which is also an answer.
	Flow string
	Step string // empty when the function itself returned the error
	// RetryAfter is the wait before the next attempt.
	RetryAfter time.Duration
	Err        error
}

// Error names the step, and says why it did not end.
func (e *Unfinished) Error() string {
	if e.Step == "" {
		return fmt.Sprintf("flow %s is not finished, a retry with the same key goes on: %v", e.Flow, e.Err)
	}
	return fmt.Sprintf("flow %s: step %q did not finish, a retry with the same key goes on: %v", e.Flow, e.Step, e.Err)
}

// Unwrap returns Err.
func (e *Unfinished) Unwrap() error { return e.Err }

// Parked is the error of a flow that no program can finish. Err wraps
//
//   - [semel.ErrUnknown] when it cannot be told whether the step happened: an
//     operator resolves the step's record, as completed with [Outcome], and
//     the next attempt goes on;
//   - [semel.ErrMismatch] when the step asks for something else than before: the
//     function was changed, or is not deterministic;
//   - something else, such as [semel.ErrNotKept], when the step's result is not known
//     or it could not be undone: an operator resolves the flow's record.
type Parked struct { //nolint:errname // the word for a flow, which is also an answer.
	Flow, Step string
	Digest     semel.Digest // of the record to resolve, the step's or the flow's
	Err        error
}

// Error names the step and the record, and says what to do.
func (e *Parked) Error() string {
	advice := "resolve the flow's record"
	switch {
	case errors.Is(e.Err, semel.ErrMismatch):
		advice = "its first attempt asked for something else: the function was changed, or reads a clock, a random number or a table outside of a step; undo the change, or resolve the flow's record"
	case errors.Is(e.Err, semel.ErrUnknown):
		advice = "find out whether it happened and resolve it, and a retry goes on"
	}
	return fmt.Sprintf("flow %s is parked at step %q, record %s: %v; %s", e.Flow, e.Step, e.Digest, e.Err, advice)
}

// Unwrap returns Err.
func (e *Parked) Unwrap() error { return e.Err }

// errLate is the cause of a flow that is older than Options.MaxAge.
var errLate = errors.New("the flow is older than its MaxAge")
