package pgstore

import (
	"context"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Renew implements [semel.Store].
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	if err := verb.Lease("pgstore", lease); err != nil {
		return err
	}
	return s.write(ctx, "renew", func() error {
		changed, err := s.change(ctx, s.sql["renew"], d[:], verb.Column(f), lease.Milliseconds())
		if err == nil && changed == 0 {
			return semel.ErrLost
		}
		return err
	})
}
