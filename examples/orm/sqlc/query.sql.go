package sqlc

import "context"

const createInvoice = `-- name: CreateInvoice :one
INSERT INTO invoices (customer, cents) VALUES ($1, $2)
RETURNING id, customer, cents
`

// CreateInvoiceParams are the parameters of CreateInvoice.
type CreateInvoiceParams struct {
	Customer string
	Cents    int64
}

// CreateInvoice adds a row.
func (q *Queries) CreateInvoice(ctx context.Context, arg CreateInvoiceParams) (Invoice, error) {
	row := q.db.QueryRowContext(ctx, createInvoice, arg.Customer, arg.Cents)
	var i Invoice
	err := row.Scan(&i.ID, &i.Customer, &i.Cents)
	return i, err
}
