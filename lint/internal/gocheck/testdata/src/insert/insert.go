// Package insert holds a SELECT before an INSERT.
package insert

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

type store struct {
	db *sql.DB
	mu sync.Mutex
}

func (s *store) byRef(ctx context.Context, ref string) (id int64, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT id FROM orders WHERE ref = $1", ref).Scan(&id)
	return id, err
}

func (s *store) add(ctx context.Context, ref string) error {
	_, err := s.db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref)
	return err
}

func noRows(ctx context.Context, db *sql.DB, ref string) error {
	var id int64
	err := db.QueryRowContext(ctx, "SELECT id FROM orders WHERE ref = $1", ref).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref) // want `check-then-insert: orders is asked at insert/insert.go:\d+`
	}
	return err
}

func exists(ctx context.Context, db *sql.DB, ref string) error {
	var exists bool
	if err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM orders WHERE ref = $1)", ref).Scan(&exists); err != nil {
		return err
	}
	if exists {
		return nil
	}
	_, err := db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref) // want `check-then-insert`
	return err
}

func count(ctx context.Context, tx *sql.Tx, ref string) error {
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM orders WHERE ref = $1", ref).Scan(&n); err != nil {
		return err
	}
	if n == 0 {
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref); err != nil { // want `check-then-insert`
			return err
		}
	}
	return nil
}

func next(ctx context.Context, db *sql.DB, ref string) error {
	rows, err := db.QueryContext(ctx, "SELECT id FROM orders WHERE ref = $1", ref)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		_, err = db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref) // want `check-then-insert`
	}
	return err
}

func choice(ctx context.Context, db *sql.DB, ref string) error {
	var id int64
	err := db.QueryRowContext(ctx, "SELECT id FROM orders WHERE ref = $1", ref).Scan(&id)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		_, err = db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref) // want `check-then-insert`
	}
	return err
}

func (s *store) helpers(ctx context.Context, ref string) error {
	if _, err := s.byRef(ctx, ref); err == nil {
		return nil
	}
	return s.add(ctx, ref) // want `check-then-insert: orders is asked at insert/insert.go:\d+, and the INSERT at insert/insert.go:\d+`
}

func compared(ctx context.Context, db *sql.DB, ref string) error {
	var id int64
	err := db.QueryRowContext(ctx, "SELECT id FROM orders WHERE ref = $1", ref).Scan(&id)
	if err != sql.ErrNoRows {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref) // want `check-then-insert`
	return err
}

// A unique key stops the second.
func keyed(ctx context.Context, db *sql.DB, ref string) error {
	var id int64
	err := db.QueryRowContext(ctx, "SELECT id FROM invoice WHERE ref = $1", ref).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = db.ExecContext(ctx, "INSERT INTO invoice (ref) VALUES ($1)", ref)
	}
	return err
}

// The row must be there.
func parent(ctx context.Context, db *sql.DB, ref string) error {
	var id int64
	err := db.QueryRowContext(ctx, "SELECT id FROM orders WHERE ref = $1", ref).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return errors.New("no such order")
	}
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref)
	return err
}

// Another table decides.
func other(ctx context.Context, db *sql.DB, ref string) error {
	var id int64
	err := db.QueryRowContext(ctx, "SELECT id FROM invoice WHERE ref = $1", ref).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref)
	}
	return err
}

// A quota is not a question for a row.
func quota(ctx context.Context, db *sql.DB, ref string) error {
	var n int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM orders").Scan(&n); err != nil {
		return err
	}
	if n < 10 {
		_, err := db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref)
		return err
	}
	return nil
}

// A value is not a question for a row.
func value(ctx context.Context, db *sql.DB, ref string) error {
	var n int
	if err := db.QueryRowContext(ctx, "SELECT n FROM orders WHERE ref = $1", ref).Scan(&n); err != nil {
		return err
	}
	if n == 0 {
		_, err := db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref)
		return err
	}
	return nil
}

// The error is another one by then.
func reused(ctx context.Context, db *sql.DB, ref string) error {
	var id int64
	err := db.QueryRowContext(ctx, "SELECT id FROM orders WHERE ref = $1", ref).Scan(&id)
	if err != nil {
		return err
	}
	err = db.QueryRowContext(ctx, "SELECT id FROM invoice WHERE ref = $1", ref).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref)
	}
	return err
}

// An error that is not about rows ends it.
func refused(ctx context.Context, db *sql.DB, ref string) error {
	var id int64
	err := db.QueryRowContext(ctx, "SELECT id FROM orders WHERE ref = $1", ref).Scan(&id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		_, _ = db.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 0)", "failed")
		return err
	}
	return nil
}

// A lock makes the two statements one.
func (s *store) locked(ctx context.Context, ref string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.byRef(ctx, ref); err == nil {
		return nil
	}
	return s.add(ctx, ref)
}

func serializable(ctx context.Context, db *sql.DB, ref string) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		return err
	}
	var id int64
	err = tx.QueryRowContext(ctx, "SELECT id FROM orders WHERE ref = $1", ref).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = tx.ExecContext(ctx, "INSERT INTO orders (ref, n) VALUES ($1, 1)", ref)
	}
	return errors.Join(err, tx.Commit())
}

func answered(ctx context.Context, s *store, ref string) error {
	if _, err := s.byRef(ctx, ref); err == nil {
		return nil
	}
	//semel:safe only one process runs this, at night
	return s.add(ctx, ref)
}
