package sqlitetx

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/record"
)

// Claim implements [semel.Store].
func (s *Store) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	if rec, err := s.Lookup(ctx, p.Digest); err == nil && (p.TakeOver == 0 || p.TakeOver != rec.Fence) {
		return rec, record.Repeated(&rec, &p), nil // nothing to write, so nothing to wait for
	}
	err = s.write(ctx, "claim", p.Digest, func(ctx context.Context, t *step) error {
		rec, won, err = t.claim(ctx, &p)
		if err == nil && !won {
			won = record.Repeated(&rec, &p)
		}
		return err
	})
	if err != nil {
		return semel.Record{}, false, err
	}
	return rec, won, nil
}

// claim wins, or returns the record that is in the way.
func (t *step) claim(ctx context.Context, p *semel.ClaimParams) (rec semel.Record, won bool, err error) {
	fence, err := t.store.nextFence(t.fence)
	if err != nil {
		return rec, false, err
	}
	retention := p.Retention.Milliseconds()
	leaseUntil := t.now + p.Lease.Milliseconds()
	attempt := 0
	rows, err := t.in.query(ctx, stmtClaim, fence, p.Digest[:], p.Owner[:], p.Fingerprint[:], t.now, leaseUntil,
		leaseUntil+retention, t.now+retention, p.Scope, p.Name, record.Column(p.TakeOver))
	err = each(rows, err, func(row *sql.Rows) error { return row.Scan(&attempt) })
	switch {
	case err != nil:
		return rec, false, err
	case attempt == 0:
		rec, err = find(ctx, t.in, p.Digest, t.now)
		return rec, false, err
	}
	t.dirty = true
	return semel.Record{
		Digest:      p.Digest,
		Scope:       p.Scope,
		Name:        p.Name,
		Fingerprint: p.Fingerprint,
		State:       semel.StateClaimed,
		Fence:       semel.Fence(fence), //nolint:gosec // fences are positive.
		Owner:       p.Owner,
		Attempt:     attempt,
		ClaimedAt:   record.Time(t.now),
		LeaseUntil:  record.Time(leaseUntil),
		ExpiresAt:   record.Time(leaseUntil + retention),
		ReadAt:      record.Time(t.now),
	}, true, nil
}

// nextFence gives a fence greater than the committed one, than every one that
// this process has given, and than the clock was when another process gave one
// that it rolled back: the file does not remember those.
func (s *Store) nextFence(committed int64) (int64, error) {
	for {
		given := s.given.Load()
		greatest := max(committed, given)
		if greatest == math.MaxInt64 {
			return 0, fmt.Errorf("%w: sqlitetx: no fence is left", semel.ErrFull)
		}
		fence := max(greatest+1, s.clock.Micros(0))
		if s.given.CompareAndSwap(given, fence) {
			return fence, nil
		}
	}
}
