package sqlitetx

import (
	"context"
	"errors"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/store/internal/verb"
	"github.com/semel-dev/semel/store/sqlitestore/internal/table"
)

// Claim implements [semel.Store].
func (s *Store) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	if rec, err := s.Lookup(ctx, p.Digest); err == nil {
		// Where there is nothing to write, there is nothing to wait for.
		switch answer := verb.Claim(&rec, &p); answer {
		case transition.NotWon, transition.Repeated:
			return rec, answer == transition.Repeated, nil
		case transition.Fresh, transition.TakenOver:
		}
	}
	return s.engine.Claim(ctx, &p)
}

// Renew implements [semel.Store].
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	return s.engine.Renew(ctx, d, f, lease)
}

// Settle implements [semel.Store].
func (s *Store) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	return s.engine.Settle(ctx, d, f, &v)
}

// Lookup implements [semel.Store]. It reads the last commit, or what the
// transaction of ctx sees.
func (s *Store) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	return s.lookup(ctx, d, s.busy)
}

// lookup is Lookup within a time: it may have to wait for a connection.
func (s *Store) lookup(ctx context.Context, d semel.Digest, patience time.Duration) (rec semel.Record, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = s.read(ctx, "look up", func(ctx context.Context, in table.Session) error {
		rec, err = table.Find(ctx, in, d, s.clock.Read(0))
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
// others write; after an error, what was removed stays removed. Where nothing
// is due it takes no lock.
func (s *Store) Sweep(ctx context.Context, limit int) (removed int, err error) {
	return s.engine.Sweep(ctx, limit, s.engine.Due)
}

// Check reads the whole database and reports damage: pages and indexes that
// disagree, a count of records that is wrong, a fence beyond the greatest one.
// It takes as long as reading the file; ctx ends it.
func (s *Store) Check(ctx context.Context) error { return s.engine.Check(ctx) }

// read lends fn a place to read in: the transaction of ctx, or the pool. It may
// call fn again.
func (s *Store) read(ctx context.Context, act string, fn func(context.Context, table.Session) error) error {
	if err := s.begun(ctx, act); err != nil {
		return err
	}
	defer s.gate.Leave()
	in := s.pooled()
	if w := s.transactions.WorkOf(ctx); w != nil {
		in = w.Place.sqlSession
	}
	patience, cancel := context.WithTimeout(ctx, s.busy)
	defer cancel()
	// A database without a write-ahead log keeps readers out during a commit.
	err := untilFree(patience, func() error { return fn(ctx, in) })
	if err == nil || errors.Is(err, semel.ErrNotFound) {
		return err
	}
	return s.translate(act, err)
}
