// Package gorm joins Semel to a transaction of GORM.
package gorm

import (
	"context"
	"database/sql"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/examples/orm"
	"github.com/semel-dev/semel/store/pgstore"
)

// Invoices creates invoices.
type Invoices struct {
	db    *gorm.DB
	guard *semel.Guard
}

// New returns them on a database in which the guard keeps its records.
func New(db *sql.DB, guard *semel.Guard) (*Invoices, error) {
	g, err := gorm.Open(postgres.New(postgres.Config{Conn: db}), &gorm.Config{Logger: logger.Discard})
	return &Invoices{db: g, guard: guard}, err
}

// Create implements [orm.Invoices]. What can be joined is the connection pool
// of GORM's transaction, which is that transaction.
func (s *Invoices) Create(ctx context.Context, key semel.Key, order orm.Order) (invoice orm.Invoice, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		invoice, err = pgstore.Join(ctx, s.guard, tx.Statement.ConnPool, key, order.Fingerprint(), func(ctx context.Context) (orm.Invoice, error) {
			row := orm.Invoice{Customer: order.Customer, Cents: order.Cents}
			err := tx.WithContext(ctx).Create(&row).Error //semel:safe the row commits with the claim of its key
			return row, err
		})
		return err
	})
	if err != nil {
		return orm.Invoice{}, err
	}
	return invoice, nil
}
