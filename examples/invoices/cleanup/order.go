package cleanup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/semel-dev/semel/examples/invoices/tallybook"
)

// Orders says which answers customers got.
type Orders struct {
	// Total has the orders that were confirmed to them.
	Total

	// Again counts those who were added although their e-mail address was known, Refused those who were not.
	Again, Refused int64
}

// String implements [fmt.Stringer].
func (o Orders) String() string {
	return fmt.Sprintf("confirmed: %s; %d customers added again, %d refused\n", o.Total, o.Again, o.Refused)
}

// note marks an invoice of an order.
const note = "order"

// Order lets a customer after the other order from the application at base, pay, and now and then be added again, until ctx ends.
// An error means that the application refused an order.
func Order(ctx context.Context, client *http.Client, base string) (done Orders, err error) {
	c := &customers{client: client, base: base}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // any customer will do
	for ctx.Err() == nil {
		if err := done.one(context.WithoutCancel(ctx), c, random); err != nil {
			return done, err
		}
	}
	return done, nil
}

func (o *Orders) one(ctx context.Context, c *customers, random *rand.Rand) error {
	var list struct{ Customers []tallybook.Customer }
	if _, err := c.call(ctx, http.MethodGet, "/api/customers", nil, &list); err != nil {
		return err
	}
	chosen := list.Customers[random.IntN(len(list.Customers))]
	var made tallybook.Invoice
	draft := tallybook.InvoiceDraft{CustomerID: chosen.ID, AmountCents: 100 + random.Int64N(1000), Note: note}
	if _, err := c.call(ctx, http.MethodPost, "/api/invoices", draft, &made); err != nil {
		return err
	}
	o.Invoices, o.Cents = o.Invoices+1, o.Cents+made.AmountCents
	switch random.IntN(4) {
	case 0:
		var paid tallybook.Payment
		if _, err := c.call(ctx, http.MethodPost, fmt.Sprintf("/api/invoices/%d/payments", made.ID), tallybook.PaymentDraft{AmountCents: draft.AmountCents, Method: "card"}, &paid); err != nil {
			return err
		}
		o.Payments, o.PaidCents = o.Payments+1, o.PaidCents+paid.AmountCents
	case 1:
		status, err := c.call(ctx, http.MethodPost, "/api/customers", tallybook.CustomerDraft{Name: chosen.Name, Email: strings.ToUpper(chosen.Email)}, nil)
		switch {
		case err == nil:
			o.Again++
		case status == http.StatusInternalServerError: // it does not know the error of the guard, or that of the index
			o.Refused++
		default:
			return err
		}
	}
	return nil
}

// errAnswer means that the application refused a request.
var errAnswer = errors.New("the application refused")

// customers send requests to the application.
type customers struct {
	client *http.Client
	base   string
}

func (c *customers) call(ctx context.Context, method, path string, body, reply any) (status int, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	w, err := c.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = w.Body.Close() }() // it was only read
	answer, err := io.ReadAll(io.LimitReader(w.Body, 1<<20))
	switch {
	case err != nil:
		return w.StatusCode, err
	case w.StatusCode >= http.StatusBadRequest:
		return w.StatusCode, fmt.Errorf("%w: %s %s: %d %s", errAnswer, method, path, w.StatusCode, answer)
	case reply == nil:
		return w.StatusCode, nil
	}
	return w.StatusCode, json.Unmarshal(answer, reply)
}
