package invoices

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"time"
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

// invoice is a request for payment, with what has been paid so far.
type invoice struct {
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

// DueCents is what is still to pay; negative when too much was paid.
func (i invoice) DueCents() int64 { return i.AmountCents - i.PaidCents }

// OverpaidCents is what was paid too much, or zero.
func (i invoice) OverpaidCents() int64 { return max(0, -i.DueCents()) }

// Status is one of open, partly paid, paid and overpaid.
func (i invoice) Status() string {
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

// invoiceDraft is an invoice as asked for.
type invoiceDraft struct {
	CustomerID  int64  `json:"customer_id"`
	AmountCents int64  `json:"amount_cents"`
	Currency    string `json:"currency"`
	Note        string `json:"note"`
}

// tidy fills in the default currency and cleans the note.
func (i invoiceDraft) tidy() invoiceDraft {
	if i.Currency == "" {
		i.Currency = currencies()[0]
	}
	i.Note = tidyNote(i.Note)
	return i
}

// check looks at what reads the same from a form and from JSON; the amount
// does not, and the customer only the database knows.
func (i invoiceDraft) check() fieldErrors {
	return fieldErrors{}.add("currency", checkCurrency(i.Currency)).add("note", checkNote(i.Note))
}

// insertInvoice stores the invoice and the message about it in one
// transaction. It returns errCustomerUnknown when the customer is not there.
// Called twice, it makes two.
func (d *database) insertInvoice(ctx context.Context, draft invoiceDraft) (invoice, error) {
	var created invoice
	err := d.inTransaction(ctx, func(tx *sql.Tx) error {
		var id int64
		row := tx.QueryRowContext(ctx, insertInvoiceSQL, draft.CustomerID, draft.AmountCents, draft.Currency, draft.Note)
		if err := row.Scan(&id); errors.Is(err, sql.ErrNoRows) {
			return errCustomerUnknown
		} else if err != nil {
			return fmt.Errorf("insert invoice: %w", err)
		}
		if _, err := tx.ExecContext(ctx, enqueueInvoiceEmailSQL, id); err != nil {
			return fmt.Errorf("enqueue e-mail: %w", err)
		}
		var err error
		if created, err = scanInvoice(tx.QueryRowContext(ctx, findInvoiceSQL, id)); err != nil {
			return fmt.Errorf("read invoice back: %w", err)
		}
		return nil
	})
	return created, err
}

// findInvoice returns errNotFound when no invoice has the id.
func (d *database) findInvoice(ctx context.Context, id int64) (invoice, error) {
	found, err := scanInvoice(d.db.QueryRowContext(ctx, findInvoiceSQL, id))
	if errors.Is(err, sql.ErrNoRows) {
		return invoice{}, errNotFound
	}
	if err != nil {
		return invoice{}, fmt.Errorf("find invoice: %w", err)
	}
	return found, nil
}

func (d *database) listInvoices(ctx context.Context) ([]invoice, error) {
	return list(ctx, d, scanInvoice, listInvoicesSQL, maxInvoicesListed)
}

func scanInvoice(row scanner) (invoice, error) {
	var i invoice
	var created string
	err := row.Scan(&i.ID, &i.Number, &i.CustomerID, &i.Customer, &i.AmountCents, &i.Currency, &i.Note, &created, &i.PaidCents)
	if err != nil {
		return invoice{}, err
	}
	i.CreatedAt, err = time.Parse(time.RFC3339, created)
	return i, err
}
