package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
)

// Renew implements [semel.Store].
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	if lease < time.Millisecond {
		return fmt.Errorf("redisstore: renew: lease %v is shorter than a millisecond", lease)
	}
	if err := s.enter(ctx, "renew", writes); err != nil {
		return err
	}
	answer, err := s.run(ctx, s.scripts.renew, []string{s.key(&d)}, []string{
		fenceBytes(f), strconv.FormatInt(lease.Milliseconds(), 10), strconv.FormatInt(s.slack.Milliseconds(), 10),
	}).AsInt64()
	return s.verdict("renew", answer, err)
}
