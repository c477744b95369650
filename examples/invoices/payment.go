package invoices

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"github.com/semel-dev/semel/examples/invoices/tallybook"
)

//go:embed sql/insert_payment.sql
var insertPaymentSQL string

// CreatePayment stores the payment and its receipt in one transaction. Called
// twice, it makes two, even when the invoice is paid already.
func (a *App) CreatePayment(ctx context.Context, invoiceID int64, draft tallybook.PaymentDraft) (created tallybook.Payment, err error) {
	ctx, cancel := workContext(ctx)
	defer cancel()
	if err := a.tellAccounting(ctx); err != nil {
		return tallybook.Payment{}, err
	}
	err = a.db.InTransaction(ctx, func(tx *sql.Tx) error {
		created, err = insertPayment(ctx, tx, invoiceID, draft)
		return err
	})
	return created, err
}

func insertPayment(ctx context.Context, tx *sql.Tx, invoiceID int64, draft tallybook.PaymentDraft) (tallybook.Payment, error) {
	var id int64
	row := tx.QueryRowContext(ctx, insertPaymentSQL, invoiceID, draft.AmountCents, draft.Method, draft.Reference)
	if err := row.Scan(&id); errors.Is(err, sql.ErrNoRows) {
		return tallybook.Payment{}, tallybook.ErrNotFound
	} else if err != nil {
		return tallybook.Payment{}, fmt.Errorf("insert payment: %w", err)
	}
	if err := tallybook.EnqueueReceipt(ctx, tx, id); err != nil {
		return tallybook.Payment{}, err
	}
	return tallybook.FindPayment(ctx, tx, id)
}
