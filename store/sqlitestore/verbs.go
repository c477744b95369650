package sqlitestore

import (
	"bytes"
	"context"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/table"
)

// Claim implements [semel.Store].
func (s *Store) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	return s.engine.Claim(ctx, &p)
}

// Renew implements [semel.Store].
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	return s.engine.Renew(ctx, d, f, lease)
}

// Settle implements [semel.Store].
func (s *Store) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	// The writer may read it after the caller has given up and gone.
	v.Outcome = bytes.Clone(v.Outcome)
	return s.engine.Settle(ctx, d, f, &v)
}

// Lookup implements [semel.Store]. It reads the last commit and waits for
// neither the writer nor other processes.
func (s *Store) Lookup(ctx context.Context, d semel.Digest) (rec semel.Record, err error) {
	err = s.read(ctx, "look up", func(ctx context.Context, in table.Session) error {
		rec, err = table.Find(context.WithoutCancel(ctx), in, d, s.clock.Read(0))
		return err
	})
	return rec, err
}

// List implements [semel.Lister]. It reads the table backwards from the cursor,
// over at most as many rows as it may look at.
func (s *Store) List(ctx context.Context, p semel.ListParams) (semel.ListPage, error) {
	return s.engine.List(ctx, &p)
}

// Count implements [semel.Counter].
func (s *Store) Count(ctx context.Context) (int64, error) { return s.engine.Count(ctx) }

// Sweep implements [semel.Sweeper]. It goes in small steps, between which
// other callers are served; after an error, what was removed stays removed.
func (s *Store) Sweep(ctx context.Context, limit int) (removed int, err error) {
	return s.engine.Sweep(ctx, limit, nil)
}

// Check reads the whole file and reports damage: pages and indexes that
// disagree, a count that is wrong, a fence that was given beyond the greatest
// one. Other callers are served meanwhile; it takes as long as reading the
// file, and ctx ends it.
func (s *Store) Check(ctx context.Context) error { return s.engine.Check(ctx) }
