// Package sqlx joins Semel to a transaction of sqlx.
package sqlx

import (
	"context"
	"database/sql"

	"github.com/jmoiron/sqlx"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/examples/orm"
	"github.com/semel-dev/semel/store/pgstore"
)

// Invoices creates invoices.
type Invoices struct {
	db    *sqlx.DB
	guard *semel.Guard
}

// New returns them on a database in which the guard keeps its records.
func New(db *sql.DB, guard *semel.Guard) *Invoices {
	return &Invoices{db: sqlx.NewDb(db, "pgx"), guard: guard}
}

// Create implements [orm.Invoices]. A *sqlx.Tx can be joined as it is.
func (s *Invoices) Create(ctx context.Context, key semel.Key, order orm.Order) (orm.Invoice, error) {
	tx, err := s.db.BeginTxx(ctx, nil)
	if err != nil {
		return orm.Invoice{}, err
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	invoice, err := pgstore.Join(ctx, s.guard, tx, key, order.Fingerprint(), func(ctx context.Context) (orm.Invoice, error) {
		var invoice orm.Invoice
		//semel:safe the row commits with the claim of its key
		err := tx.GetContext(ctx, &invoice,
			"INSERT INTO invoices (customer, cents) VALUES ($1, $2) RETURNING id, customer, cents", order.Customer, order.Cents)
		return invoice, err
	})
	if err != nil {
		return orm.Invoice{}, err
	}
	return invoice, tx.Commit()
}
