package table

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/store/internal/verb"
	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
)

const (
	// maxOutcomeBytes is below what SQLite stores in one row (10^9 bytes).
	maxOutcomeBytes = 900 << 20
	// sweepRecords bounds the records that one step of a sweep examines, and so
	// how long other writers wait.
	sweepRecords = 128
	pageBytes    = 4096
)

// shortOutcomeBytes bounds the outcomes that are kept on a full disk.
const shortOutcomeBytes = 1 << 10

// Step is a transaction that holds the write lock of the file, for the verbs
// to run in.
type Step struct {
	Session
	Now   int64 // the store's clock, read once the lock was held
	Fence int64 // the greatest fence given
	Added int64 // records added, less those removed
	Dirty bool  // something was written
	Pages int   // written to the log, about
	// Scarce says that the disk is full, and its last room is for settlements
	// without an outcome, or with a short one.
	Scarce bool
	// Next returns a fence for a claim, above the greatest one.
	Next func(greatest int64) (int64, error)

	args []any // memory for the arguments of one statement
}

func (t *Step) wrote(pages int) {
	t.Dirty = true
	t.Pages += pages
}

// NextFence returns a fence above the greatest one, and not below least.
func (n Names) NextFence(greatest, least int64) (int64, error) {
	if greatest == math.MaxInt64 {
		return 0, fmt.Errorf("%w: %s: no fence is left", semel.ErrFull, n.Package)
	}
	return max(greatest+1, least), nil
}

// Claim wins, or returns the record that is in the way.
func (t *Step) Claim(ctx context.Context, p *semel.ClaimParams) (rec semel.Record, won bool, err error) {
	if t.Scarce {
		if rec, err = Find(ctx, t, p.Digest, t.Now); errors.Is(err, semel.ErrNotFound) || err == nil && p.TakeOver != 0 {
			err = result.ErrScarce
		}
		return rec, false, err
	}
	fence, err := t.Next(t.Fence)
	if err != nil {
		return rec, false, err
	}
	until := transition.ClaimedAt(t.Now, p.Lease.Milliseconds(), p.Retention.Milliseconds())
	t.args = append(t.args[:0], fence, p.Digest[:], p.Owner[:], p.Fingerprint[:], t.Now, until.Lapses,
		until.Expires, transition.SettledAt(t.Now, p.Retention.Milliseconds()), p.Scope, p.Name, verb.Column(p.TakeOver))
	res, err := t.Exec(ctx, Claim, t.args...)
	if err != nil {
		return rec, false, err
	}
	changed, err := res.RowsAffected()
	if err != nil {
		return rec, false, err
	}
	if changed == 0 {
		rec, err = Find(ctx, t, p.Digest, t.Now)
		return rec, false, err
	}
	t.Fence = fence
	t.wrote(1)
	inserted, err := res.LastInsertId()
	if err != nil {
		return rec, false, err
	}
	if inserted != fence {
		// The row was there and was taken over: how often is in the row.
		rec, err = Find(ctx, t, p.Digest, t.Now)
		return rec, true, err
	}
	t.Added++
	return verb.Won(p, fence, t.Now, 1), true, nil
}

// Settlement refuses a settlement that cannot be kept.
func (n Names) Settlement(v *semel.Settlement) error {
	return verb.Settlement(n.Package, v, maxOutcomeBytes, "")
}

// Settle settles or releases the claim of the fence.
func (t *Step) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v *semel.Settlement) error {
	if t.Scarce && len(v.Outcome) > shortOutcomeBytes {
		return result.ErrScarce
	}
	first, args := Settle, t.settlement(d, f, v, t.Now)
	if v.State == semel.StateReleased {
		first, args = Release, args[:3]
	}
	changed, err := changes(ctx, t, first, args...)
	if err != nil {
		return err
	}
	if changed == 0 {
		rec, err := find(ctx, t, d, t.Now)
		if err != nil {
			return err
		}
		if done, err := verb.Settle(rec, f, v); done || err != nil {
			return err
		}
		if first == Settle {
			changed, err = changes(ctx, t, SettleSooner, args...)
		}
		if err == nil && changed == 0 {
			err = fmt.Errorf("the record of fence %d could be read but not settled", f)
		}
		if err != nil {
			return err
		}
	}
	if first == Release {
		t.Added -= changed
	}
	t.wrote(1 + len(v.Outcome)/pageBytes)
	return nil
}

// Complete settles a claim of the same transaction, which has no lease.
func (t *Step) Complete(ctx context.Context, d semel.Digest, f semel.Fence, v *semel.Settlement) error {
	args := t.settlement(d, f, v, 0)
	for _, q := range []Statement{Settle, SettleSooner} {
		if changed, err := changes(ctx, t, q, args...); err != nil || changed > 0 {
			return err
		}
	}
	return semel.ErrLost
}

// settlement returns the arguments of settle.sql, valid until the next ones; the
// record must expire after the time given.
func (t *Step) settlement(d semel.Digest, f semel.Fence, v *semel.Settlement, after int64) []any {
	expires := transition.SettledAt(t.Now, v.Retention.Milliseconds())
	t.args = append(t.args[:0], verb.Column(f), d[:], t.Now, v.State.String(), flag(v.Kept), v.Outcome, v.Note, expires, after)
	return t.args
}

// sweep corrects the first records that are due, and removes up to n of them.
// A corrected record is due no longer, so repeated steps come to an end.
func (t *Step) sweep(ctx context.Context, n int) (corrected, deleted int64, err error) {
	if corrected, err = changes(ctx, t, SweepCorrect, t.Now, int64(sweepRecords)); err != nil {
		return 0, 0, err
	}
	if deleted, err = changes(ctx, t, SweepDelete, t.Now, int64(min(n, sweepRecords))); err != nil {
		return 0, 0, err
	}
	t.Added -= deleted
	if corrected+deleted > 0 {
		t.wrote(int(corrected + 2*deleted))
	}
	return corrected, deleted, nil
}
