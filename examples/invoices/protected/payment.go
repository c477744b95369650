package protected

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/examples/invoices/tallybook"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

//go:embed sql/insert_payment.sql
var insertPaymentSQL string

//go:embed sql/find_reference.sql
var findReferenceSQL string

// errTooMuch refuses a payment that would overpay its invoice.
var errTooMuch = errors.New("the payment is more than what is still due")

// CreatePayment stores the payment and its receipt in the transaction of the
// request. The same bank reference again gives the first payment back, and
// nothing overpays an invoice.
func (a *App) CreatePayment(ctx context.Context, invoiceID int64, draft tallybook.PaymentDraft) (tallybook.Payment, error) {
	tx := sqlitetx.TxFrom(ctx)
	created, err := insertPayment(ctx, tx, invoiceID, draft)
	if errors.Is(err, sql.ErrNoRows) {
		return a.knownPayment(ctx, tx, invoiceID, draft)
	}
	if err != nil {
		return tallybook.Payment{}, err
	}
	return created, tellAccounting(ctx, tx, "payment", created.ID)
}

func insertPayment(ctx context.Context, tx *sql.Tx, invoiceID int64, draft tallybook.PaymentDraft) (tallybook.Payment, error) {
	var id int64
	row := tx.QueryRowContext(ctx, insertPaymentSQL, invoiceID, draft.AmountCents, draft.Method, draft.Reference)
	if err := row.Scan(&id); err != nil {
		return tallybook.Payment{}, fmt.Errorf("insert payment: %w", err)
	}
	if err := tallybook.EnqueueReceipt(ctx, tx, id); err != nil {
		return tallybook.Payment{}, err
	}
	return tallybook.FindPayment(ctx, tx, id)
}

// knownPayment is why no payment was stored: the bank's reference is known, and
// the payment with it is the answer if it is the same one, or it is too much.
func (a *App) knownPayment(ctx context.Context, tx *sql.Tx, invoiceID int64, draft tallybook.PaymentDraft) (tallybook.Payment, error) {
	var id int64
	err := tx.QueryRowContext(ctx, findReferenceSQL, invoiceID, draft.Reference).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return tallybook.Payment{}, tallybook.FieldErrors{}.Add("amount", errTooMuch)
	}
	if err != nil {
		return tallybook.Payment{}, fmt.Errorf("find reference: %w", err)
	}
	known, err := tallybook.FindPayment(ctx, tx, id)
	conflict := &dbguard.Conflict{Rule: a.rule("one_payment_per_reference"), Fields: []string{"reference"}}
	if err == nil && (known.AmountCents != draft.AmountCents || known.Method != draft.Method) {
		return tallybook.Payment{}, conflict
	}
	outcomelog.NoteFrom(ctx).Say(outcomelog.ReturnedExisting, conflict.Rule.Name, conflict.Fields)
	return known, err
}
