package invoices

import (
	"context"
	"database/sql"

	"github.com/semel-dev/semel/examples/invoices/tallybook"
)

// CreateInvoice stores the invoice and the message about it in one transaction.
// Called twice, it makes two.
func (a *App) CreateInvoice(ctx context.Context, draft tallybook.InvoiceDraft) (created tallybook.Invoice, err error) {
	ctx, cancel := workContext(ctx)
	defer cancel()
	if err := a.tellAccounting(ctx); err != nil {
		return tallybook.Invoice{}, err
	}
	err = a.db.InTransaction(ctx, func(tx *sql.Tx) error {
		created, err = tallybook.InsertInvoice(ctx, tx, draft)
		return err
	})
	return created, err
}
