package sqlitestore

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/record"
)

//go:embed sql/settle.sql
var settleSQL string

//go:embed sql/settle_sooner.sql
var settleSoonerSQL string

//go:embed sql/release.sql
var releaseSQL string

// Settle implements [semel.Store].
func (s *Store) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	if err := v.Validate(); err != nil {
		return err
	}
	if len(v.Outcome) > record.MaxOutcomeBytes {
		return fmt.Errorf("%w: sqlitestore: the outcome has %d bytes, at most %d are stored", semel.ErrFull, len(v.Outcome), record.MaxOutcomeBytes)
	}
	// The writer may read it after the caller has given up and gone.
	v.Outcome = bytes.Clone(v.Outcome)
	v.Kept = v.Kept && v.State == semel.StateCompleted
	return s.do(ctx, "settle", func(ctx context.Context, t *tx) error {
		if v.State == semel.StateReleased {
			return t.releaseOne(ctx, d, f)
		}
		return t.settleOne(ctx, d, f, &v)
	})
}

func (t *tx) settleOne(ctx context.Context, d semel.Digest, f semel.Fence, v *semel.Settlement) error {
	expires := t.now + v.Retention.Milliseconds()
	changed, err := t.settle.changes(ctx, record.Column(f), d[:], t.now, v.State.String(), v.Kept, v.Outcome, v.Note, expires)
	if err != nil {
		return err
	}
	if changed == 0 {
		rec, err := t.get(ctx, d)
		if err != nil {
			return lost(err)
		}
		if done, err := record.Settled(&rec, f, v); done || err != nil {
			return err
		}
		changed, err = t.settleSooner.changes(ctx, record.Column(f), d[:], t.now, v.State.String(), v.Kept, v.Outcome, v.Note, expires)
		if err != nil {
			return err
		}
		if changed == 0 {
			return fmt.Errorf("the record of fence %d could be read but not settled", f)
		}
	}
	t.dirty = true
	t.pages += 1 + len(v.Outcome)/pageBytes
	return nil
}

func (t *tx) releaseOne(ctx context.Context, d semel.Digest, f semel.Fence) error {
	changed, err := t.release.changes(ctx, record.Column(f), d[:], t.now)
	if err != nil {
		return err
	}
	if changed > 0 {
		t.count -= changed
		t.dirty = true
		t.pages += 2
		return nil
	}
	rec, err := t.get(ctx, d)
	if errors.Is(err, semel.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = record.Settled(&rec, f, &semel.Settlement{State: semel.StateReleased})
	return err
}

// lost is what a settlement of an absent record meets.
func lost(err error) error {
	if errors.Is(err, semel.ErrNotFound) {
		return semel.ErrLost
	}
	return err
}
