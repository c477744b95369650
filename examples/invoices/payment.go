package invoices

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"time"
)

// maxPaymentsListed bounds the payments shown with an invoice, newest first.
const maxPaymentsListed = 100

var (
	//go:embed sql/insert_payment.sql
	insertPaymentSQL string
	//go:embed sql/list_payments.sql
	listPaymentsSQL string
	//go:embed sql/enqueue_receipt_email.sql
	enqueueReceiptEmailSQL string
)

// payment is money received for an invoice, in the invoice's currency.
type payment struct {
	ID          int64     `json:"id"`
	InvoiceID   int64     `json:"invoice_id"`
	AmountCents int64     `json:"amount_cents"`
	Method      string    `json:"method"`
	CreatedAt   time.Time `json:"created_at"`
}

// paymentDraft is a payment as asked for.
type paymentDraft struct {
	AmountCents int64  `json:"amount_cents"`
	Method      string `json:"method"`
}

// tidy fills in the default method.
func (p paymentDraft) tidy() paymentDraft {
	if p.Method == "" {
		p.Method = paymentMethods()[0]
	}
	return p
}

// insertPayment stores the payment and its receipt in one transaction. It
// returns errNotFound when the invoice is not there. Called twice, it makes
// two, even when the invoice is paid already.
func (d *database) insertPayment(ctx context.Context, invoiceID int64, draft paymentDraft) (payment, error) {
	var created payment
	err := d.inTransaction(ctx, func(tx *sql.Tx) error {
		var err error
		created, err = scanPayment(tx.QueryRowContext(ctx, insertPaymentSQL, invoiceID, draft.AmountCents, draft.Method))
		if errors.Is(err, sql.ErrNoRows) {
			return errNotFound
		}
		if err != nil {
			return fmt.Errorf("insert payment: %w", err)
		}
		if _, err := tx.ExecContext(ctx, enqueueReceiptEmailSQL, created.ID); err != nil {
			return fmt.Errorf("enqueue receipt: %w", err)
		}
		return nil
	})
	return created, err
}

func (d *database) listPayments(ctx context.Context, invoiceID int64) ([]payment, error) {
	return list(ctx, d, scanPayment, listPaymentsSQL, invoiceID, maxPaymentsListed)
}

func scanPayment(row scanner) (payment, error) {
	var p payment
	var created string
	err := row.Scan(&p.ID, &p.InvoiceID, &p.AmountCents, &p.Method, &created)
	if err != nil {
		return payment{}, err
	}
	p.CreatedAt, err = time.Parse(time.RFC3339, created)
	return p, err
}
