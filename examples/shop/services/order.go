package services

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/semel-dev/semel/examples/internal/sqlite"
	"github.com/semel-dev/semel/ids"
	"github.com/semel-dev/semel/internal/must"
)

// ordersSchema is that of the orders' database, in SQLite and in PostgreSQL.
// Nothing in it refuses a duplicate.
func ordersSchema() []string {
	return []string{
		"CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer TEXT NOT NULL, item TEXT NOT NULL)",
		"CREATE TABLE IF NOT EXISTS stock (item TEXT PRIMARY KEY, taken INTEGER NOT NULL)",
		"CREATE TABLE IF NOT EXISTS coupons (code TEXT PRIMARY KEY, used INTEGER NOT NULL)",
		"CREATE TABLE IF NOT EXISTS customers (name TEXT PRIMARY KEY, points INTEGER NOT NULL)",
		"CREATE TABLE IF NOT EXISTS payments (order_id TEXT NOT NULL, charge INTEGER NOT NULL)",
	}
}

const (
	pointsPerOrder = 10
	price          = 4900

	ordersTopic = "shop.orders" // an order was placed: the payment service charges the card
	mailsTopic  = "shop.mails"  // an order was paid: the customer gets an e-mail
)

// order travels from the customer's app to the payment service.
type order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Item     string `json:"item"`
	Coupon   string `json:"coupon"`
}

// place writes all that an order is about. Whether it is one change or four
// is up to the handle: a transaction, or the database itself.
func (s *service) place(ctx context.Context, h sqlite.Handle, o *order) error {
	o.ID = (&ids.UUIDs{}).New().String()
	s.faults.die("orders/begin")
	for _, change := range []struct {
		statement string
		args      []any
		point     string
	}{
		{"INSERT INTO orders (id, customer, item) VALUES ($1, $2, $3)", []any{o.ID, o.Customer, o.Item}, "orders/order"},
		{"INSERT INTO stock VALUES ($1, 1) ON CONFLICT (item) DO UPDATE SET taken = stock.taken + 1", []any{o.Item}, "orders/stock"},
		{"INSERT INTO coupons VALUES ($1, 1) ON CONFLICT (code) DO UPDATE SET used = coupons.used + 1", []any{o.Coupon}, "orders/coupon"},
		{"INSERT INTO customers VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET points = customers.points + $2", []any{o.Customer, pointsPerOrder}, "orders/points"},
	} {
		if _, err := h.ExecContext(ctx, change.statement, change.args...); err != nil {
			return err
		}
		s.faults.die(change.point)
	}
	return nil
}

// book writes that an order is paid.
func (s *service) book(ctx context.Context, h sqlite.Handle, c *charge) error {
	_, err := h.ExecContext(ctx, "INSERT INTO payments (order_id, charge) VALUES ($1, $2)", c.Order, c.ID)
	return err
}

// ship writes the shipment of an order.
func (s *service) ship(ctx context.Context, h sqlite.Handle, o string) error {
	s.faults.die("logistics/begin")
	_, err := h.ExecContext(ctx, "INSERT INTO shipments (order_id) VALUES ($1)", o)
	if err == nil {
		s.faults.die("logistics/written")
	}
	return err
}

const logisticsSchema = "CREATE TABLE IF NOT EXISTS shipments (id INTEGER PRIMARY KEY, order_id TEXT NOT NULL)"

// payload encodes the body of a message.
func payload(v any) []byte { return must.Get(json.Marshal(v)) } // structs of strings and numbers

// paid reads the callback of the provider.
func paid(body []byte) (charge, error) {
	var event struct{ Data charge }
	err := json.Unmarshal(body, &event)
	return event.Data, err
}

// placed reads an order that a customer sends.
func placed(r *http.Request) (order, error) {
	var o order
	err := decode(r, &o)
	return o, err
}
