package semel

import (
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/outcomelog"
)

// Errors of a [Guard] that neither executes nor replays. Match with errors.Is;
// the concrete type is [*Error], which says what to do next.
var (
	// ErrInFlight: another attempt of the same intent is running, and did not
	// end while we waited. Retry with the same key after [Error.RetryAfter].
	ErrInFlight = errors.New("semel: the same intent is in flight")
	// ErrMismatch: the key was used before for another request. Retrying does
	// not help; a new intent needs a new key.
	ErrMismatch = errors.New("semel: key was reused for another request")
	// ErrUnknown: the intent may or may not have been executed. Look the effect
	// up, or ask an operator; a blind retry is refused.
	ErrUnknown = errors.New("semel: outcome is unknown")
	// ErrCancelled: the intent was cancelled before it was executed.
	ErrCancelled = errors.New("semel: intent was cancelled")
	// ErrNotKept: the intent was executed, but its answer was not kept.
	ErrNotKept = errors.New("semel: executed, but the answer was not kept")
	// ErrDuplicate: in dedup mode, the intent was executed before.
	ErrDuplicate = errors.New("semel: duplicate of an executed intent")
	// ErrUnreadable: the intent was executed, but its recorded answer cannot be
	// read: the key with which it was encrypted is missing, or it was tampered
	// with. Nothing is executed. An operator may be able to supply the missing key.
	ErrUnreadable = errors.New("semel: executed, but the recorded answer cannot be read")
	// ErrUnavailable: the store could not be reached, so nothing was executed.
	ErrUnavailable = errors.New("semel: store is unavailable")
	// ErrBusy accompanies ErrUnavailable: this guard reached [Options.LiveClaims] or
	// [Options.StoreQueue]. The store is up and may hold the intent.
	ErrBusy = errors.New("semel: too many claims at a time")
	// ErrQuota: the scope has as many live claims or records as it may, so
	// nothing was executed. Retry with the same key after [Error.RetryAfter].
	ErrQuota = errors.New("semel: quota of the scope is used up")
	// ErrNotStored: it was executed, but the outcome could not be recorded. The
	// caller may have the answer; later attempts find the outcome unknown.
	ErrNotStored = errors.New("semel: executed, but the outcome could not be recorded")
	// ErrRolledBack: in transaction mode, the database undid the transaction,
	// so nothing happened. Retry with the same key.
	ErrRolledBack = errors.New("semel: the transaction was rolled back")
	// ErrChanged: a verdict was refused, because the record changed after its
	// operator looked at it. [Error.Record] is the present one.
	ErrChanged = errors.New("semel: the record is not the one that was looked at")
	// ErrClosed: the guard or the store is shutting down.
	ErrClosed = errors.New("semel: closed")
	// ErrScopeMissing: the key has no scope (use ScopeGlobal to mean none).
	ErrScopeMissing = errors.New("semel: scope is missing")
	// ErrKeyInvalid: the key is empty, too long, or holds forbidden bytes.
	ErrKeyInvalid = errors.New("semel: invalid key")
)

// Errors of a [Store]. A Guard translates them; its users see ErrLost as the
// cause of a cancelled claim context.
var (
	// ErrNotFound: the store remembers no such intent.
	ErrNotFound = errors.New("semel: record not found")
	// ErrCursor: [ListParams.After] is not a cursor of this store.
	ErrCursor = errors.New("semel: cursor is not valid")
	// ErrLost: another attempt holds the claim by now, or the record is gone.
	ErrLost = errors.New("semel: claim was lost")
	// ErrSettled: the claim was settled before, with another value.
	ErrSettled = errors.New("semel: claim was settled otherwise")
	// ErrFull: a bound of the store is reached; nothing changed.
	ErrFull = errors.New("semel: store is full")
	// ErrNewerRecord: the record is there in a form that this program does not
	// know. Nothing runs on a guess, not even where a route fails open.
	ErrNewerRecord = errors.New("semel: the record cannot be read: a newer program wrote it, upgrade this one")
)

// Error is the error of [Guard]'s verbs: the act that failed, a sentinel, and
// what the caller should do. It never carries the recorded answer of a
// mismatch.
type Error struct {
	// Op is the verb: "begin", "settle", "commit", "resolve", "cancel".
	Op string
	// Digest identifies the intent in logs without showing its key.
	Digest Digest
	// Record is the store's record, where the caller may see it: nil for a
	// mismatch (promise 6) and where there is none.
	Record *Record
	// RetryAfter is the wait before the next attempt with the same key; 0 when
	// [Error.Retryable] is false.
	RetryAfter time.Duration
	// Err wraps one of the sentinels of this package.
	Err error
}

// Error returns the act, the digest's first eight digits and the reason.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %.8s: %v", e.Op, e.Digest, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request, sent again with the same key,
// can succeed without an operator. That includes a transaction whose
// commit is uncertain, and an unknown outcome under a policy that reconciles: the
// retry finds out.
func (e *Error) Retryable() bool {
	return retryAfter(e.Err) > 0 || (errors.Is(e.Err, ErrUnknown) && (e.Op == opCommit || e.RetryAfter > 0))
}

// retryAfter returns the wait before the next attempt after err; 0 where repeating does not help.
func retryAfter(err error) time.Duration {
	for _, row := range refusals() {
		if row.retry > 0 && errors.Is(err, row.err) {
			return row.retry
		}
	}
	return 0
}

// Advice says in one plain sentence what the caller should do next.
func (e *Error) Advice() string {
	if e.Op == opCommit && errors.Is(e.Err, ErrUnknown) {
		return "Send the same request again with the same key: it either gets the recorded answer or executes."
	}
	if e.RetryAfter > 0 && errors.Is(e.Err, ErrUnknown) {
		return "Wait, then send the same request again with the same key: whether it happened is then looked up again."
	}
	for _, row := range refusals() {
		if errors.Is(e.Err, row.err) {
			return row.advice
		}
	}
	return "Report this error; a caller cannot fix it."
}

// outcomeOf returns the word for a Begin that ended with err.
func outcomeOf(err error) outcomelog.Outcome {
	for _, row := range refusals() {
		if row.outcome != "" && errors.Is(err, row.err) {
			return row.outcome
		}
	}
	return outcomelog.Aborted
}

// refusal says what an error means: to logs, where Begin can return it, and to the caller.
type refusal struct {
	err     error
	retry   time.Duration // the value of Error.RetryAfter; 0 where repeating does not help
	outcome outcomelog.Outcome
	advice  string
}

// refusals has the more specific of two errors that come together first.
func refusals() [15]refusal {
	return [...]refusal{
		{ErrInFlight, time.Second, outcomelog.InFlight, "Wait, then send the same request again with the same key."},
		{ErrMismatch, 0, outcomelog.Mismatch, "Use a new key for a new request, or send exactly what was sent before."},
		{ErrUnknown, 0, outcomelog.Unknown, "Do not repeat it blindly: look up whether it happened, then ask an operator to resolve the record."},
		{ErrCancelled, 0, outcomelog.Cancelled, "Do not send it again; it was cancelled. Use a new key if you want it after all."},
		{ErrNotKept, 0, outcomelog.NotKept, "It was done. Look up the result; the answer itself was too large to keep."},
		{ErrUnreadable, 0, outcomelog.Unreadable, "It was done. Look up the result; an operator may be able to make the recorded answer readable again."},
		{ErrDuplicate, 0, outcomelog.Duplicate, "Nothing to do: it was done before."},
		{ErrRolledBack, retryUnavailable, "", "Nothing was done. Send the same request again with the same key."},
		{ErrNotStored, 0, "", "It was done, but a retry will find the outcome unknown. Keep the answer you have."},
		{ErrQuota, 5 * time.Second, outcomelog.Quota, "Nothing was done: there are too many requests of yours. Wait, then send the same request again with the same key."},
		{ErrClosed, retryUnavailable, outcomelog.ShuttingDown, "Nothing was done. Send the same request again with the same key; another server may take it."},
		{ErrUnavailable, retryUnavailable, outcomelog.Unavailable, "Nothing was done. Wait, then send the same request again with the same key."},
		{ErrChanged, 0, "", "Nothing was done. Look at the record as it is now, then decide again."},
		{ErrScopeMissing, 0, outcomelog.KeyInvalid, "Say whose key it is: set a scope, or choose ScopeGlobal explicitly."},
		{ErrKeyInvalid, 0, outcomelog.KeyInvalid, "Send a key of 1 to 255 printable characters, such as a UUID."},
	}
}
