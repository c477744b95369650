package semel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Defaults of a [Policy] that programs repeat in their help.
const (
	DefaultLease           = 30 * time.Second
	DefaultWait            = 5 * time.Second
	DefaultRetention       = 24 * time.Hour
	DefaultMaxOutcomeBytes = 1 << 20

	// NoWait is the [Policy.Wait] of a caller that takes [ErrInFlight] at once.
	NoWait time.Duration = -1

	minLease = 30 * time.Millisecond
)

// OnUnknown says what a later attempt does with an intent whose outcome is
// unknown, a lapsed claim included.
type OnUnknown uint8

const (
	// Refuse answers [ErrUnknown] until an operator resolves the record.
	Refuse OnUnknown = iota
	// Rerun executes again. Right only where executing twice does no harm, or
	// where the effect refuses a stale fence.
	Rerun
	// Reconcile asks [Policy.Reconcile] whether it happened.
	Reconcile
)

// Verdict is the finding of [Policy.Reconcile].
type Verdict uint8

const (
	// StillUnknown means that it could not be found out; the record stays unknown.
	StillUnknown Verdict = iota
	// Happened means that the effect exists; the record becomes completed.
	Happened
	// NotHappened means that the effect does not exist and can no longer arrive; the
	// intent is executed now.
	NotHappened
)

// String returns the word for logs and metrics: unknown, happened or not-happened.
func (v Verdict) String() string {
	switch v {
	case Happened:
		return "happened"
	case NotHappened:
		return "not-happened"
	case StillUnknown:
	}
	return "unknown"
}

// Reconciliation is the answer of [Policy.Reconcile].
type Reconciliation struct {
	Verdict Verdict
	Outcome []byte // of Happened: the answer to replay, in the door's envelope; for [Do] made by [OutcomeOf]
	Kept    bool   // of Happened: Outcome is the whole answer
	Note    string // for operators
	// Again, with StillUnknown, is the wait until asking again can find out more;
	// it becomes [Error.RetryAfter]. 0 for a few seconds.
	Again time.Duration
}

// Policy sets how a kind of intent is treated. The zero Policy is complete:
// every zero field means its default.
type Policy struct {
	// Dedup rejects a duplicate of a completed intent with [ErrDuplicate] instead
	// of replaying the first answer, which is not kept.
	Dedup bool
	// Lease limits a claim that is not renewed; the heartbeat renews it every
	// third of the lease. Default 30 s, at least 30 ms.
	Lease time.Duration
	// MaxRun bounds the work: after it the claim's context is cancelled and the
	// lease is no longer renewed. Default 15 min.
	MaxRun time.Duration
	// Wait limits how long a duplicate waits for a running twin before it gets
	// ErrInFlight. Default 5 s; NoWait for none.
	Wait time.Duration
	// Retention is the time for which a completed or cancelled record is
	// remembered. Default 24 h.
	Retention time.Duration
	// UnknownRetention is the time for which an unknown record is remembered, and
	// a lapsed one after its lease: until then an operator can resolve it, and
	// nothing runs again. Default Retention, but at least 24 h.
	UnknownRetention time.Duration
	// MaxOutcomeBytes is the largest outcome kept. A larger one is settled as
	// completed without it. Default 1 MiB.
	MaxOutcomeBytes int
	// UnknownOnError says that work which returns an error may have happened,
	// unless the error says more (see MarkReleased). Otherwise an error means
	// that nothing happened, and a retry executes. A panic means it in transactions alone.
	UnknownOnError bool
	// OnUnknown is Refuse unless set.
	OnUnknown OnUnknown
	// Reconcile finds out whether an intent with an unknown outcome happened.
	// It runs under a claim of its own, so at most one runs for an intent at a
	// time, within ReconcileTimeout; rec is the record as it was before
	// that claim. ctx carries the values of the attempt that asked. An error counts
	// as [StillUnknown] and is noted in the record.
	//
	// The question is about rec; ctx and the caller's arguments belong to the
	// repetition. The two are sure to agree only in the key and in what the fingerprint
	// covers: look up what is in rec, such as its Name, or what the fingerprint covers.
	// A function that asks for anything else may look for another effect, not find it,
	// and so have this one executed twice. Credentials are an example: "not found",
	// said to a caller that may not see the effect, is not [NotHappened].
	//
	// It is required with OnUnknown: Reconcile, and only then.
	Reconcile func(ctx context.Context, rec Record) (Reconciliation, error)
	// ReconcileTimeout bounds one call of Reconcile. Default 10 s.
	ReconcileTimeout time.Duration
}

// PaymentPolicy is a preset for effects that must never be repeated on a guess: 72 hours of retention for callers
// that retry over a weekend; errors count as unknown, and unknown intents are refused.
func PaymentPolicy() Policy {
	return Policy{Retention: 72 * time.Hour, UnknownOnError: true}
}

// withDefaults fills the zero fields and reports what cannot work.
func (p Policy) withDefaults() (Policy, error) {
	p.Lease = cmp.Or(p.Lease, DefaultLease)
	p.MaxRun = cmp.Or(p.MaxRun, 15*time.Minute)
	p.Wait = cmp.Or(p.Wait, DefaultWait)
	p.Retention = cmp.Or(p.Retention, DefaultRetention)
	p.UnknownRetention = cmp.Or(p.UnknownRetention, max(p.Retention, DefaultRetention))
	p.ReconcileTimeout = cmp.Or(p.ReconcileTimeout, 10*time.Second)
	p.MaxOutcomeBytes = cmp.Or(p.MaxOutcomeBytes, DefaultMaxOutcomeBytes)
	return p, p.check()
}

// completion returns the settlement that keeps an outcome. summary takes the
// place of one that is too large, and of any in dedup mode.
func (p *Policy) completion(outcome, summary []byte) Settlement {
	if p.Dedup || len(outcome) > p.MaxOutcomeBytes {
		return p.completionWithout(summary)
	}
	return Settlement{State: StateCompleted, Outcome: outcome, Kept: true}
}

func (p *Policy) completionWithout(summary []byte) Settlement {
	if len(summary) > p.MaxOutcomeBytes {
		summary = nil
	}
	return Settlement{State: StateCompleted, Outcome: summary}
}

// retention returns how long a record settled as s is remembered.
func (p *Policy) retention(s State) time.Duration {
	if s == StateUnknown {
		return p.UnknownRetention
	}
	return p.Retention
}

func (p *Policy) check() error {
	switch {
	case p.Lease < minLease:
		return fmt.Errorf("semel: policy: lease %v is too short (at least %v)", p.Lease, minLease)
	case p.MaxRun < 0:
		return fmt.Errorf("semel: policy: max run %v is negative", p.MaxRun)
	case p.Retention < time.Millisecond:
		return fmt.Errorf("semel: policy: retention %v is shorter than a millisecond", p.Retention)
	case p.UnknownRetention < time.Millisecond:
		return fmt.Errorf("semel: policy: unknown retention %v is shorter than a millisecond", p.UnknownRetention)
	case p.MaxOutcomeBytes < 0:
		return fmt.Errorf("semel: policy: max outcome of %d bytes is negative", p.MaxOutcomeBytes)
	case p.ReconcileTimeout < 0:
		return fmt.Errorf("semel: policy: reconcile timeout %v is negative", p.ReconcileTimeout)
	case p.OnUnknown > Reconcile:
		return errors.New("semel: policy: OnUnknown has a value that does not exist")
	case (p.OnUnknown == Reconcile) != (p.Reconcile != nil):
		return errors.New("semel: policy: OnUnknown: Reconcile and a Reconcile function belong together")
	}
	return nil
}
