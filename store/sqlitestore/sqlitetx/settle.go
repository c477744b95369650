package sqlitetx

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/record"
)

// Renew implements [semel.Store].
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	if lease < time.Millisecond {
		return fmt.Errorf("sqlitetx: lease %v is shorter than a millisecond", lease)
	}
	return s.write(ctx, "renew", d, func(ctx context.Context, t *step) error {
		changed, err := t.in.exec(ctx, stmtRenew, record.Column(f), d[:], t.now, t.now+lease.Milliseconds())
		switch {
		case err != nil:
			return err
		case changed == 0:
			return semel.ErrLost
		}
		t.dirty = true
		return nil
	})
}

// Settle implements [semel.Store].
func (s *Store) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	if err := check(&v); err != nil {
		return err
	}
	return s.write(ctx, "settle", d, func(ctx context.Context, t *step) error {
		if v.State == semel.StateReleased {
			return t.release(ctx, d, f)
		}
		return t.settle(ctx, d, f, &v)
	})
}

// check refuses a settlement that cannot be kept.
func check(v *semel.Settlement) error {
	if err := v.Validate(); err != nil {
		return err
	}
	if len(v.Outcome) > record.MaxOutcomeBytes {
		return fmt.Errorf("%w: sqlitetx: the outcome has %d bytes, at most %d are stored", semel.ErrFull, len(v.Outcome), record.MaxOutcomeBytes)
	}
	v.Kept = v.Kept && v.State == semel.StateCompleted
	return nil
}

func (t *step) settle(ctx context.Context, d semel.Digest, f semel.Fence, v *semel.Settlement) error {
	expires := t.now + v.Retention.Milliseconds()
	args := []any{record.Column(f), d[:], t.now, v.State.String(), flag(v.Kept), v.Outcome, v.Note, expires, t.now}
	changed, err := t.in.exec(ctx, stmtSettle, args...)
	if err != nil {
		return err
	}
	if changed == 0 {
		rec, err := find(ctx, t.in, d, t.now)
		if errors.Is(err, semel.ErrNotFound) {
			return semel.ErrLost
		}
		if err != nil {
			return err
		}
		if done, err := record.Settled(&rec, f, v); done || err != nil {
			return err
		}
		if changed, err = t.in.exec(ctx, stmtSettleSooner, args...); err != nil {
			return err
		}
		if changed == 0 {
			return fmt.Errorf("the record of fence %d could be read but not settled", f)
		}
	}
	t.dirty = true
	return nil
}

// complete settles a claim of the same transaction.
func (t *step) complete(ctx context.Context, d semel.Digest, f semel.Fence, v *semel.Settlement) error {
	expires := t.now + v.Retention.Milliseconds()
	args := []any{record.Column(f), d[:], t.now, v.State.String(), flag(v.Kept), v.Outcome, v.Note, expires, 0}
	for _, q := range []statement{stmtSettle, stmtSettleSooner} {
		if changed, err := t.in.exec(ctx, q, args...); err != nil || changed > 0 {
			return err
		}
	}
	return semel.ErrLost
}

func (t *step) release(ctx context.Context, d semel.Digest, f semel.Fence) error {
	changed, err := t.in.exec(ctx, stmtRelease, record.Column(f), d[:], t.now)
	if err != nil {
		return err
	}
	if changed > 0 {
		t.dirty = true
		return nil
	}
	rec, err := find(ctx, t.in, d, t.now)
	if errors.Is(err, semel.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = record.Settled(&rec, f, &semel.Settlement{State: semel.StateReleased})
	return err
}
