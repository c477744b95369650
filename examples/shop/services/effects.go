package services

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the "pgx" driver

	"github.com/semel-dev/semel/examples/internal/sqlite"
)

// Effects counts what happened in the business: what an order is about.
type Effects struct {
	Orders, Stock, Coupons, Points, Charges, Payments, Shipments, Mails int
}

// effectNames are the columns of reports, in the order of [Effects.List].
func effectNames() []string {
	return []string{"orders", "stock taken", "coupons used", "points", "charges", "payments", "shipments", "e-mails"}
}

// List returns the counts in the order of their columns.
func (e Effects) List() []int {
	return []int{e.Orders, e.Stock, e.Coupons, e.Points, e.Charges, e.Payments, e.Shipments, e.Mails}
}

// fields are the counts in the order of their columns, to be set.
func (e *Effects) fields() []*int {
	return []*int{&e.Orders, &e.Stock, &e.Coupons, &e.Points, &e.Charges, &e.Payments, &e.Shipments, &e.Mails}
}

// Since returns what was added after an earlier count.
func (e Effects) Since(before Effects) Effects {
	from, to := before.List(), e.fields()
	for i := range to {
		*to[i] -= from[i]
	}
	return e
}

// once reports whether these are the effects of one order: one of each, with the points of an order counted as one.
func (e Effects) once() bool { return e == Effects{1, 1, 1, 1, 1, 1, 1, 1} }

// openOrdersDB opens the database of the orders.
func (c *fleetConfig) openOrdersDB(ctx context.Context, statements ...string) (*sql.DB, error) {
	if c.OrdersDSN == "" {
		return sqlite.Open(ctx, c.file(roleOrders), statements...)
	}
	db, err := sql.Open("pgx", c.OrdersDSN)
	if err != nil {
		return nil, err
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("create the tables in %s: %w", "the orders' database", err), db.Close())
		}
	}
	return db, nil
}

// ledgers are the databases of a fleet, opened to be read.
type ledgers struct{ orders, provider, logistics *sql.DB }

func openLedgers(ctx context.Context, c *fleetConfig) (*ledgers, error) {
	var l ledgers
	var errs [3]error
	l.orders, errs[0] = c.openOrdersDB(ctx)
	l.provider, errs[1] = sqlite.Open(ctx, c.file(roleProvider))
	l.logistics, errs[2] = sqlite.Open(ctx, c.file(roleLogistics))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return &l, nil
}

func (l *ledgers) close() error {
	var errs []error
	for _, db := range []*sql.DB{l.orders, l.provider, l.logistics} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// count reads all databases. Nothing happens between them when the shop is quiet.
func (l *ledgers) count(ctx context.Context) (Effects, error) {
	var e Effects
	for _, one := range []struct {
		db    *sql.DB
		query string
		into  []any
	}{
		{l.orders, `SELECT (SELECT count(*) FROM orders), (SELECT coalesce(sum(taken), 0) FROM stock), (SELECT coalesce(sum(used), 0) FROM coupons),
			(SELECT coalesce(sum(points), 0) FROM customers), (SELECT count(*) FROM payments)`, []any{&e.Orders, &e.Stock, &e.Coupons, &e.Points, &e.Payments}},
		{l.provider, "SELECT (SELECT count(*) FROM charges), (SELECT count(*) FROM mails)", []any{&e.Charges, &e.Mails}},
		{l.logistics, "SELECT count(*) FROM shipments", []any{&e.Shipments}},
	} {
		if err := one.db.QueryRowContext(ctx, one.query).Scan(one.into...); err != nil {
			return e, err
		}
	}
	e.Points /= pointsPerOrder
	return e, nil
}
