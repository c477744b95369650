package semel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/envelope"
	"github.com/semel-dev/semel/internal/mark"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// txRounds bounds how often DoTx runs work that the database rolled back
	// because of another transaction.
	txRounds = 8
	// txPause is the first pause between two rounds.
	txPause = 2 * time.Millisecond
)

// DoTx is [Do] in transaction mode: fn works in the transaction that its
// context carries, and its rows commit together with its result or not at all
// (promise 4). Stores offer it with the transaction as a parameter, such as
// pgstore.Do.
//
// A rollback undoes only what fn did in the transaction, and fn may run several
// times for one call: the database may undo a transaction because of another
// one (a deadlock, a serialisation failure). fn must return that error, and
// DoTx runs it again, with pauses, at most eight times.
//
// A result that does not survive encoding/json rolls back as well.
//
// An error of fn rolls back, and the next attempt executes, unless
//
//   - it was made with [MarkFinal]: rolled back, and the error is recorded as
//     the answer of every later attempt;
//   - it was made with [MarkUnknown], or [Policy.UnknownOnError] says so: rolled back,
//     and recorded as unknown, for what fn did outside of the database.
//
// When fn succeeded and the commit failed, DoTx returns no result, and an error
// that wraps [ErrRolledBack], or [ErrUnknown] when the database could not be
// asked in time; a retry with the same key is safe in both cases.
func DoTx[T any](ctx context.Context, g *Guard, t Transactor, k Key, fp Fingerprint, fn func(context.Context) (T, error)) (T, error) {
	pause := txPause
	var lost error // the end of the round before
	for round := 1; ; round++ {
		v, again, err := onceTx(ctx, g, t, k, fp, fn)
		if lost != nil && errors.Is(err, ErrUnknown) {
			err = fmt.Errorf("%w (the round before: %v)", err, lost) //nolint:errorlint // "rolled back" is true of that round alone.
		}
		lost = err
		if !again || round == txRounds || !waiting.Sleep(ctx, pause) {
			return v, err
		}
		pause *= 2
	}
}

// onceTx runs one round; again says that another one can succeed.
func onceTx[T any](ctx context.Context, g *Guard, t Transactor, k Key, fp Fingerprint, fn func(context.Context) (T, error)) (v T, again bool, err error) {
	claim, rec, err := g.BeginTx(ctx, t, k, fp)
	switch {
	case err != nil:
		return v, false, err
	case rec != nil:
		v, err = decodeOutcome[T](rec.Outcome)
		return v, false, err
	}
	returned := false
	defer func() {
		if !returned { // a panic or runtime.Goexit is on its way through
			_, _ = settleTxError(claim, errors.New("panic")) // the panic is the news
		}
	}()
	v, err = fn(claim.Context())
	if err != nil {
		again, settleErr := settleTxError(claim, err)
		returned = true // the error's own methods can panic as well
		if settleErr != nil {
			err = errors.Join(err, settleErr)
		}
		return v, again, err
	}
	outcome, v, err := keep(g, v)
	returned = true // the result's own methods can panic as well
	if err != nil {
		_ = claim.Rollback("the result cannot be kept") // nothing happened
		return zero[T](), false, fmt.Errorf("semel: the transaction was rolled back: %w", err)
	}
	inTime := claim.Context().Err() == nil
	if err := claim.Complete(outcome, nil); err != nil {
		return zero[T](), inTime && (claim.undone || errors.Is(err, ErrLost) || claim.Conflict(err)), err
	}
	return v, false, nil
}

func zero[T any]() (v T) { return v }

// settleTxError ends the transaction of work that returned an error; again says that another round can find an answer.
func settleTxError(claim *TxClaim, err error) (again bool, settleErr error) {
	marked := mark.Of[State](err)
	note := dialect.Discreet(err).Error()
	switch {
	case marked == StateCompleted:
		outcome, jsonErr := envelope.OfError(note)
		if jsonErr != nil {
			return false, claim.Rollback(note)
		}
		err := claim.Final(outcome, failedSummary(note))
		return errors.Is(err, ErrLost), err // another attempt has the answer
	case marked == StateUnknown:
		return false, claim.Unknown(note)
	case claim.Conflict(err):
		again := claim.Context().Err() == nil
		return again, claim.Rollback(note)
	case marked == StateAbsent && claim.guard.policy.UnknownOnError:
		return false, claim.Unknown(note)
	}
	return false, claim.Rollback(note)
}
