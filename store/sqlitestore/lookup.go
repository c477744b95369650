package sqlitestore

import (
	"context"
	"database/sql/driver"
	_ "embed"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/record"
)

//go:embed sql/lookup.sql
var lookupSQL string

// Lookup implements [semel.Store]. It reads the last commit beside the writer
// and waits for neither it nor other processes.
func (s *Store) Lookup(ctx context.Context, d semel.Digest) (rec semel.Record, err error) {
	err = s.read(ctx, "look up", func(r *reader) error {
		rec, err = find(context.WithoutCancel(ctx), r.find, d, s.clock.Read(0))
		return err
	})
	return rec, err
}

// get is Lookup inside the transaction.
func (t *tx) get(ctx context.Context, d semel.Digest) (semel.Record, error) {
	return find(ctx, t.find, d, t.now)
}

func find(ctx context.Context, lookup *stmt, d semel.Digest, now int64) (rec semel.Record, err error) {
	found := false
	err = lookup.each(ctx, func(row []driver.Value) error {
		rec, err = readRecord(row, now)
		found = err == nil && !record.Expired(&rec)
		return err
	}, d[:])
	switch {
	case err != nil:
		return semel.Record{}, err
	case !found:
		return semel.Record{}, semel.ErrNotFound
	}
	return rec, nil
}
