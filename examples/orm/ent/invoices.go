// Package ent joins Semel to a transaction of ent's SQL driver, which is the
// one below a generated client: ent.NewClient(ent.Driver(driver)) works in the
// same transaction. The statement here is ent's builder's, so that the example
// needs no generated code.
package ent

import (
	"context"
	"database/sql"
	"fmt"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/examples/orm"
	"github.com/semel-dev/semel/store/pgstore"
)

// Invoices creates invoices.
type Invoices struct {
	db    *sql.DB
	guard *semel.Guard
}

// New returns them on a database in which the guard keeps its records.
func New(db *sql.DB, guard *semel.Guard) *Invoices {
	return &Invoices{db: db, guard: guard}
}

// Create implements [orm.Invoices]. ent hides its own transactions, so this one
// is begun by database/sql, and ent gets a driver in it.
func (s *Invoices) Create(ctx context.Context, key semel.Key, order orm.Order) (orm.Invoice, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return orm.Invoice{}, err
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	driver := entsql.NewDriver(dialect.Postgres, entsql.Conn{ExecQuerier: tx})
	invoice, err := pgstore.Join(ctx, s.guard, tx, key, order.Fingerprint(), func(ctx context.Context) (orm.Invoice, error) {
		return insert(ctx, driver, order)
	})
	if err != nil {
		return orm.Invoice{}, err
	}
	return invoice, tx.Commit()
}

// insert does what Invoice.Create().…Save(ctx) of a generated client does.
func insert(ctx context.Context, driver dialect.Driver, order orm.Order) (orm.Invoice, error) {
	query, args := entsql.Dialect(driver.Dialect()).
		Insert("invoices").
		Columns("customer", "cents").
		Values(order.Customer, order.Cents).
		Returning("id", "customer", "cents").
		Query()
	var rows entsql.Rows
	if err := driver.Query(ctx, query, args, &rows); err != nil {
		return orm.Invoice{}, err
	}
	defer func() { _ = rows.Close() }()
	var found []orm.Invoice
	if err := entsql.ScanSlice(rows, &found); err != nil {
		return orm.Invoice{}, err
	}
	if len(found) != 1 {
		return orm.Invoice{}, fmt.Errorf("insert an invoice: got %d rows", len(found))
	}
	return found[0], nil
}
