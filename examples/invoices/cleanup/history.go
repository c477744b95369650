package cleanup

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/semel-dev/semel/examples/internal/sqlite"
	"github.com/semel-dev/semel/examples/invoices"
	"github.com/semel-dev/semel/examples/invoices/tallybook"
)

//go:embed sql/age.sql
var ageSQL string

// people is the number of customers in two years, each has this many invoices.
const (
	people          = 40
	invoicesPerHead = 8
)

// History makes a database at path: two years with the naive application, in which every customer was added twice, the
// second time in capitals, and every second invoice went to the second one.
func History(ctx context.Context, path string) (err error) {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w (choose another name)", path, os.ErrExist)
	}
	app, err := invoices.Open(path, &invoices.Options{Latency: -1}) //nolint:contextcheck // Open does not take one; it bounds itself
	if err != nil {
		return err
	}
	for i := range people {
		if err := live(ctx, app, i); err != nil {
			return errors.Join(err, app.Close())
		}
	}
	if err := app.Close(); err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, path, ageSQL)
	if err != nil {
		return err
	}
	return db.Close()
}

// live adds a customer twice, with invoices and payments.
func live(ctx context.Context, app *invoices.App, number int) error {
	draft := tallybook.CustomerDraft{Name: fmt.Sprintf("Customer %d", number), Email: fmt.Sprintf("customer-%d@shop.example", number)}
	var twice [2]int64
	for click := range twice {
		created, err := app.CreateCustomer(ctx, draft)
		if err != nil {
			return err
		}
		twice[click], draft.Email = created.ID, strings.ToUpper(draft.Email)
	}
	for i := range invoicesPerHead {
		amount := int64(1000 + 137*number + 11*i)
		made, err := app.CreateInvoice(ctx, tallybook.InvoiceDraft{CustomerID: twice[i%2], AmountCents: amount, Currency: "SEK"})
		if err != nil {
			return err
		}
		if i%3 == 0 {
			continue // not paid
		}
		if _, err := app.CreatePayment(ctx, made.ID, tallybook.PaymentDraft{AmountCents: amount, Method: "card"}); err != nil {
			return err
		}
	}
	return nil
}
