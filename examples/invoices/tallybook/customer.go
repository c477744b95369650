package tallybook

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"
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
	found, err := scanCustomer(h.QueryRowContext(ctx, findCustomerSQL, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Customer{}, ErrNotFound
	}
	if err != nil {
		return Customer{}, fmt.Errorf("find customer: %w", err)
	}
	return found, nil
}

func (d *Database) listCustomers(ctx context.Context) ([]Customer, error) {
	return list(ctx, d, scanCustomer, listCustomersSQL, maxCustomersListed)
}

func scanCustomer(row scanner) (Customer, error) {
	var c Customer
	err := row.Scan(&c.ID, &c.Name, &c.Email)
	return c, err
}
