package redisstore

import (
	"context"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Renew implements [semel.Store].
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	if err := verb.Lease("redisstore", lease); err != nil {
		return err
	}
	if err := s.enter(ctx, "renew", verb.Writes); err != nil {
		return err
	}
	answer, err := s.runScript(ctx, s.scripts.renew, []string{s.key(&d)}, []string{
		fenceBytes(f), strconv.FormatInt(lease.Milliseconds(), 10), strconv.FormatInt(s.slack.Milliseconds(), 10),
	}).AsInt64()
	return s.verdict("renew", answer, err)
}
