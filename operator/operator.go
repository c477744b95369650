// Package operator settles what no program can: it shows the records of a guard's
// store, takes the verdicts of operators on intents whose outcome is unknown, and
// reconciles such intents without waiting for a caller to ask.
//
// Every verdict is written to an audit trail before it takes effect, with the name of
// its operator and the reason, and it applies to the attempt that the operator looked
// at and to no later one: the store compares the fence.
package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/seize"
	"github.com/semel-dev/semel/internal/verdict"
)

const (
	// MaxIdentityBytes bounds each field of an [Identity].
	MaxIdentityBytes = 128

	defaultAuditRetention = 365 * 24 * time.Hour
	// patience bounds one verdict.
	patience = 30 * time.Second
)

// ErrVerdict reports a verdict without a reason, or without an operator.
var ErrVerdict = errors.New("semel: a verdict needs an operator and a reason")

// Identity names the operator who settles a record by hand, in the audit trail.
type Identity struct {
	// Name is the operator's. Required, at most MaxIdentityBytes.
	Name string
	// Via names the door: a program, an address. At most MaxIdentityBytes.
	Via string
}

func (i Identity) validate(reason string) error {
	for _, text := range []string{i.Name, i.Via, reason} {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7F }) {
			return fmt.Errorf("%w: a name or the reason holds control characters or is not UTF-8", ErrVerdict)
		}
	}
	switch {
	case strings.TrimSpace(i.Name) == "":
		return fmt.Errorf("%w: the operator has no name", ErrVerdict)
	case len(i.Name) > MaxIdentityBytes || len(i.Via) > MaxIdentityBytes:
		return fmt.Errorf("%w: the operator's name or door is longer than %d bytes", ErrVerdict, MaxIdentityBytes)
	case strings.TrimSpace(reason) == "":
		return fmt.Errorf("%w: the reason is empty", ErrVerdict)
	case len(reason) > semel.MaxNoteBytes:
		return fmt.Errorf("%w: the reason has %d bytes, at most %d are kept", ErrVerdict, len(reason), semel.MaxNoteBytes)
	}
	return nil
}

// Options are the settings of [Records]. A nil *Options is complete.
type Options struct {
	// AuditRetention says for how long verdicts are remembered. Default 365 days.
	AuditRetention time.Duration
}

// Records are the records of a guard's store, as operators see and settle them. All
// methods are safe for concurrent use. Make one with [New].
type Records struct {
	guard          *semel.Guard
	auditRetention time.Duration
}

// New returns the records of the guard. Use the guard of the service itself, or one
// with the same secrets: keys are found with them only. opts may be nil.
func New(guard *semel.Guard, opts *Options) (*Records, error) {
	if opts == nil {
		opts = &Options{}
	}
	switch {
	case guard == nil:
		return nil, errors.New("semel: operator: guard is nil")
	case opts.AuditRetention != 0 && opts.AuditRetention < time.Millisecond:
		return nil, fmt.Errorf("semel: operator: audit retention %v is shorter than a millisecond", opts.AuditRetention)
	}
	return &Records{guard, cmp.Or(opts.AuditRetention, defaultAuditRetention)}, nil
}

// Resolve settles an intent that is unknown or whose claim has lapsed: as completed
// (it happened), released (it did not; a retry executes) or cancelled (it must not any
// more). s.Note is the reason, and required. A zero s.Retention means the policy's, or
// what is left of the record's where that is longer.
//
// seen is the fence of the unknown or lapsed record that the operator looked at before
// deciding. A retry that has taken the intent over since then has another one, and the
// verdict does not apply to it: the store compares the fence in the step that takes the
// claim over. A lapsed claim that its own holder reports as unknown later keeps its
// fence: it is the same attempt.
//
// Resolve takes the claim over first, so a holder that wakes up late cannot overwrite
// the verdict, then writes the audit entry, then settles.
//
// Errors: [ErrVerdict]; [semel.ErrNotFound], for an unfinished entry of the audit trail
// as well; [semel.ErrChanged] with the present record when its fence is not seen;
// [semel.ErrInFlight] while the claim is live; [semel.ErrSettled] for a record that is
// completed or cancelled. After any other error the record is still unknown, or the
// verdict may have been taken: look it up.
func (r *Records) Resolve(ctx context.Context, by Identity, d semel.Digest, seen semel.Fence, s semel.Settlement) (semel.Record, error) {
	if err := by.validate(s.Note); err != nil {
		return semel.Record{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.resolve(ctx, Entry{Operator: by, Act: actResolve}, d, seen, s)
}

func (r *Records) resolve(ctx context.Context, entry Entry, d semel.Digest, seen semel.Fence, s semel.Settlement) (semel.Record, error) {
	rec, err := r.lookup(ctx, d)
	if err != nil {
		return semel.Record{}, fmt.Errorf("semel: %s: %w", entry.Act, err)
	}
	if rec.Scope == verdict.AuditScope && rec.State != semel.StateCompleted { // no verdict finishes an entry that its writer did not
		return semel.Record{}, fmt.Errorf("semel: %s: it belongs to the audit trail: %w", entry.Act, semel.ErrNotFound)
	}
	if refused := unresolvable(entry.Act, &rec, seen); refused != nil {
		return rec, refused
	}
	entry.Before = semel.StateUnknown
	return r.settle(ctx, &entry, semel.Key{}, &rec, s)
}

// unresolvable returns why an operator who saw the attempt with this fence, or none for
// a zero fence, cannot settle the record; nil when nothing is in the way.
func unresolvable(act string, rec *semel.Record, seen semel.Fence) error {
	e := &semel.Error{Op: act, Digest: rec.Digest, Record: rec}
	switch {
	case seen != 0 && rec.Fence != seen:
		e.Err = semel.ErrChanged
	case rec.State == semel.StateCompleted, rec.State == semel.StateCancelled:
		e.Err = semel.ErrSettled
	case rec.State == semel.StateClaimed && !rec.Lapsed():
		e.Err, e.RetryAfter = semel.ErrInFlight, rec.LeaseLeft()
	case seen == 0:
		e.Err = semel.ErrChanged
	default:
		return nil
	}
	return e
}

// Cancel leaves a tombstone for the intent: until the retention ends, a late original
// is refused with [semel.ErrCancelled]. It works on an intent that is absent, unknown
// or lapsed, and does nothing to a cancelled one. The reason is required.
//
// seen is the fence of the record that the operator looked at, as for
// [Records.Resolve]; zero for an operator who saw none. Only an absent intent is
// cancelled unseen: what is unknown may have happened.
//
// Errors: [ErrVerdict]; [semel.ErrInFlight] while the intent is being executed;
// [semel.ErrSettled] when it was completed: it is too late then; [semel.ErrChanged] with
// the present record when it is not the one that was seen; [semel.ErrNotFound] when seen
// is not zero and the record is gone.
func (r *Records) Cancel(ctx context.Context, by Identity, k semel.Key, seen semel.Fence, reason string) (semel.Record, error) {
	if err := errors.Join(k.Validate(), by.validate(reason)); err != nil {
		return semel.Record{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	entry := Entry{Operator: by, Act: actCancel}
	tombstone := semel.Settlement{State: semel.StateCancelled, Note: reason}
	rec, err := r.guard.Lookup(ctx, k)
	switch {
	case errors.Is(err, semel.ErrNotFound) && seen == 0:
		rec, err = r.settle(ctx, &entry, k, nil, tombstone)
	case err != nil && !errors.Is(err, semel.ErrUnreadable):
		return semel.Record{}, fmt.Errorf("semel: cancel: %w", err)
	default:
		rec, err = r.resolve(ctx, entry, rec.Digest, seen, tombstone)
	}
	if err != nil && rec.State == semel.StateCancelled {
		return rec, nil // another operator was faster
	}
	return rec, err
}

// Decide records an operator's decision about something else than an intent: as the record of
// the key, settled as s says, under an audit entry with that act. The first decision of a key stays.
// s.Note is the reason, and required.
//
// Errors: [ErrVerdict]; [semel.ErrSettled] with the record of an earlier decision;
// [semel.ErrInFlight] while another operator decides.
func (r *Records) Decide(ctx context.Context, by Identity, act string, k semel.Key, s semel.Settlement) (semel.Record, error) {
	if err := errors.Join(k.Validate(), by.validate(s.Note)); err != nil {
		return semel.Record{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	entry := Entry{Operator: by, Act: act}
	rec, err := r.guard.Lookup(ctx, k)
	switch {
	case errors.Is(err, semel.ErrNotFound):
		return r.settle(ctx, &entry, k, nil, s)
	case err != nil && !errors.Is(err, semel.ErrUnreadable):
		return semel.Record{}, fmt.Errorf("semel: %s: %w", act, err)
	}
	if refused := unresolvable(act, &rec, rec.Fence); refused != nil {
		return rec, refused
	}
	entry.Before = semel.StateUnknown // its process died in the middle
	return r.settle(ctx, &entry, k, &rec, s)
}

// settle claims, writes the entry and settles. before is nil for the absent intent of
// the key.
func (r *Records) settle(ctx context.Context, entry *Entry, k semel.Key, before *semel.Record, s semel.Settlement) (semel.Record, error) {
	if err := r.keepOrigin(ctx, before); err != nil {
		return semel.Record{}, fmt.Errorf("semel: %s: nothing was changed: when the flow began: %w", entry.Act, err)
	}
	claim, rec, err := seize.Claim(ctx, r.guard, verdict.Operator(), k, before)
	switch {
	case err != nil:
		return semel.Record{}, fmt.Errorf("semel: %s: %w", entry.Act, err)
	case claim == nil:
		_ = r.guard.Reveal(rec) // what cannot be read is left out
		var seen semel.Fence
		if before != nil {
			seen = before.Fence
		}
		if refused := unresolvable(entry.Act, rec, seen); refused != nil {
			return *rec, refused
		}
		return *rec, &semel.Error{Op: entry.Act, Digest: rec.Digest, Record: rec, RetryAfter: time.Second, Err: semel.ErrInFlight}
	}
	entry.Reason, entry.As = s.Note, s.State
	policy := r.guard.Policy()
	if s.Retention == 0 && before != nil { // a verdict is not forgotten before what it is about
		s.Retention = max(policy.Retention, before.RetentionLeft())
	}
	if err := r.writeAudit(ctx, entry, rec); err != nil {
		putBack(claim, before, policy.UnknownRetention)
		return *rec, fmt.Errorf("semel: %s: nothing was changed: %w", entry.Act, err)
	}
	if err := seize.Settle(claim, s); err != nil {
		return *rec, fmt.Errorf("semel: %s: %w", entry.Act, err)
	}
	if s.State == semel.StateReleased {
		rec.State = semel.StateReleased
		return *rec, nil
	}
	settled, err := r.lookup(ctx, claim.Digest())
	if err != nil {
		return settled, fmt.Errorf("semel: %s: look up: %w", entry.Act, err)
	}
	return settled, nil
}

// keepOrigin records when a flow began before its first attempt is taken over: that overwrites the time,
// which the flow needs to go on when the verdict does not take effect.
func (r *Records) keepOrigin(ctx context.Context, before *semel.Record) error {
	if before == nil || before.Attempt > 1 || !strings.HasPrefix(before.Scope, verdict.FlowScopes) {
		return nil
	}
	left := max(before.RetentionLeft(), time.Millisecond)
	guard, err := r.guard.With(semel.Policy{OnUnknown: semel.Rerun, Retention: left, UnknownRetention: left})
	if err != nil {
		return err
	}
	origin := semel.Key{
		Scope: verdict.StepScopes + semel.Key{Scope: before.Scope, Name: before.Name}.Digest().String(),
		Name:  verdict.OriginName + before.Fingerprint.String(),
	}
	type begun struct {
		Begun time.Time `json:"begun"`
	}
	_, err = semel.Do(ctx, guard, origin, semel.Fingerprint{}, func(context.Context) (begun, error) { return begun{before.ClaimedAt}, nil })
	if errors.Is(err, semel.ErrQuota) { // it does not stop an operator
		return nil
	}
	return err
}

// putBack ends a claim whose entry could not be written: what was there before is
// unknown again, and what was not is absent.
func putBack(claim *semel.Claim, before *semel.Record, retention time.Duration) {
	s := semel.Settlement{State: semel.StateReleased}
	if before != nil {
		s = semel.Settlement{State: semel.StateUnknown, Note: before.Note, Retention: max(retention, before.RetentionLeft())}
	}
	_ = seize.Settle(claim, s) // otherwise it lapses, which is unknown too
}

// lookup returns the record; an outcome that cannot be read is left out.
func (r *Records) lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	rec, err := r.guard.Store().Lookup(ctx, d)
	_ = r.guard.Reveal(&rec)
	return rec, err
}
