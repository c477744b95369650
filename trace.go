package semel

import (
	"context"
	"time"

	"github.com/semel-dev/semel/internal/envelope"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/outcomelog"
)

// Trace holds hooks that a [Guard] calls as things happen: for logs, metrics
// and spans. Each may be nil. They are called synchronously, from any
// goroutine, and must return at once.
type Trace struct {
	// Began is called once for every Begin, when its answer is known.
	Began func(context.Context, BeginInfo)
	// Settled is called when a claim's settlement was tried.
	Settled func(context.Context, SettleInfo)
	// Renewed is called after every renewal of a lease, failed ones included.
	Renewed func(context.Context, RenewInfo)
	// Lost is called when a claim is given up before it was settled.
	Lost func(context.Context, LostInfo)
	// Reconciled is called after every call of Policy.Reconcile.
	Reconciled func(context.Context, ReconcileInfo)
	// Swept is called after every sweep of a store that removed something or
	// failed.
	Swept func(context.Context, SweepInfo)
	// Note returns the [Record.Note] of an intent that completes without one, such
	// as the trace of the work, cut at [MaxNoteBytes]; "" for none. ctx is that of the
	// work. Operators see it, and [BeginInfo.Note] has it when the outcome is replayed.
	Note func(ctx context.Context) string
}

// BeginInfo describes the end of a Begin.
type BeginInfo struct {
	Digest  Digest             // of the key
	Scope   string             // of the key
	Outcome outcomelog.Outcome // Claimed, Replayed, or the reason for neither
	Fence   Fence              // of the claim or of the record met, if any
	Attempt int                // of the claim or of the record met, if any
	Took    time.Duration      // all of Begin
	Waited  time.Duration      // the part of it spent waiting for a running twin
	Note    string             // of the record replayed
	Err     error              // of Begin; nil for a claim or a replay
}

// SettleInfo describes a settlement.
type SettleInfo struct {
	Digest Digest        // of the key
	Scope  string        // of the key
	State  State         // what the claim was settled as; StateFailed for a final error
	Fence  Fence         // of the claim
	Kept   bool          // the outcome is the whole answer
	Bytes  int           // of the outcome
	Held   time.Duration // since the claim was won
	Took   time.Duration // of the settlement alone
	Err    error         // why nothing was recorded
}

// RenewInfo describes a renewal.
type RenewInfo struct {
	Digest Digest        // of the key
	Fence  Fence         // of the claim
	Took   time.Duration // of the renewal
	Err    error         // why the lease was not prolonged; the heartbeat tries again until it has ended
}

// LostInfo describes the loss of a claim.
type LostInfo struct {
	Digest Digest        // of the key
	Fence  Fence         // of the claim
	Held   time.Duration // since the claim was won
	Err    error         // the cause of the end of [Claim.Context]
}

// ReconcileInfo describes a reconciliation.
type ReconcileInfo struct {
	Digest  Digest        // of the key
	Fence   Fence         // of the claim under which it was asked
	Verdict Verdict       // the answer; StillUnknown with Err
	Took    time.Duration // of [Policy.Reconcile]
	Err     error         // of [Policy.Reconcile], or of the settlement
}

// SweepInfo describes a sweep.
type SweepInfo struct {
	Removed int           // records
	Took    time.Duration // of the sweep
	Err     error         // of the store
}

// fillNote fills in the note of a settlement as completed.
func (t *Trace) fillNote(ctx context.Context, s *Settlement) {
	if t.Note != nil && s.State == StateCompleted && s.Note == "" {
		s.Note = verdict.CutNote(t.Note(ctx), MaxNoteBytes)
	}
}

// told is the state of a settlement for people: its outcome is plain.
func (s *Settlement) told() State {
	if s.State == StateCompleted && envelope.Failed(s.Outcome) {
		return StateFailed
	}
	return s.State
}

// noteFailed tells the door of the request that ctx belongs to, if there is one, that work under it failed for good. The rule
// that a guard in the database named before stays.
func noteFailed(ctx context.Context) {
	note := outcomelog.NoteFrom(ctx)
	_, rule, fields := note.Said()
	note.Say(outcomelog.Failed, rule, fields)
}

func (a *attempt) info(rec *Record, err error) BeginInfo {
	info := BeginInfo{
		Digest: a.digest, Scope: a.key.Scope, Err: err,
		Took: time.Since(a.start), Waited: a.waited,
	}
	met := rec
	if met == nil {
		met = a.met
	}
	if met != nil {
		info.Fence, info.Attempt = met.Fence, met.Attempt
	}
	switch {
	case a.claim != nil:
		info.Outcome, info.Fence, info.Attempt = outcomelog.Claimed, a.claim.fence, a.claim.attempt
	case a.tx != nil:
		info.Outcome, info.Fence, info.Attempt = outcomelog.Claimed, a.tx.Fence(), a.tx.Attempt()
	case rec != nil:
		info.Outcome, info.Note = outcomelog.Replayed, rec.Note
	default:
		info.Outcome = outcomeOf(err)
	}
	return info
}
