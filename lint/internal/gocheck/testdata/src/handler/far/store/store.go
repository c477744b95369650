// Package store writes.
package store

import (
	"context"
	"database/sql"
)

type DB struct{ db *sql.DB }

func (s *DB) Create(ctx context.Context, ref string) error {
	_, err := s.db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref)
	return err
}

func (s *DB) Balance(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "UPDATE account SET balance = balance - 1 WHERE id = $1", 1)
	return err
}

// Copy is one of two that have Balance.
type Copy struct{ DB }

func (s *Copy) Create() error { return nil }
