// Package bun joins Semel to a transaction of bun.
package bun

import (
	"context"
	"database/sql"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/examples/orm"
	"github.com/semel-dev/semel/store/pgstore"
)

// Invoices creates invoices.
type Invoices struct {
	db    *bun.DB
	guard *semel.Guard
}

// New returns them on a database in which the guard keeps its records.
func New(db *sql.DB, guard *semel.Guard) *Invoices {
	return &Invoices{db: bun.NewDB(db, pgdialect.New()), guard: guard}
}

// invoice is a row.
type invoice struct {
	bun.BaseModel `bun:"table:invoices"`

	ID       int64 `bun:",pk,autoincrement"`
	Customer string
	Cents    int64
}

// Create implements [orm.Invoices]. What can be joined is the *sql.Tx inside of
// bun's: the methods of bun.Tx itself rewrite the SQL they are given.
func (s *Invoices) Create(ctx context.Context, key semel.Key, order orm.Order) (answer orm.Invoice, err error) {
	err = s.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		answer, err = pgstore.Join(ctx, s.guard, tx.Tx, key, order.Fingerprint(), func(ctx context.Context) (orm.Invoice, error) {
			row := invoice{Customer: order.Customer, Cents: order.Cents}
			_, err := tx.NewInsert().Model(&row).Exec(ctx)
			return orm.Invoice{ID: row.ID, Customer: row.Customer, Cents: row.Cents}, err
		})
		return err
	})
	if err != nil {
		return orm.Invoice{}, err
	}
	return answer, nil
}
