package mysqlstore

import (
	"context"
	"database/sql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Lookup implements [semel.Store]. It waits for no lock.
func (s *Store) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	if err := s.gate.Enter("look up", verb.Reads); err != nil {
		return semel.Record{}, err
	}
	defer s.gate.Leave()
	rec, err := s.find(ctx, d)
	switch {
	case err != nil:
		return semel.Record{}, err
	case verb.Absent(&rec):
		return semel.Record{}, semel.ErrNotFound
	}
	return rec, nil
}

// find reads the row of a digest, released and expired ones included, or
// returns [semel.ErrNotFound].
func (s *Store) find(ctx context.Context, d semel.Digest) (rec semel.Record, err error) {
	found := false
	err = s.stmts.each(ctx, nil, "find", 1, []any{d[:]}, func(rows *sql.Rows) (err error) {
		found = true
		rec, err = readRecord(rows)
		return err
	})
	switch {
	case err != nil:
		return rec, translate("look up", err)
	case !found:
		return rec, semel.ErrNotFound
	}
	s.seen.Add(d)
	return rec, nil
}

// findMany reads the rows of up to maxBatch digests, in a transaction if one is given.
func (s *Store) findMany(ctx context.Context, tx *sql.Tx, digests []semel.Digest) (map[semel.Digest]semel.Record, error) {
	n := batchSize(len(digests))
	args := make([]any, n)
	for i := range args {
		args[i] = digests[min(i, len(digests)-1)][:]
	}
	found := make(map[semel.Digest]semel.Record, n)
	if err := s.stmts.each(ctx, tx, "find", n, args, into(found)); err != nil {
		return nil, translate("look up", err)
	}
	return found, nil
}

// into collects records by their digests.
func into(found map[semel.Digest]semel.Record) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		rec, err := readRecord(rows)
		found[rec.Digest] = rec
		return err
	}
}
