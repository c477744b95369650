package semel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/internal/waiting"
)

// opCommit is the [Error.Op] of a transaction's end, and opSettle that of
// every other claim's.
const (
	opCommit = "commit"
	opSettle = "settle"
)

// Transactor opens transactions of the database that holds the records as well
// as the business rows, for [Guard.BeginTx]. It is safe for concurrent use.
//
// A transactor whose transactions the caller has opened already says so by a
// method Joined(): twins then wait on the database's lock alone.
type Transactor interface {
	// Transaction returns a transaction for one intent. It may wait for a
	// connection. An error means that nothing happened.
	Transaction(ctx context.Context) (Tx, error)
}

// nester is implemented by a [Transactor] that serves one intent inside of a
// transaction otherwise than outside.
type nester interface {
	// Nested returns the transactor for one intent whose BeginTx has ctx.
	Nested(ctx context.Context) Transactor
}

// Tx is one transaction in which one intent is claimed, executed and recorded:
// all of it commits together or not at all (promise 4). It is used by one
// goroutine at a time: Claim, the work, then Commit, and Rollback in any case.
type Tx interface {
	// Claim begins the transaction and takes the key inside of it. It wins
	// when the record is absent; otherwise it returns the record and takes
	// nothing. p.TakeOver is not used. Until the transaction ends, every
	// other one that claims the key waits on the database's own lock, at most
	// for the time given, and then gets [ErrInFlight]. The claim has a fence as
	// [Store.Claim] gives it, but no lease: it ends with the transaction.
	// Whatever the error, nothing happened.
	Claim(ctx context.Context, p ClaimParams, wait time.Duration) (rec Record, won bool, err error)
	// Context returns ctx with the transaction in it, where the work finds it.
	Context(ctx context.Context) context.Context
	// Commit records the settlement (completed, unknown or cancelled) and commits, after a
	// Claim that was won. Errors: [ErrLost] when another attempt's record is there by now,
	// [ErrRolledBack] when the database refused, [ErrFull] when the outcome does not fit:
	// nothing happened. Any other error leaves open whether it committed.
	Commit(ctx context.Context, s Settlement) error
	// Conflict reports whether an error of the work, or of Commit, means that the
	// database undid the transaction because of another one (a deadlock, a
	// serialisation failure), so that running it again can succeed. A final
	// refusal, such as by a deferred constraint, is not a conflict.
	Conflict(err error) bool
	// Rollback undoes what was not committed and gives the connection back.
	// After Commit it does only the latter.
	Rollback() error
}

// recorder is implemented by a [Tx] whose Commit draws the fence.
type recorder interface {
	// Recorded is called after Commit has returned nil, for [Trace].
	Recorded() (f Fence, outcomeBytes int)
}

// outcomeMaker is implemented by a [Tx] whose Commit makes the outcome inside the
// database, which cannot encrypt it.
type outcomeMaker interface{ MakesOutcome() }

// TxClaim is the right to execute an intent inside a transaction, from
// [Guard.BeginTx] until Complete, CompleteWithout, Final, Unknown, Cancel or
// Rollback is called; only the first call counts, later ones return [ErrSettled].
// It has neither lease nor heartbeat: if this process dies, the database rolls
// back. It is used by one goroutine at a time.
type TxClaim struct {
	guard      *Guard
	key        Key
	params     ClaimParams
	rec        Record
	tx         Tx
	transactor Transactor
	won        time.Time
	ended      bool
	undone     bool // by a connection that was lost at the commit

	around verdict.Transaction // Outside is the context given to BeginTx
	ctx    txContext
	cancel context.CancelFunc
}

// txContext is the context of the work.
type txContext struct {
	context.Context //nolint:containedctx // it is a context.
	claim           *TxClaim
}

type txClaimKey struct{}

// Value makes the claim reachable through [TxClaimFrom] and [FenceFrom].
func (c *txContext) Value(key any) any {
	switch key {
	case txClaimKey{}:
		return c.claim
	case fenceKey{}:
		return &c.claim.rec.Fence
	case verdict.TransactionKey{}:
		return &c.claim.around
	}
	return c.Context.Value(key)
}

// Context is the context of the work. It carries the transaction, and ends
// with the context given to BeginTx (a caller that goes away rolls back), after
// [Policy.MaxRun], with the guard, and with the claim.
func (c *TxClaim) Context() context.Context { return &c.ctx }

// Fence returns the fence of this claim.
func (c *TxClaim) Fence() Fence { return c.rec.Fence }

// Attempt returns 1: a transaction that was rolled back leaves no trace.
func (c *TxClaim) Attempt() int { return c.rec.Attempt }

// Digest identifies the intent.
func (c *TxClaim) Digest() Digest { return c.params.Digest }

// Conflict reports whether an error of the work means that the database undid
// the transaction because of another one; see [Tx].
func (c *TxClaim) Conflict(err error) bool { return c.tx.Conflict(err) }

// Complete commits the business rows together with the outcome, which every
// later attempt gets. An outcome larger than [Policy.MaxOutcomeBytes] is not
// kept, summary takes its place, and later attempts get [ErrNotKept]; dedup mode
// always does that.
//
// An error wraps [ErrRolledBack] (and [ErrLost] as well, when another attempt's
// record is there by now): nothing happened. Or it wraps [ErrUnknown]: the
// connection was lost at the commit, and the database could not be asked within
// [Options.StoreTimeout] whether it committed; a retry with the same key finds
// out.
func (c *TxClaim) Complete(outcome, summary []byte) error {
	return c.commit(c.guard.policy.completion(outcome, summary))
}

// CompleteWithout is [TxClaim.Complete] for an answer that is not kept.
func (c *TxClaim) CompleteWithout(summary []byte) error {
	return c.commit(c.guard.policy.completionWithout(summary))
}

// Rollback undoes the transaction: nothing happened, and the next attempt
// executes.
func (c *TxClaim) Rollback(note string) error {
	if c.ended {
		return c.fail(ErrSettled)
	}
	began := time.Now()
	err := c.tx.Rollback()
	c.end(false)
	c.tell(Settlement{State: StateReleased, Note: verdict.CutNote(note, MaxNoteBytes)}, 0, began, err)
	return nil // a connection that breaks here is rolled back by the database
}

// Unknown rolls the transaction back and records, in one of its own, that the
// effects outside of the database may or may not have happened. note says why,
// for operators.
//
// An error wraps [ErrUnknown]: that could not be recorded, so a retry would
// execute. It is not Retryable, because effects outside of the database may
// then happen twice.
func (c *TxClaim) Unknown(note string) error {
	if c.ended {
		return c.fail(ErrSettled)
	}
	if err := c.apart(Settlement{State: StateUnknown, Note: verdict.CutNote(note, MaxNoteBytes)}); err != nil {
		err = fmt.Errorf("%w: it could not be recorded as such: %v", ErrUnknown, err) //nolint:errorlint // "nothing happened" is true of the database alone.
		return &Error{Op: opSettle, Digest: c.params.Digest, Err: err}
	}
	return nil
}

// Cancel rolls the transaction back and leaves, in one of its own, a tombstone:
// until [Policy.Retention] ends, later attempts are refused with [ErrCancelled],
// where after Rollback the next one executes. note says why, for operators. See
// [Claim.Cancel]. In a transaction that the caller opened, the tombstone is kept
// if that one commits. Errors are those of [TxClaim.Complete].
func (c *TxClaim) Cancel(note string) error {
	if c.ended {
		return c.fail(ErrSettled)
	}
	return c.fail(c.apart(Settlement{State: StateCancelled, Note: verdict.CutNote(note, MaxNoteBytes)}))
}

// Final rolls the transaction back and records, in one of its own, an outcome
// that every later attempt gets: the intent failed for good. Errors are those
// of [TxClaim.Complete].
func (c *TxClaim) Final(outcome, summary []byte) error {
	if c.ended {
		return c.fail(ErrSettled)
	}
	return c.fail(c.apart(c.guard.policy.completion(outcome, summary)))
}

// apart settles in a transaction without the business rows.
func (c *TxClaim) apart(s Settlement) error {
	began := time.Now()
	_ = c.tx.Rollback() // a connection that breaks here is rolled back by the database
	ctx, cancel := c.atLast()
	defer cancel()
	tx, rec, won, err := c.again(ctx)
	if err == nil && !won {
		err = fmt.Errorf("%w: fence %d holds the key", ErrLost, rec.Fence)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrRolledBack, err)
		c.end(false)
		c.tell(s, len(s.Outcome), began, err)
		return err
	}
	c.tx, c.rec = tx, rec
	return c.commitIn(ctx, s)
}

// atLast returns the context of a claim's end: the caller's end does not cut it
// off halfway, and it does not carry the transaction that ends.
func (c *TxClaim) atLast() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.around.Outside), c.guard.core.timeout)
}

// commit records and commits within the guard's time for the store.
func (c *TxClaim) commit(s Settlement) error {
	if c.ended {
		return c.fail(ErrSettled)
	}
	if err := c.ctx.Err(); err != nil {
		cause := context.Cause(&c.ctx)
		_ = c.Rollback("its context had ended")
		return c.fail(fmt.Errorf("%w: %w", ErrRolledBack, cause))
	}
	ctx, cancel := c.atLast()
	defer cancel()
	return c.fail(c.commitIn(ctx, s))
}

func (c *TxClaim) commitIn(ctx context.Context, s Settlement) error {
	began := time.Now()
	s.Retention = c.guard.policy.retention(s.State)
	c.guard.core.trace.fillNote(&c.ctx, &s)
	size := len(s.Outcome)
	err := c.record(ctx, s)
	_ = c.tx.Rollback() // gives the connection back
	switch {
	case err == nil, errors.Is(err, ErrRolledBack):
	case errors.Is(err, ErrLost), errors.Is(err, ErrFull):
		err = fmt.Errorf("%w: %w", ErrRolledBack, err)
	default:
		err = c.confirm(ctx, err)
	}
	c.end(!errors.Is(err, ErrRolledBack))
	if r, ok := c.tx.(recorder); ok && err == nil {
		c.rec.Fence, size = r.Recorded()
	}
	c.tell(s, size, began, err)
	return err
}

// record commits with the outcome in the form that the store keeps.
func (c *TxClaim) record(ctx context.Context, s Settlement) error {
	var err error
	if s.Outcome, err = c.guard.core.sealer.close(c.params.Digest, s.Kept, s.Outcome); err != nil {
		return fmt.Errorf("%w: %w", ErrRolledBack, err)
	}
	return c.tx.Commit(ctx, s)
}

// confirm finds out whether a commit whose reply was lost took effect: the key
// can be claimed again only when the first transaction has ended.
func (c *TxClaim) confirm(ctx context.Context, lost error) error {
	err := lost
	for pause := range waiting.Backoffs() {
		tx, rec, won, again := c.again(ctx)
		switch {
		case again == nil && won:
			_ = tx.Rollback()
			c.undone = true
			return fmt.Errorf("%w: %w", ErrRolledBack, lost)
		case again == nil && rec.Owner == c.params.Owner:
			return nil
		case again == nil:
			return fmt.Errorf("%w: %w: fence %d holds the key: %w", ErrRolledBack, ErrLost, rec.Fence, lost)
		}
		err = again
		if !waiting.Sleep(ctx, pause) {
			break
		}
	}
	return fmt.Errorf("%w: %w; asked again: %w", ErrUnknown, lost, err)
}

// again claims the key in a new transaction, which is open only when won.
func (c *TxClaim) again(ctx context.Context) (tx Tx, rec Record, won bool, err error) {
	tx, err = c.transactor.Transaction(ctx)
	if err != nil {
		return nil, Record{}, false, err
	}
	wait := time.Millisecond
	if deadline, ok := ctx.Deadline(); ok {
		wait = max(wait, time.Until(deadline))
	}
	rec, won, err = tx.Claim(ctx, c.params, wait)
	if err != nil || !won {
		_ = tx.Rollback() // nothing was written
	}
	return tx, rec, won, err
}

// end closes the claim's life; recorded says whether a record may have come of it.
func (c *TxClaim) end(recorded bool) {
	c.ended = true
	c.cancel()
	core := c.guard.core
	core.live.Add(-1)
	core.quota.Leave(c.key.Scope)
	if !recorded {
		core.quota.Forget(c.key.Scope)
	}
	core.solo.Leave(c.params.Digest)
	core.waiters.Wake(c.params.Digest)
	core.idle.Exit()
}

func (c *TxClaim) tell(s Settlement, size int, began time.Time, err error) {
	if err == nil && s.told() == StateFailed {
		noteFailed(&c.ctx)
	}
	if hook := c.guard.core.trace.Settled; hook != nil {
		hook(&c.ctx, SettleInfo{
			Digest: c.params.Digest, Scope: c.key.Scope, State: s.told(), Fence: c.rec.Fence, Kept: s.Kept,
			Bytes: size, Held: began.Sub(c.won), Took: time.Since(began), Err: err,
		})
	}
}

// fail makes the caller's error; nil of nil.
func (c *TxClaim) fail(err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Op: opCommit, Digest: c.params.Digest, Err: err}
	if e.Retryable() {
		e.RetryAfter = retryUnavailable
	}
	return e
}
