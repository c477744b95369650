package tallybook

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"
)

// maxPaymentsListed bounds the payments shown with an invoice, newest first.
const maxPaymentsListed = 100

var (
	//go:embed sql/find_payment.sql
	findPaymentSQL string
	//go:embed sql/list_payments.sql
	listPaymentsSQL string
	//go:embed sql/enqueue_receipt_email.sql
	enqueueReceiptEmailSQL string
)

// Payment is money received for an invoice, in the invoice's currency.
type Payment struct {
	ID          int64     `json:"id"`
	InvoiceID   int64     `json:"invoice_id"`
	AmountCents int64     `json:"amount_cents"`
	Method      string    `json:"method"`
	Reference   string    `json:"reference,omitempty"` // what the bank calls it
	CreatedAt   time.Time `json:"created_at"`
}

// PaymentDraft is a payment as asked for.
type PaymentDraft struct {
	AmountCents int64  `json:"amount_cents"`
	Method      string `json:"method"`
	Reference   string `json:"reference"`
}

// tidy fills in the default method and trims the reference.
func (p PaymentDraft) tidy() PaymentDraft {
	if p.Method == "" {
		p.Method = paymentMethods()[0]
	}
	p.Reference = strings.TrimSpace(p.Reference)
	return p
}

// FindPayment returns [ErrNotFound] when no payment has the id.
func FindPayment(ctx context.Context, h Handle, id int64) (Payment, error) {
	found, err := scanPayment(h.QueryRowContext(ctx, findPaymentSQL, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Payment{}, ErrNotFound
	}
	if err != nil {
		return Payment{}, fmt.Errorf("find payment: %w", err)
	}
	return found, nil
}

// EnqueueReceipt puts the receipt for a payment into the outbox.
func EnqueueReceipt(ctx context.Context, h Handle, paymentID int64) error {
	if _, err := h.ExecContext(ctx, enqueueReceiptEmailSQL, paymentID); err != nil {
		return fmt.Errorf("enqueue receipt: %w", err)
	}
	return nil
}

func (d *Database) listPayments(ctx context.Context, invoiceID int64) ([]Payment, error) {
	return list(ctx, d, scanPayment, listPaymentsSQL, invoiceID, maxPaymentsListed)
}

func scanPayment(row scanner) (Payment, error) {
	var p Payment
	var created string
	err := row.Scan(&p.ID, &p.InvoiceID, &p.AmountCents, &p.Method, &p.Reference, &created)
	if err != nil {
		return Payment{}, err
	}
	p.CreatedAt, err = time.Parse(time.RFC3339, created)
	return p, err
}
