package tallybook

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/semel-dev/semel/examples/internal/sqlite"
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
type Handle = sqlite.Handle

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
	var err error
	if d.DB, err = sqlite.Open(context.Background(), path, schema, seedCustomersSQL); err != nil {
		_ = d.Close() // the first error says more
		return nil, fmt.Errorf("open %s: %w (is it a writable SQLite file of this application?)", path, err)
	}
	return d, nil
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
	return sqlite.InTransaction(ctx, d.DB, work)
}
