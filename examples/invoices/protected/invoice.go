package protected

import (
	"context"

	"github.com/semel-dev/semel/examples/invoices/tallybook"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// CreateInvoice stores the invoice and the messages about it in the transaction
// of the request, which commits them together with the answer.
func (a *App) CreateInvoice(ctx context.Context, draft tallybook.InvoiceDraft) (tallybook.Invoice, error) {
	tx := sqlitetx.TxFrom(ctx)
	created, err := tallybook.InsertInvoice(ctx, tx, draft)
	if err != nil {
		return tallybook.Invoice{}, err
	}
	return created, tellAccounting(ctx, tx, "invoice", created.ID)
}
