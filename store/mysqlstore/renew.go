package mysqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Renew implements [semel.Store]. It takes one round trip.
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	if err := verb.Lease("mysqlstore", lease); err != nil {
		return err
	}
	if err := s.gate.Enter("renew", verb.Writes); err != nil {
		return err
	}
	defer s.gate.Leave()
	ms := lease.Milliseconds()
	changed, err := s.change(ctx, "renew", 1, ms, ms, ms, uint64(f), d[:])
	if err != nil {
		return translate("renew", err)
	}
	if changed > 0 {
		return nil
	}
	// A lease that is set to what it was is not counted as changed.
	rec, err := s.find(ctx, d)
	switch {
	case errors.Is(err, semel.ErrNotFound):
		return semel.ErrLost
	case err != nil:
		return err
	case !verb.Renewable(&rec, f):
		return semel.ErrLost
	}
	return nil
}

// change runs a statement that writes, in a commit of its own, and returns how
// many rows it changed.
func (s *Store) change(ctx context.Context, name string, n int, args ...any) (changed int64, err error) {
	err = retry(ctx, func() error {
		res, err := s.stmts.exec(ctx, nil, name, n, args...)
		if err != nil {
			return err
		}
		changed, err = res.RowsAffected()
		return err
	})
	return changed, err
}
