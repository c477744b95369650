package semel

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Resolve settles, in an operator's name, an intent that is unknown or whose
// claim has lapsed: as completed (it happened), released (it did not; a retry
// executes) or cancelled (it must not any more). s.Note is the reason, and
// required. A zero s.Retention means the policy's.
//
// It takes the claim over first, so a holder that wakes up late cannot
// overwrite the verdict, then writes the audit entry, then settles.
//
// Errors: [ErrOperator]; [ErrNotFound], for an unfinished entry of the audit trail too;
// [ErrInFlight] while the claim is live;
// [ErrSettled] for a record that is completed or cancelled. After any other the
// record is unknown still, or nobody can tell: look it up.
func (g *Guard) Resolve(ctx context.Context, by Operator, d Digest, s Settlement) (Record, error) {
	if err := by.validate(s.Note); err != nil {
		return Record{}, err
	}
	return g.resolve(ctx, AuditEntry{Operator: by, Act: "resolve"}, d, s)
}

func (g *Guard) resolve(ctx context.Context, entry AuditEntry, d Digest, s Settlement) (Record, error) {
	rec, err := g.core.lookup(ctx, d)
	if err != nil {
		return Record{}, fmt.Errorf("semel: %s: %w", entry.Act, err)
	}
	switch {
	case rec.State == StateCompleted, rec.State == StateCancelled:
		return rec, &Error{Op: entry.Act, Digest: d, Record: &rec, Err: ErrSettled}
	case rec.Scope == AuditScope: // an entry that its writer did not finish is nobody's to write
		return Record{}, fmt.Errorf("semel: %s: it belongs to the audit trail: %w", entry.Act, ErrNotFound)
	case rec.State == StateClaimed && !rec.Lapsed():
		return rec, &Error{Op: entry.Act, Digest: d, Record: &rec, RetryAfter: rec.LeaseLeft(), Err: ErrInFlight}
	}
	p := g.operatorClaim(d, rec.Scope, rec.Name, rec.Fingerprint)
	p.TakeOver = rec.Fence
	entry.Before = StateUnknown
	return g.settleAs(ctx, &entry, p, s, rec.Note)
}

// Cancel leaves a tombstone for the intent: until the retention ends, a late
// original is refused with [ErrCancelled]. It works on an intent that is
// absent, unknown or lapsed, and is a no-op on a cancelled one. The reason is
// required.
//
// Errors: [ErrOperator]; [ErrInFlight] while the intent is being executed;
// [ErrSettled] when it was completed: it is too late then.
func (g *Guard) Cancel(ctx context.Context, by Operator, k Key, reason string) (Record, error) {
	if err := errors.Join(k.Validate(), by.validate(reason)); err != nil {
		return Record{}, err
	}
	d := g.Digest(k)
	entry := AuditEntry{Operator: by, Act: "cancel"}
	tombstone := Settlement{State: StateCancelled, Note: reason}
	if len(g.core.older) > 0 {
		return g.cancelRotating(ctx, entry, k, tombstone)
	}
	rec, err := g.core.find(ctx, k)
	switch {
	case errors.Is(err, ErrNotFound):
		p := g.operatorClaim(d, k.Scope, k.Name, Fingerprint{})
		return g.settleAs(ctx, &entry, p, tombstone, "")
	case err != nil:
		return Record{}, fmt.Errorf("semel: cancel: %w", err)
	case rec.State == StateCancelled:
		return rec, nil
	}
	return g.resolve(ctx, entry, d, tombstone)
}

func (g *Guard) operatorClaim(d Digest, scope, name string, fp Fingerprint) ClaimParams {
	if g.core.hideKeys {
		scope, name = "", ""
	}
	return ClaimParams{
		Digest: d, Scope: scope, Name: name, Fingerprint: fp, Owner: g.core.newOwner(),
		Lease: g.policy.Lease, Retention: g.policy.UnknownRetention,
	}
}

// settleAs claims, writes the entry and settles in one go. note is that of the
// record before, if there was one.
func (g *Guard) settleAs(ctx context.Context, entry *AuditEntry, p ClaimParams, s Settlement, note string) (Record, error) {
	var err error
	if s.Outcome, err = g.core.sealer.seal(p.Digest, s.Kept, s.Outcome); err != nil {
		return Record{}, fmt.Errorf("semel: %s: nothing was changed: %w", entry.Act, err)
	}
	ctx, cancel := context.WithTimeout(ctx, g.core.timeout)
	defer cancel()
	rec, won, err := g.core.store.Claim(ctx, p)
	switch {
	case err != nil && !definite(err):
		g.core.giveBack(p) //nolint:contextcheck // it outlives the call.
		fallthrough
	case err != nil:
		return Record{}, fmt.Errorf("semel: %s: %w", entry.Act, err)
	case !won:
		_ = g.core.reveal(&rec) // what cannot be read is left out
		return rec, &Error{Op: entry.Act, Digest: p.Digest, Record: &rec, RetryAfter: time.Second, Err: ErrInFlight}
	}
	entry.Digest, entry.Scope, entry.Name = p.Digest, p.Scope, p.Name
	entry.Reason, entry.As, entry.Fence = s.Note, s.State, rec.Fence
	if err := g.core.writeAudit(ctx, entry); err != nil {
		g.core.putBack(p, rec.Fence, note) //nolint:contextcheck // an operator who goes away does not stop it.
		return rec, fmt.Errorf("semel: %s: nothing was changed: %w", entry.Act, err)
	}
	if s.Retention == 0 {
		s.Retention = g.policy.retention(s.State)
	}
	if err := g.core.store.Settle(ctx, p.Digest, rec.Fence, s); err != nil {
		return rec, fmt.Errorf("semel: %s: settle: %w", entry.Act, err)
	}
	g.core.waiters.wake(p.Digest)
	if s.State == StateReleased {
		rec.State = StateReleased
		return rec, nil
	}
	rec, err = g.core.lookup(ctx, p.Digest)
	if err != nil {
		return rec, fmt.Errorf("semel: %s: look up: %w", entry.Act, err)
	}
	return rec, nil
}

// putBack ends an operator's claim whose entry could not be written: what was
// there before is unknown again, and what was not is absent.
func (c *core) putBack(p ClaimParams, f Fence, note string) {
	s := Settlement{State: StateReleased}
	if p.TakeOver != 0 {
		s = Settlement{State: StateUnknown, Note: note, Retention: p.Retention}
	}
	ctx, cancel := context.WithTimeout(c.life, c.timeout)
	defer cancel()
	_ = c.store.Settle(ctx, p.Digest, f, s) // otherwise it lapses, which is unknown too
}
