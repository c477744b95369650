package tallybook

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/semel-dev/semel/examples/internal/sqlite"
)

// maxCustomersListed bounds the list and the choice on the invoice form.
const maxCustomersListed = 500

var (
	//go:embed sql/find_customer.sql
	findCustomerSQL string
	//go:embed sql/list_customers.sql
	listCustomersSQL string
)

// ErrNotFound means that nothing has the id that was asked for.
var ErrNotFound = errors.New("there is nothing at this address")

// Customer gets invoices.
type Customer struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

// CustomerDraft is a customer as asked for.
type CustomerDraft struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// tidy trims what people type around the edges.
func (c CustomerDraft) tidy() CustomerDraft {
	return CustomerDraft{Name: strings.TrimSpace(c.Name), Email: strings.TrimSpace(c.Email)}
}

func (c CustomerDraft) check() FieldErrors {
	return FieldErrors{}.Add("name", checkName(c.Name)).Add("email", checkEmail(c.Email))
}

// FindCustomer returns ErrNotFound for an unknown id.
func FindCustomer(ctx context.Context, h Handle, id int64) (Customer, error) {
	return sqlite.One(ctx, h, "find customer", ErrNotFound, (*Customer).scan, findCustomerSQL, id)
}

func (d *Database) listCustomers(ctx context.Context) ([]Customer, error) {
	return sqlite.List(ctx, d, "list customers", (*Customer).scan, listCustomersSQL, maxCustomersListed)
}

func (c *Customer) scan(row sqlite.Row) error { return row.Scan(&c.ID, &c.Name, &c.Email) }
