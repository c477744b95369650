package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

// Renew implements [semel.Store].
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	if lease < time.Millisecond {
		return fmt.Errorf("pgstore: lease %v is shorter than a millisecond", lease)
	}
	return s.write(ctx, "renew", func() error {
		tag, err := s.pool.Exec(ctx, s.sql["renew"], d[:], column(f), lease.Milliseconds())
		if err == nil && tag.RowsAffected() == 0 {
			return semel.ErrLost
		}
		return err
	})
}
