package sqlitestore

import (
	"context"
	_ "embed"
	"fmt"
	"math"

	"github.com/semel-dev/semel"
)

//go:embed sql/claim.sql
var claimSQL string

// Claim implements [semel.Store].
func (s *Store) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	var answer struct {
		rec semel.Record
		won bool
	}
	err = s.do(ctx, "claim", func(ctx context.Context, t *tx) (err error) {
		answer.rec, answer.won, err = t.claimOne(ctx, &p)
		return err
	})
	if err != nil {
		return semel.Record{}, false, err
	}
	return answer.rec, answer.won, nil
}

func (t *tx) claimOne(ctx context.Context, p *semel.ClaimParams) (rec semel.Record, won bool, err error) {
	if t.fence == math.MaxInt64 {
		return rec, false, fmt.Errorf("%w: sqlitestore: no fence is left", semel.ErrFull)
	}
	fence := t.fence + 1
	retention := p.Retention.Milliseconds()
	leaseUntil := t.now + p.Lease.Milliseconds()
	res, err := t.claim.exec(ctx, fence, p.Digest[:], p.Owner[:], p.Fingerprint[:], t.now, leaseUntil,
		leaseUntil+retention, t.now+retention, p.Scope, p.Name, column(p.TakeOver))
	if err != nil {
		return rec, false, err
	}
	changed, err := res.RowsAffected()
	if err != nil {
		return rec, false, err
	}
	if changed == 0 {
		rec, err = t.get(ctx, p.Digest)
		return rec, repeated(&rec, p), err
	}
	t.fence, t.dirty = fence, true
	t.pages++
	inserted, err := res.LastInsertId()
	if err != nil {
		return rec, false, err
	}
	if inserted != fence {
		// The row was there and was taken over: how often is in the row.
		rec, err = t.get(ctx, p.Digest)
		return rec, true, err
	}
	t.count++
	return semel.Record{
		Digest:      p.Digest,
		Scope:       p.Scope,
		Name:        p.Name,
		Fingerprint: p.Fingerprint,
		State:       semel.StateClaimed,
		Fence:       semel.Fence(fence), //nolint:gosec // fences are positive.
		Owner:       p.Owner,
		Attempt:     1,
		ClaimedAt:   fromMS(t.now),
		LeaseUntil:  fromMS(leaseUntil),
		ExpiresAt:   fromMS(leaseUntil + retention),
		ReadAt:      fromMS(t.now),
	}, true, nil
}

// repeated reports whether the claim found is the caller's own, whose reply
// was lost.
func repeated(rec *semel.Record, p *semel.ClaimParams) bool {
	return rec.State == semel.StateClaimed && !rec.Lapsed() && rec.Owner == p.Owner && p.Owner != semel.Owner{}
}

// column is the fence as SQLite stores it; 0, which no record has, for a
// number that was never given.
func column(f semel.Fence) int64 {
	if f > math.MaxInt64 {
		return 0
	}
	return int64(f)
}
