package pgstore

import (
	"context"

	"github.com/semel-dev/semel"
)

// Lookup implements [semel.Store].
func (s *Store) Lookup(ctx context.Context, d semel.Digest) (rec semel.Record, err error) {
	err = s.step(ctx, "look up", func() (err error) {
		rec, err = s.lookup(ctx, d)
		return err
	})
	if err != nil {
		return semel.Record{}, err
	}
	return rec, nil
}

func (s *Store) lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	rec, _, err := scanRecord(s.pool.QueryRow(ctx, s.sql["lookup"], d[:]))
	if noRow(err) {
		return semel.Record{}, semel.ErrNotFound
	}
	return rec, err
}
