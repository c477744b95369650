// Package mark reads what an error of a work says about its effect, for the guard and the packages that put intents together.
package mark

import (
	"context"
	"errors"
)

// Of returns how the claim of the work is to be settled, as the outermost mark of its error says: an error that was made
// with semel.MarkFinal, MarkUnknown or MarkReleased. S is semel.State, whose zero value means none.
func Of[S any](err error) (state S) {
	marked, ok := errors.AsType[interface {
		error
		Marked() S
	}](err)
	if ok {
		state = marked.Marked()
	}
	return state
}

// TimedOut reports whether an error without a mark leaves open whether the effect happened.
func TimedOut(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
