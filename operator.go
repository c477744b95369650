package semel

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Resolve settles, in an operator's name, an intent that is unknown or whose
// claim has lapsed: as completed (it happened), released (it did not; a retry
// executes) or cancelled (it must not any more). It takes the claim over
// first, so a holder that wakes up late cannot overwrite the verdict. A zero
// s.Retention means the policy's.
//
// Errors: [ErrNotFound]; [ErrInFlight] while the claim is live; [ErrSettled]
// for a record that is completed or cancelled.
func (g *Guard) Resolve(ctx context.Context, d Digest, s Settlement) (Record, error) {
	rec, err := g.core.lookup(ctx, d)
	if err != nil {
		return Record{}, fmt.Errorf("semel: resolve: %w", err)
	}
	switch {
	case rec.State == StateCompleted, rec.State == StateCancelled:
		return rec, &Error{Op: "resolve", Digest: d, Record: &rec, Err: ErrSettled}
	case rec.State == StateClaimed && !rec.Lapsed():
		return rec, &Error{Op: "resolve", Digest: d, Record: &rec, RetryAfter: rec.LeaseLeft(), Err: ErrInFlight}
	}
	p := g.operatorClaim(d, rec.Scope, rec.Name, rec.Fingerprint)
	p.TakeOver = rec.Fence
	return g.settleAs(ctx, "resolve", p, s)
}

// Cancel leaves a tombstone for the intent: until the retention ends, a late
// original is refused with [ErrCancelled]. It works on an intent that is
// absent, unknown or lapsed, and is a no-op on a cancelled one.
//
// Errors: [ErrInFlight] while the intent is being executed; [ErrSettled] when
// it was completed: it is too late then.
func (g *Guard) Cancel(ctx context.Context, k Key, note string) (Record, error) {
	if err := k.Validate(); err != nil {
		return Record{}, err
	}
	d := g.Digest(k)
	tombstone := Settlement{State: StateCancelled, Note: note}
	if len(g.core.older) > 0 {
		return g.cancelRotating(ctx, k, tombstone)
	}
	rec, err := g.core.store.Lookup(ctx, d)
	switch {
	case errors.Is(err, ErrNotFound):
		p := g.operatorClaim(d, k.Scope, k.Name, Fingerprint{})
		if g.core.hideKeys {
			p.Scope, p.Name = "", ""
		}
		return g.settleAs(ctx, "cancel", p, tombstone)
	case err != nil:
		return Record{}, fmt.Errorf("semel: cancel: %w", err)
	case rec.State == StateCancelled:
		return rec, nil
	}
	return g.Resolve(ctx, d, tombstone)
}

func (g *Guard) operatorClaim(d Digest, scope, name string, fp Fingerprint) ClaimParams {
	return ClaimParams{
		Digest: d, Scope: scope, Name: name, Fingerprint: fp, Owner: g.core.newOwner(),
		Lease: g.policy.Lease, Retention: g.policy.UnknownRetention,
	}
}

// settleAs claims and settles in one go.
func (g *Guard) settleAs(ctx context.Context, op string, p ClaimParams, s Settlement) (Record, error) {
	ctx, cancel := context.WithTimeout(ctx, g.core.timeout)
	defer cancel()
	rec, won, err := g.core.store.Claim(ctx, p)
	switch {
	case err != nil:
		return Record{}, fmt.Errorf("semel: %s: %w", op, err)
	case !won:
		_ = g.core.reveal(&rec) // what cannot be read is left out
		return rec, &Error{Op: op, Digest: p.Digest, Record: &rec, RetryAfter: time.Second, Err: ErrInFlight}
	}
	if s.Outcome, err = g.core.sealer.seal(p.Digest, s.Kept, s.Outcome); err != nil {
		return rec, err
	}
	s.Note = maxNote(s.Note)
	if s.Retention == 0 {
		s.Retention = g.policy.retention(s.State)
	}
	if err := g.core.store.Settle(ctx, p.Digest, rec.Fence, s); err != nil {
		return rec, fmt.Errorf("semel: %s: settle: %w", op, err)
	}
	g.core.waiters.wake(p.Digest)
	if s.State == StateReleased {
		rec.State = StateReleased
		return rec, nil
	}
	rec, err = g.core.lookup(ctx, p.Digest)
	if err != nil {
		return rec, fmt.Errorf("semel: %s: look up: %w", op, err)
	}
	return rec, nil
}
