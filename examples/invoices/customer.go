package invoices

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/semel-dev/semel/examples/invoices/tallybook"
)

//go:embed sql/insert_customer.sql
var insertCustomerSQL string

// CreateCustomer adds a customer; nothing asks whether the same one is there
// already.
func (a *App) CreateCustomer(ctx context.Context, draft tallybook.CustomerDraft) (tallybook.Customer, error) {
	ctx, cancel := workContext(ctx)
	defer cancel()
	if err := a.tellAccounting(ctx); err != nil {
		return tallybook.Customer{}, err
	}
	var id int64
	if err := a.db.QueryRowContext(ctx, insertCustomerSQL, draft.Name, draft.Email).Scan(&id); err != nil {
		return tallybook.Customer{}, fmt.Errorf("insert customer: %w", err)
	}
	return tallybook.FindCustomer(ctx, a.db, id)
}
