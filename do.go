package semel

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/envelope"
	"github.com/semel-dev/semel/internal/mark"
	"github.com/semel-dev/semel/internal/verdict"
)

// Do executes fn once for the key, and gives every later caller its result:
// [Guard.Begin], fn and the settlement in one call. The result is kept as
// JSON, so T must survive encoding/json both ways. If it does not, fn has happened all the
// same, and every caller gets an error that wraps [ErrNotKept].
//
// The first caller gets what later ones get: its result is read back, unless T consists of
// types that JSON gives back unchanged (numbers, strings, exported fields, slices, maps).
// A number in an interface within T becomes a json.Number, which keeps all digits.
//
// fn's context is cancelled when ctx is, and when the claim is lost. What fn
// returns decides how the claim is settled:
//
//   - a result: completed; every later caller gets it;
//   - an error made with [MarkFinal]: completed; every later caller gets a
//     [*FinalError] with the same message;
//   - an error made with [MarkUnknown], a context's end, a time-out, the error of a
//     POST or call of gRPC without an answer, or a panic: unknown, because it may have
//     happened. An error made from a panic is recognised by its type (or its name);
//   - an error made with [MarkReleased]: released;
//   - any other error: as [Policy.UnknownOnError] says.
//
// When fn succeeded but its result could not be recorded, Do returns the
// result together with an error that wraps [ErrNotStored].
func Do[T any](ctx context.Context, g *Guard, k Key, fp Fingerprint, fn func(context.Context) (T, error)) (T, error) {
	claim, rec, err := g.Begin(ctx, k, fp)
	switch {
	case err != nil:
		var zero T
		return zero, err
	case rec != nil:
		return decodeOutcome[T](rec.Outcome)
	}
	return runWork(ctx, claim, fn)
}

func runWork[T any](ctx context.Context, claim *Claim, fn func(context.Context) (T, error)) (T, error) {
	work, cancel := context.WithCancelCause(claim.Context())
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer stop()
	returned, happened := false, false
	defer func() {
		switch { // a panic or runtime.Goexit is on its way through, and is the news
		case happened:
			_ = claim.CompleteWithout(nil) // it comes from the result's own methods
		case !returned:
			_ = claim.Unknown("panic")
		}
	}()
	v, err := fn(work)
	happened = err == nil
	if err != nil {
		if settleErr := settleError(claim, err); settleErr != nil {
			err = errors.Join(err, settleErr)
		}
		returned = true // the error's own methods can panic as well
		return v, err
	}
	returned = true
	outcome, v, err := keep(claim.guard, v)
	happened = false
	if err != nil {
		return v, errors.Join(fmt.Errorf("%w: %w", ErrNotKept, err), claim.CompleteWithout(nil))
	}
	return v, claim.Complete(outcome, nil)
}

// keep encodes a result, and returns it as later callers read it. In dedup mode nothing is kept.
func keep[T any](g *Guard, v T) (outcome []byte, read T, err error) {
	if g.policy.Dedup {
		return nil, v, nil
	}
	outcome, read, err = envelope.Keep(v)
	if err != nil {
		return nil, v, fmt.Errorf("the result does not survive encoding/json: %w", err)
	}
	return outcome, read, nil
}

// settleError settles a claim whose work returned an error.
func settleError(claim *Claim, err error) error {
	marked, note := mark.Of[State](err), dialect.Discreet(err).Error()
	switch {
	case marked == StateCompleted:
		outcome, err := envelope.OfError(note)
		if err != nil {
			return claim.CompleteWithout(nil)
		}
		return claim.Complete(outcome, failedSummary(note))
	case marked == StateUnknown, marked != StateReleased && (mark.Open(err) || claim.guard.policy.UnknownOnError):
		return claim.Unknown(note)
	}
	return claim.Release(note)
}

// failedSummary takes the place of a final error that is not kept: operators still see that the work failed, and how.
func failedSummary(note string) []byte {
	summary, err := envelope.OfError(verdict.CutNote(note, MaxNoteBytes))
	if err != nil {
		return nil
	}
	return summary
}

// markedError is an error that says how to settle the claim of the work that
// returned it.
type markedError struct {
	err   error
	state State
}

func (e *markedError) Error() string { return e.err.Error() }
func (e *markedError) Unwrap() error { return e.err }

// Marked returns how the claim is to be settled, for packages that put several intents together.
func (e *markedError) Marked() State { return e.state }

// MarkUnknown says that the effect may have happened despite err. It returns nil for nil.
func MarkUnknown(err error) error { return withMark(err, StateUnknown) }

// MarkReleased says that nothing happened, whatever kind of error err is. It returns nil for nil.
func MarkReleased(err error) error { return withMark(err, StateReleased) }

// MarkFinal says that err is the answer: later attempts get a [*FinalError] with its message instead of an execution. What a
// database quotes of rows is left out of it. It returns nil for nil.
func MarkFinal(err error) error { return withMark(err, StateCompleted) }

func withMark(err error, s State) error {
	if err == nil {
		return nil
	}
	return &markedError{err: err, state: s}
}

// FinalError is the replay of an error that the first attempt returned with [MarkFinal].
type FinalError struct{ Message string }

// Error returns the first attempt's message.
func (e *FinalError) Error() string { return e.Message }

// OutcomeOf returns a result as [Do], [DoTx] and the Do of a store keep it, for a
// [Policy] whose Reconcile function found out that the intent happened: callers
// of Do then get v. Give it as [Reconciliation.Outcome], with Kept set. The error
// is that of encoding/json.
func OutcomeOf[T any](v T) ([]byte, error) {
	return envelope.Of(v)
}

func decodeOutcome[T any](outcome []byte) (T, error) {
	v, final, err := envelope.Read[T](outcome)
	switch {
	case err != nil:
		err = fmt.Errorf("semel: %w", err)
	case final != nil:
		err = &FinalError{Message: *final}
	}
	return v, err
}
