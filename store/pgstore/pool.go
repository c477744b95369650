package pgstore

import "github.com/jackc/pgx/v5/pgxpool"

// Pool returns the pool the store works with, so that business rows can use
// the same connections. The caller that opened it closes it.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }
