package semel

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
)

// reconcile finds out, under the claim just won, whether the intent happened
// under the claim before it.
func (a *attempt) reconcile(before Record, s storeAnswer) (*Record, error) {
	claim := a.openClaim(s)
	found, err := claim.Reconcile(before)
	switch {
	case err == nil && found.Verdict == NotHappened:
		a.claim = claim
		return nil, nil //nolint:nilnil // it is a.claim.
	case err == nil && found.Verdict == Happened:
		return a.adopt(claim, found)
	case err != nil:
		found.Note = fmt.Sprintf("reconcile: %v", err)
	}
	found.Note = cmp.Or(found.Note, before.Note)
	a.again = max(found.Again, 0)
	a.seat()
	if err := claim.Unknown(found.Note); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return nil, ErrUnknown
}

// Reconcile asks the policy's function, within [Policy.ReconcileTimeout], whether the intent happened under the claim
// before this one, whose record is before. A panic in it counts as an error. It settles nothing.
func (c *Claim) Reconcile(before Record) (found Reconciliation, err error) {
	p := &c.guard.policy
	began := time.Now()
	ctx, cancel := context.WithTimeout(c.Context(), p.ReconcileTimeout)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			found, err = Reconciliation{}, fmt.Errorf("panic: %v", cause)
			if failed, ok := cause.(error); ok {
				err = fmt.Errorf("panic: %w", failed)
			}
		}
		err = dialect.Discreet(err) // it becomes a note
		if hook := c.guard.core.trace.Reconciled; hook != nil {
			hook(ctx, ReconcileInfo{Digest: c.digest, Fence: c.fence, Verdict: found.Verdict, Took: time.Since(began), Err: err})
		}
	}()
	return p.Reconcile(ctx, before)
}

// adopt records the outcome that the reconciliation found, and replays it.
func (a *attempt) adopt(claim *Claim, found Reconciliation) (*Record, error) {
	a.seat()
	if err := claim.adopt(found); err != nil {
		return nil, fmt.Errorf("%w: it happened: %w", ErrUnknown, err)
	}
	rec, err := a.lookup()
	if err != nil {
		return nil, fmt.Errorf("%w: what was recorded: %w", ErrInFlight, err)
	}
	a.met = &rec
	if err := a.refusal(&rec); err != nil {
		return nil, err
	}
	return &rec, nil
}

// adopt settles the claim as the reconciliation found.
func (c *Claim) adopt(found Reconciliation) error {
	if found.Kept {
		return c.Complete(found.Outcome, nil)
	}
	return c.CompleteWithout(found.Outcome)
}

// seat takes a seat for the rest of the attempt, because the claim gives its
// own back when it is settled.
func (a *attempt) seat() { a.guard.core.idle.Enter() }
