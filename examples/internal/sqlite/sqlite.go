// Package sqlite holds the code that the examples share around a SQLite file.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // registers the "sqlite" driver
)

const (
	maxConnections = 8
	openTimeout    = 10 * time.Second
	busyTimeout    = 5 * time.Second
)

// Open opens the file at path, creating it if absent, and runs the statements, which make its tables.
func Open(ctx context.Context, path string, statements ...string) (*sql.DB, error) {
	db, err := OpenWith(path, url.Values{"_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
	}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			_ = db.Close() // the first error says more
			return nil, fmt.Errorf("create the tables: %w", err)
		}
	}
	return db, nil
}

// OpenWith loads the driver with settings of the caller's choice. It does not touch the file.
func OpenWith(path string, settings url.Values) (*sql.DB, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the file: %w", err)
	}
	dsn := url.URL{Scheme: "file", Path: filepath.ToSlash(absolute), RawQuery: settings.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("load the driver: %w", err)
	}
	db.SetMaxOpenConns(maxConnections)
	return db, nil
}

// Handle reads and writes: a [*sql.DB], or a transaction.
type Handle interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Row is implemented by [*sql.Row] and [*sql.Rows].
type Row interface{ Scan(dest ...any) error }

// InTransaction commits what work did, or rolls it back when work fails.
func InTransaction(ctx context.Context, db *sql.DB, work func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // no-op once committed
	if err := work(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// One reads the row of a query with scan, and returns absent where there is none. The act is part of other errors.
func One[T any](ctx context.Context, h Handle, act string, absent error, scan func(*T, Row) error, query string, args ...any) (T, error) {
	var found, none T
	err := scan(&found, h.QueryRowContext(ctx, query, args...))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return none, absent
	case err != nil:
		return none, fmt.Errorf("%s: %w", act, err)
	}
	return found, nil
}

// Column scans the only column of a row.
func Column[T any](value *T, row Row) error { return row.Scan(value) }

// List reads every row of a query with scan. The query itself carries the LIMIT.
func List[T any](ctx context.Context, h Handle, act string, scan func(*T, Row) error, query string, args ...any) ([]T, error) {
	rows, err := h.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", act, err)
	}
	defer func() { _ = rows.Close() }() // rows.Err tells
	found := []T{}
	for rows.Next() {
		var item T
		if err := scan(&item, rows); err != nil {
			return nil, fmt.Errorf("%s: %w", act, err)
		}
		found = append(found, item)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", act, err)
	}
	return found, nil
}
