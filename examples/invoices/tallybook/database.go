package tallybook

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // registers the "sqlite" driver
)

const (
	maxConnections = 8
	openTimeout    = 10 * time.Second
	busyTimeout    = 5 * time.Second
)

var (
	//go:embed sql/reset.sql
	resetSQL string
	//go:embed sql/seed_customers.sql
	seedCustomersSQL string
	//go:embed sql/counts.sql
	countsSQL string
)

// Counts says how many rows each table holds.
type Counts struct {
	Invoices  int `json:"invoices"`
	Payments  int `json:"payments"`
	Customers int `json:"customers"`
	Emails    int `json:"emails"`
}

// Database is an application's SQLite file. [OpenDatabase] is the only way to
// get one; it is safe for concurrent use. The files customer.go, invoice.go,
// payment.go and email.go hold its verbs.
type Database struct {
	*sql.DB

	dir string // private directory to remove on close, or ""
}

// Handle reads and writes: a [Database] on its own, or a transaction.
type Handle interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// OpenDatabase opens the file at path, creating it and the tables of schema if
// absent, with three sample customers if it has none. An empty path means a
// private temporary file that [Database.Close] removes.
func OpenDatabase(path, schema string) (*Database, error) {
	d := &Database{}
	if path == "" {
		dir, err := os.MkdirTemp("", "invoices-*")
		if err != nil {
			return nil, fmt.Errorf("make a private directory: %w", err)
		}
		d.dir, path = dir, filepath.Join(dir, "invoices.db")
	}
	if err := d.open(path, schema); err != nil {
		_ = d.Close() // the first error says more
		return nil, fmt.Errorf("open %s: %w (is it a writable SQLite file of this application?)", path, err)
	}
	return d, nil
}

func (d *Database) open(path, schema string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("find the file: %w", err)
	}
	settings := url.Values{"_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"journal_mode(WAL)",
		"foreign_keys(1)",
	}}
	dsn := url.URL{Scheme: "file", Path: filepath.ToSlash(absolute), RawQuery: settings.Encode()}
	if d.DB, err = sql.Open("sqlite", dsn.String()); err != nil {
		return fmt.Errorf("load the driver: %w", err)
	}
	d.SetMaxOpenConns(maxConnections)

	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	for _, statement := range []string{schema, seedCustomersSQL} {
		if _, err := d.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create the tables: %w", err)
		}
	}
	return nil
}

// Close closes the file, and removes it if it is a private one.
func (d *Database) Close() error {
	var err error
	if d.DB != nil {
		err = d.DB.Close()
	}
	if d.dir != "" {
		if removed := os.RemoveAll(d.dir); err == nil {
			err = removed
		}
	}
	return err
}

// Counts says how many rows each table holds at one instant.
func (d *Database) Counts(ctx context.Context) (Counts, error) {
	var c Counts
	err := d.QueryRowContext(ctx, countsSQL).Scan(&c.Invoices, &c.Payments, &c.Customers, &c.Emails)
	if err != nil {
		return Counts{}, fmt.Errorf("count rows: %w", err)
	}
	return c, nil
}

// Reset empties every table and puts the sample customers back. Ids start at 1
// again.
func (d *Database) Reset(ctx context.Context) error {
	return d.InTransaction(ctx, func(tx *sql.Tx) error {
		for _, statement := range []string{resetSQL, seedCustomersSQL} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("reset the database: %w", err)
			}
		}
		return nil
	})
}

// InTransaction commits what work did, or rolls it back when work fails.
func (d *Database) InTransaction(ctx context.Context, work func(tx *sql.Tx) error) error {
	tx, err := d.BeginTx(ctx, nil)
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

// list runs a query and scans every row. The query itself carries the LIMIT.
func list[T any](ctx context.Context, d *Database, scan func(row scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := d.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err tells
	found := []T{}
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("scan: %w", err)
		}
		found = append(found, item)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	return found, nil
}

// scanner is implemented by *sql.Row and *sql.Rows.
type scanner interface{ Scan(dest ...any) error }
