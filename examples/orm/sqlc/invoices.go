// Package sqlc joins Semel to a transaction of queries that sqlc generated.
package sqlc

import (
	"context"
	"database/sql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/examples/orm"
	"github.com/semel-dev/semel/store/pgstore"
)

// Invoices creates invoices.
type Invoices struct {
	db      *sql.DB
	queries *Queries
	guard   *semel.Guard
}

// New returns them on a database in which the guard keeps its records.
func New(db *sql.DB, guard *semel.Guard) *Invoices {
	return &Invoices{db: db, queries: NewQueries(db), guard: guard}
}

// Create implements [orm.Invoices].
func (s *Invoices) Create(ctx context.Context, key semel.Key, order orm.Order) (orm.Invoice, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return orm.Invoice{}, err
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	invoice, err := pgstore.Join(ctx, s.guard, tx, key, order.Fingerprint(), func(ctx context.Context) (orm.Invoice, error) {
		row, err := s.queries.WithTx(tx).CreateInvoice(ctx, CreateInvoiceParams{Customer: order.Customer, Cents: order.Cents})
		return orm.Invoice(row), err
	})
	if err != nil {
		return orm.Invoice{}, err
	}
	return invoice, tx.Commit()
}
