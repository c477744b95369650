package redisstore

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Lookup implements [semel.Store].
func (s *Store) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	if err := s.enter(ctx, "lookup", verb.Reads); err != nil {
		return semel.Record{}, err
	}
	rec, err := s.lookup(ctx, d)
	if rueidis.IsRedisNil(err) || err == semel.ErrNotFound { //nolint:errorlint // read returns it as it is.
		return semel.Record{}, semel.ErrNotFound
	}
	if err != nil {
		return semel.Record{}, s.translate("lookup", err)
	}
	return rec, nil
}

func (s *Store) lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	answer, err := s.runScript(ctx, s.scripts.lookup, []string{s.key(&d)}, nil).ToMessage()
	if err != nil {
		return semel.Record{}, err
	}
	now, v, err := split(&answer)
	if err != nil {
		return semel.Record{}, err
	}
	return read(d, now, v)
}
