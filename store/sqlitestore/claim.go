package sqlitestore

import (
	"context"
	_ "embed"
	"fmt"
	"math"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/record"
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
		leaseUntil+retention, t.now+retention, p.Scope, p.Name, record.Column(p.TakeOver))
	if err != nil {
		return rec, false, err
	}
	changed, err := res.RowsAffected()
	if err != nil {
		return rec, false, err
	}
	if changed == 0 {
		rec, err = t.get(ctx, p.Digest)
		return rec, record.Repeated(&rec, p), err
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
		ClaimedAt:   record.Time(t.now),
		LeaseUntil:  record.Time(leaseUntil),
		ExpiresAt:   record.Time(leaseUntil + retention),
		ReadAt:      record.Time(t.now),
	}, true, nil
}
