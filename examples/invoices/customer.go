package invoices

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
	//go:embed sql/insert_customer.sql
	insertCustomerSQL string
	//go:embed sql/find_customer.sql
	findCustomerSQL string
	//go:embed sql/list_customers.sql
	listCustomersSQL string
)

// errNotFound means that nothing has the id that was asked for.
var errNotFound = errors.New("there is nothing at this address")

// customer is somebody who gets invoices.
type customer struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

// customerDraft is a customer as asked for.
type customerDraft struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// tidy trims what people type around the edges.
func (c customerDraft) tidy() customerDraft {
	return customerDraft{Name: strings.TrimSpace(c.Name), Email: strings.TrimSpace(c.Email)}
}

func (c customerDraft) check() fieldErrors {
	return fieldErrors{}.add("name", checkName(c.Name)).add("email", checkEmail(c.Email))
}

func (d *database) insertCustomer(ctx context.Context, c customerDraft) (customer, error) {
	created, err := scanCustomer(d.db.QueryRowContext(ctx, insertCustomerSQL, c.Name, c.Email))
	if err != nil {
		return customer{}, fmt.Errorf("insert customer: %w", err)
	}
	return created, nil
}

// findCustomer returns errNotFound when nobody has the id.
func (d *database) findCustomer(ctx context.Context, id int64) (customer, error) {
	found, err := scanCustomer(d.db.QueryRowContext(ctx, findCustomerSQL, id))
	if errors.Is(err, sql.ErrNoRows) {
		return customer{}, errNotFound
	}
	if err != nil {
		return customer{}, fmt.Errorf("find customer: %w", err)
	}
	return found, nil
}

func (d *database) listCustomers(ctx context.Context) ([]customer, error) {
	return list(ctx, d, scanCustomer, listCustomersSQL, maxCustomersListed)
}

func scanCustomer(row scanner) (customer, error) {
	var c customer
	err := row.Scan(&c.ID, &c.Name, &c.Email)
	return c, err
}
