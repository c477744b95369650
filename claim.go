package semel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/lease"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/internal/waiting"
)

// Claim is the exclusive right to execute an intent, from [Guard.Begin] until
// one of its settling methods is called: Complete, CompleteWithout, Release,
// Unknown or Cancel. While it is open, a heartbeat renews its lease.
//
// Call exactly one settling method; a second call returns [ErrSettled]. If
// none is called, the claim is renewed until [Policy.MaxRun] and then lapses
// into unknown. Methods are safe for concurrent use.
type Claim struct {
	guard   *Guard
	scope   string
	digest  Digest
	fence   Fence
	attempt int
	// unbounded: made by an operator; the scope's quotas do not count it.
	unbounded bool

	ctx   claimContext
	life  lease.Life
	clock lease.Clock[Detached]
}

// claimContext is the context of the work: it has the values of the context
// given to Begin, but not its end, and knows the claim.
type claimContext struct {
	context.Context                 //nolint:containedctx // it is a context.
	values          context.Context //nolint:containedctx // the values come from it.
	claim           *Claim
}

type claimKey struct{}

// Value makes the claim reachable through [ClaimFrom] and [FenceFrom].
func (c *claimContext) Value(key any) any {
	switch key {
	case claimKey{}:
		return c.claim
	case fenceKey{}:
		return &c.claim.fence
	}
	if v := c.Context.Value(key); v != nil {
		return v // package context asks for its own; the end of values is not ours
	}
	return c.values.Value(key)
}

// ClaimFrom returns the claim under which ctx works, or nil.
func ClaimFrom(ctx context.Context) *Claim {
	c, _ := ctx.Value(claimKey{}).(*Claim)
	return c
}

// TxClaimFrom returns the claim of the innermost transaction under which ctx
// works, or nil.
func TxClaimFrom(ctx context.Context) *TxClaim {
	c, _ := ctx.Value(txClaimKey{}).(*TxClaim)
	return c
}

// openClaim turns a won answer into a claim and starts its heartbeat.
func (a *attempt) openClaim(s storeAnswer) *Claim {
	g := a.guard
	c := &Claim{guard: g, scope: a.key.Scope, digest: a.digest, fence: s.rec.Fence, attempt: s.rec.Attempt, unbounded: a.unbounded}
	c.clock.Began, c.clock.Lease, c.clock.MaxRun = s.began, g.policy.Lease, g.policy.MaxRun
	c.ctx = claimContext{Context: &c.life, values: a.ctx, claim: c}
	g.core.opened(c)
	c.clock.Start(&g.core.beats, min(g.policy.Lease, s.rec.LeaseLeft()), (*heartbeat)(c))
	return c
}

// Context is the context of the work. It carries the values of the context
// given to Begin but not its end: a caller that goes away does not stop the
// work. It is cancelled when the claim is lost (the cause wraps [ErrLost]),
// when it has run for [Policy.MaxRun], and after it was settled.
func (c *Claim) Context() context.Context { return &c.ctx }

// Fence returns the fence of this claim.
func (c *Claim) Fence() Fence { return c.fence }

// Attempt returns 1 for the first claim of the intent, one more for every
// takeover since.
func (c *Claim) Attempt() int { return c.attempt }

// Digest identifies the intent.
func (c *Claim) Digest() Digest { return c.digest }

// Complete settles the claim: it happened, and every later attempt gets
// outcome. If the outcome is larger than [Policy.MaxOutcomeBytes], or the store
// has no room for it, summary is kept in its place and later attempts get
// [ErrNotKept] with it; dedup mode always does that. Both may be nil; Complete
// does not retain them.
//
// The error wraps [ErrNotStored] when the outcome could not be recorded in
// time, and [ErrLost] as well when another attempt holds the claim by now. Do
// not execute again: the record lapses into unknown.
func (c *Claim) Complete(outcome, summary []byte) error {
	s := c.guard.policy.completion(outcome, summary)
	if s.Kept {
		if err := c.settle(s, false); !errors.Is(err, ErrFull) {
			return err
		}
	}
	return c.CompleteWithout(summary)
}

// CompleteWithout settles the claim: it happened, but the answer is not kept.
// Errors are those of [Claim.Complete].
func (c *Claim) CompleteWithout(summary []byte) error {
	s := c.guard.policy.completionWithout(summary)
	err := c.settle(s, len(s.Outcome) == 0)
	if errors.Is(err, ErrFull) && len(s.Outcome) > 0 {
		err = c.settle(Settlement{State: StateCompleted}, true)
	}
	return err
}

// Release settles the claim: nothing happened, and the next attempt executes.
func (c *Claim) Release(note string) error {
	return c.settle(Settlement{State: StateReleased, Note: note}, true)
}

// Unknown settles the claim: it may or may not have happened. note says why,
// for operators.
func (c *Claim) Unknown(note string) error {
	return c.settle(Settlement{State: StateUnknown, Note: note}, true)
}

// Cancel settles the claim with a tombstone: the intent has no effect and must
// not have one later, because the work undid it or found that it must not
// happen. Until [Policy.Retention] ends, later attempts, including a late
// original, are refused with [ErrCancelled]; after Release one would execute.
// note says why, for operators.
//
// It is the holder's own settlement, like Complete: the fence is compared, the
// audit trail gets no entry, and an operator's later Cancel changes nothing.
// Errors are those of [Claim.Complete]; the effect is then not undone twice,
// because the record lapses into unknown.
func (c *Claim) Cancel(note string) error {
	return c.settle(Settlement{State: StateCancelled, Note: note}, true)
}

// settle records the settlement, repeating it while the answer is lost. With
// final unset the claim stays open after ErrFull, so that a smaller
// settlement can follow.
func (c *Claim) settle(s Settlement, final bool) error {
	return c.settleBy(s, c.record, func(err error) bool { return errors.Is(err, ErrFull) && !final })
}

// settleBy records the settlement by record. The claim stays open after an error of
// which open says so.
func (c *Claim) settleBy(s Settlement, record func(Settlement, time.Time) error, open func(error) bool) error {
	if !c.clock.Settle(c.guard.core.timeout) {
		return &Error{Op: opSettle, Digest: c.digest, Err: ErrSettled}
	}
	core := c.guard.core
	s.Note = verdict.CutNote(s.Note, MaxNoteBytes)
	s.Retention = cmp.Or(s.Retention, c.guard.policy.retention(s.State))
	core.trace.fillNote(&c.ctx, &s)
	began := time.Now()
	err := record(s, began)
	if err != nil && open(err) {
		c.clock.Reopen()
		return err
	}
	if err != nil {
		if errors.Is(err, ErrFull) {
			core.settleLater(c.digest, c.fence, Settlement{State: s.State, Note: s.Note, Retention: s.Retention}, c.clock.Lease)
		}
		err = &Error{Op: opSettle, Digest: c.digest, Err: fmt.Errorf("%w: %w", ErrNotStored, err)}
	}
	if err == nil && s.State == StateReleased && !c.unbounded {
		core.quota.Forget(c.scope)
	}
	if err == nil && s.told() == StateFailed {
		noteFailed(&c.ctx)
	}
	c.end(context.Canceled)
	if hook := core.trace.Settled; hook != nil {
		hook(&c.ctx, SettleInfo{
			Digest: c.digest, Scope: c.scope, State: s.told(), Fence: c.fence, Kept: s.Kept,
			Bytes: len(s.Outcome), Held: began.Sub(c.clock.Began), Took: time.Since(began), Err: err,
		})
	}
	return err
}

// record asks the store, with the same bytes again while its answer is lost.
func (c *Claim) record(s Settlement, began time.Time) error {
	core := c.guard.core
	var err error
	if s.Outcome, err = core.sealer.close(c.digest, s.Kept, s.Outcome); err != nil {
		return err
	}
	err = core.store.Settle(&c.ctx, c.digest, c.fence, s)
	if err != nil && !definite(err) {
		err = c.settleAgain(s, began, err)
	}
	return err
}

func (c *Claim) settleAgain(s Settlement, began time.Time, err error) error {
	core := c.guard.core
	ctx, cancel := context.WithDeadline(context.WithoutCancel(&c.ctx), began.Add(core.timeout))
	defer cancel()
	for pause := range waiting.Backoffs() {
		if err == nil || definite(err) || !waiting.Sleep(ctx, pause) {
			break
		}
		err = core.store.Settle(ctx, c.digest, c.fence, s)
	}
	return err
}

// end closes the claim's life; only the first call counts.
func (c *Claim) end(cause error) {
	first, detached := c.clock.End()
	if !first {
		return
	}
	core := c.guard.core
	if !detached {
		c.life.End(cause)
		core.ended(c)
	}
	core.waiters.Wake(c.digest)
	core.idle.Exit()
}

// opened adds the claim to the live ones.
func (c *core) opened(claim *Claim) {
	c.live.Add(1)
	c.open.Add(claim)
}

// ended removes the claim, and gives its seat back.
func (c *core) ended(claim *Claim) {
	c.live.Add(-1)
	if !claim.unbounded {
		c.quota.Leave(claim.scope)
	}
	c.open.Remove(claim)
}
