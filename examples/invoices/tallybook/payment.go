package tallybook

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel/examples/internal/sqlite"
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
	return sqlite.One(ctx, h, "find payment", ErrNotFound, (*Payment).scan, findPaymentSQL, id)
}

// EnqueueReceipt puts the receipt for a payment into the outbox.
func EnqueueReceipt(ctx context.Context, h Handle, paymentID int64) error {
	if _, err := h.ExecContext(ctx, enqueueReceiptEmailSQL, paymentID); err != nil {
		return fmt.Errorf("enqueue receipt: %w", err)
	}
	return nil
}

func (d *Database) listPayments(ctx context.Context, invoiceID int64) ([]Payment, error) {
	return sqlite.List(ctx, d, "list payments", (*Payment).scan, listPaymentsSQL, invoiceID, maxPaymentsListed)
}

func (p *Payment) scan(row sqlite.Row) error {
	var created string
	err := row.Scan(&p.ID, &p.InvoiceID, &p.AmountCents, &p.Method, &p.Reference, &created)
	if err != nil {
		return err
	}
	p.CreatedAt, err = time.Parse(time.RFC3339, created)
	return err
}
