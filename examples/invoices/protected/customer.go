package protected

import (
	"context"
	_ "embed"

	"github.com/semel-dev/semel/examples/invoices/tallybook"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

//go:embed sql/insert_customer.sql
var insertCustomerSQL string

// CreateCustomer adds a customer. One with the same e-mail address is a
// conflict, which the database finds and the rules file puts into words.
func (a *App) CreateCustomer(ctx context.Context, draft tallybook.CustomerDraft) (tallybook.Customer, error) {
	tx := sqlitetx.TxFrom(ctx)
	var id int64
	if err := tx.QueryRowContext(ctx, insertCustomerSQL, draft.Name, draft.Email).Scan(&id); err != nil {
		return tallybook.Customer{}, a.conflicts.Translate(err)
	}
	if err := tellAccounting(ctx, tx, "customer", id); err != nil {
		return tallybook.Customer{}, err
	}
	return tallybook.FindCustomer(ctx, tx, id)
}
