// Package orm shows how a handler that uses a library for its SQL joins the
// claim and the outcome of an intent to its own transaction: sqlc, sqlx, GORM,
// ent and bun, each in a folder of its own, to be copied.
//
// All of them do the same: begin as they always do, call Join, do the work by
// the library's own means, commit as they always do. Here the database is
// PostgreSQL; mysqlstore.Join and sqlitetx.Join are called in the same way.
package orm

import (
	"context"
	_ "embed"
	"strconv"

	"github.com/semel-dev/semel"
)

// Schema creates the application's table.
//
//go:embed schema.sql
var Schema string

// Order is a customer's order.
type Order struct {
	Customer string
	Cents    int64
}

// Fingerprint decides whether two orders under one key are the same.
func (o Order) Fingerprint() semel.Fingerprint {
	return semel.FingerprintOf(o.Customer, strconv.FormatInt(o.Cents, 10))
}

// Invoice is the answer.
type Invoice struct {
	ID       int64  `json:"id"`
	Customer string `json:"customer"`
	Cents    int64  `json:"cents"`
}

// Invoices is implemented by each of the folders.
type Invoices interface {
	// Create writes the invoice for an order, once for every key.
	Create(ctx context.Context, key semel.Key, order Order) (Invoice, error)
}
