package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Drop removes the store's schema with everything in it: all records, and
// whatever else was put there. It is for schemas that were made for a
// check; other stores on the schema fail afterwards. It does not close the store.
func (s *Store) Drop(ctx context.Context) error {
	return s.write(ctx, "drop", func() error {
		_, err := s.pool.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{s.schema}.Sanitize()+" CASCADE")
		return err
	})
}
