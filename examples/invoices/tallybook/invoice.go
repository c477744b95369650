package tallybook

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/examples/internal/sqlite"
)

// maxInvoicesListed bounds the list of invoices, newest first.
const maxInvoicesListed = 100

var (
	//go:embed sql/insert_invoice.sql
	insertInvoiceSQL string
	//go:embed sql/find_invoice.sql
	findInvoiceSQL string
	//go:embed sql/list_invoices.sql
	listInvoicesSQL string
	//go:embed sql/enqueue_invoice_email.sql
	enqueueInvoiceEmailSQL string
)

// Invoice is a request for payment, with what has been paid so far.
type Invoice struct {
	ID          int64     `json:"id"`
	Number      string    `json:"number"`
	CustomerID  int64     `json:"customer_id"`
	Customer    string    `json:"customer"`
	AmountCents int64     `json:"amount_cents"`
	Currency    string    `json:"currency"`
	Note        string    `json:"note"`
	CreatedAt   time.Time `json:"created_at"`
	PaidCents   int64     `json:"paid_cents"`
}

// DueCents is the amount still to pay; negative when too much was paid.
func (i Invoice) DueCents() int64 { return i.AmountCents - i.PaidCents }

// OverpaidCents is the amount paid too much, or zero.
func (i Invoice) OverpaidCents() int64 { return max(0, -i.DueCents()) }

// Status is one of open, partly paid, paid and overpaid.
func (i Invoice) Status() string {
	switch {
	case i.PaidCents == 0:
		return "open"
	case i.DueCents() > 0:
		return "partly paid"
	case i.DueCents() == 0:
		return "paid"
	default:
		return "overpaid"
	}
}

// InvoiceDraft is an invoice as asked for.
type InvoiceDraft struct {
	CustomerID  int64  `json:"customer_id"`
	AmountCents int64  `json:"amount_cents"`
	Currency    string `json:"currency"`
	Note        string `json:"note"`
}

// tidy fills in the default currency and cleans the note.
func (i InvoiceDraft) tidy() InvoiceDraft {
	if i.Currency == "" {
		i.Currency = currencies()[0]
	}
	i.Note = tidyNote(i.Note)
	return i
}

// check looks at what reads the same from a form and from JSON; the amount
// does not, and the customer only the database knows.
func (i InvoiceDraft) check() FieldErrors {
	return FieldErrors{}.Add("currency", checkCurrency(i.Currency)).Add("note", checkNote(i.Note))
}

// InsertInvoice stores the invoice and the message about it in the transaction
// of h. It returns [ErrCustomerUnknown] when the customer is not there. Called
// twice, it makes two.
func InsertInvoice(ctx context.Context, h Handle, draft InvoiceDraft) (Invoice, error) {
	var id int64
	row := h.QueryRowContext(ctx, insertInvoiceSQL, draft.CustomerID, draft.AmountCents, draft.Currency, draft.Note)
	if err := row.Scan(&id); errors.Is(err, sql.ErrNoRows) {
		return Invoice{}, ErrCustomerUnknown
	} else if err != nil {
		return Invoice{}, fmt.Errorf("insert invoice: %w", err)
	}
	if _, err := h.ExecContext(ctx, enqueueInvoiceEmailSQL, id); err != nil {
		return Invoice{}, fmt.Errorf("enqueue e-mail: %w", err)
	}
	return FindInvoice(ctx, h, id)
}

// FindInvoice returns [ErrNotFound] when no invoice has the id.
func FindInvoice(ctx context.Context, h Handle, id int64) (Invoice, error) {
	return sqlite.One(ctx, h, "find invoice", ErrNotFound, (*Invoice).scan, findInvoiceSQL, id)
}

func (d *Database) listInvoices(ctx context.Context) ([]Invoice, error) {
	return sqlite.List(ctx, d, "list invoices", (*Invoice).scan, listInvoicesSQL, maxInvoicesListed)
}

func (i *Invoice) scan(row sqlite.Row) error {
	var created string
	err := row.Scan(&i.ID, &i.Number, &i.CustomerID, &i.Customer, &i.AmountCents, &i.Currency, &i.Note, &created, &i.PaidCents)
	if err != nil {
		return err
	}
	i.CreatedAt, err = time.Parse(time.RFC3339, created)
	return err
}
