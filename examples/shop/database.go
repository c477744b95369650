package shop

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/semel-dev/semel/examples/internal/sqlite"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

const (
	databaseFile = "shop.db"
	maxListed    = 1000 // rows of a list, the newest
)

var (
	//go:embed sql/schema.sql
	schemaSQL string
	//go:embed sql/insert_session.sql
	insertSessionSQL string
	//go:embed sql/find_session.sql
	findSessionSQL string
	//go:embed sql/delete_session.sql
	deleteSessionSQL string
	//go:embed sql/insert_order.sql
	insertOrderSQL string
	//go:embed sql/find_order.sql
	findOrderSQL string
	//go:embed sql/list_orders.sql
	listOrdersSQL string
	//go:embed sql/insert_line.sql
	insertLineSQL string
	//go:embed sql/list_lines.sql
	listLinesSQL string
	//go:embed sql/counts.sql
	countsSQL string
)

var (
	errNotFound = errors.New("there is nothing at this address")
	errIDTaken  = errors.New("another order has this id")
)

// order is an order as the API and the pages show it.
type order struct {
	Number   int64  `json:"number"`
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Note     string `json:"note"`
}

func (o *order) scan(row sqlite.Row) error { return row.Scan(&o.Number, &o.ID, &o.Customer, &o.Note) }

// line is one thing of an order.
type line struct {
	ID       int64  `json:"id"`
	Order    string `json:"order"`
	Item     string `json:"item"`
	Quantity int64  `json:"quantity"`
}

func (l *line) scan(row sqlite.Row) error { return row.Scan(&l.ID, &l.Order, &l.Item, &l.Quantity) }

// database is the shop's tables.
type database struct{ db *sql.DB }

// openDatabase opens the file in dir and makes the tables where there are
// none. The directory must exist.
func openDatabase(ctx context.Context, dir string) (*database, error) {
	path, err := filepath.Abs(filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, fmt.Errorf("find the database: %w", err)
	}
	db, err := sqlite.Open(ctx, path, schemaSQL)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w (is -dir an existing directory that can be written?)", path, err)
	}
	return &database{db: db}, nil
}

// writer is the transaction of the claim where the request has one, so that
// rows and outcome commit together; otherwise the request is unprotected.
func (d *database) writer(ctx context.Context) sqlite.Handle {
	if tx := sqlitetx.TxFrom(ctx); tx != nil {
		return tx
	}
	return d.db
}

// insertOrder stores an order and returns it with its number. An id that
// another order has is errIDTaken.
func (d *database) insertOrder(ctx context.Context, account string, o order) (order, error) {
	var err error
	o.Number, err = sqlite.One(ctx, d.writer(ctx), "insert order", errIDTaken, sqlite.Column[int64], insertOrderSQL, o.ID, account, o.Customer, o.Note)
	return o, err
}

// insertLine adds a line to an order of the account; errNotFound when it has
// no such order.
func (d *database) insertLine(ctx context.Context, account string, l line) (line, error) {
	var err error
	l.ID, err = sqlite.One(ctx, d.writer(ctx), "insert line", errNotFound, sqlite.Column[int64], insertLineSQL, l.Item, l.Quantity, account, l.Order)
	return l, err
}

// findOrder returns errNotFound when the account has no such order.
func (d *database) findOrder(ctx context.Context, account, id string) (order, error) {
	return sqlite.One(ctx, d.db, "find order", errNotFound, (*order).scan, findOrderSQL, account, id)
}

// listOrders returns the newest orders, oldest first.
func (d *database) listOrders(ctx context.Context) ([]order, error) {
	return sqlite.List(ctx, d.db, "list orders", (*order).scan, listOrdersSQL, maxListed)
}

// listLines returns the newest lines, oldest first: of one order, or of all
// when orderID is empty.
func (d *database) listLines(ctx context.Context, orderID string) ([]line, error) {
	return sqlite.List(ctx, d.db, "list lines", (*line).scan, listLinesSQL, orderID, maxListed)
}

// counts says how many orders and lines there are.
func (d *database) counts(ctx context.Context) (orders, lines int, err error) {
	if err := d.db.QueryRowContext(ctx, countsSQL).Scan(&orders, &lines); err != nil {
		return 0, 0, fmt.Errorf("count: %w", err)
	}
	return orders, lines, nil
}

func (d *database) insertSession(ctx context.Context, id, account string) error {
	if _, err := d.db.ExecContext(ctx, insertSessionSQL, id, account); err != nil {
		return fmt.Errorf("insert session: %w", err)
	}
	return nil
}

func (d *database) deleteSession(ctx context.Context, id string) error {
	if _, err := d.db.ExecContext(ctx, deleteSessionSQL, id); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}

// findSession returns the account of a session; errNotFound for none.
func (d *database) findSession(ctx context.Context, id string) (string, error) {
	return sqlite.One(ctx, d.db, "find session", errNotFound, sqlite.Column[string], findSessionSQL, id)
}
