package shop

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // registers the "sqlite" driver

	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

const (
	databaseFile = "shop.db"
	busyTimeout  = 5 * time.Second
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

// line is one thing of an order.
type line struct {
	ID       int64  `json:"id"`
	Order    string `json:"order"`
	Item     string `json:"item"`
	Quantity int64  `json:"quantity"`
}

// database is the shop's tables.
type database struct{ db *sql.DB }

// openDatabase opens the file in dir and makes the tables where there are
// none. The directory must exist.
func openDatabase(ctx context.Context, dir string) (*database, error) {
	path, err := filepath.Abs(filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, fmt.Errorf("find the database: %w", err)
	}
	settings := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
	}}
	dsn := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: settings.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("load the driver: %w", err)
	}
	if _, err := db.ExecContext(ctx, schemaSQL); err != nil {
		_ = db.Close() // the first error says more
		return nil, fmt.Errorf("open %s: %w (is -dir an existing directory that can be written?)", path, err)
	}
	return &database{db: db}, nil
}

// queryer is implemented by *sql.DB and *sql.Tx.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// writer is the transaction of the claim where the request has one, so that
// rows and outcome commit together; otherwise the request is unprotected.
func (d *database) writer(ctx context.Context) queryer {
	if tx := sqlitetx.TxFrom(ctx); tx != nil {
		return tx
	}
	return d.db
}

// insertOrder stores an order and returns it with its number. An id that
// another order has is errIDTaken.
func (d *database) insertOrder(ctx context.Context, account string, o order) (order, error) {
	err := d.writer(ctx).QueryRowContext(ctx, insertOrderSQL, o.ID, account, o.Customer, o.Note).Scan(&o.Number)
	if errors.Is(err, sql.ErrNoRows) {
		return order{}, errIDTaken
	}
	if err != nil {
		return order{}, fmt.Errorf("insert order: %w", err)
	}
	return o, nil
}

// insertLine adds a line to an order of the account; errNotFound when it has
// no such order.
func (d *database) insertLine(ctx context.Context, account string, l line) (line, error) {
	row := d.writer(ctx).QueryRowContext(ctx, insertLineSQL, l.Item, l.Quantity, account, l.Order)
	if err := row.Scan(&l.ID); errors.Is(err, sql.ErrNoRows) {
		return line{}, errNotFound
	} else if err != nil {
		return line{}, fmt.Errorf("insert line: %w", err)
	}
	return l, nil
}

// findOrder returns errNotFound when the account has no such order.
func (d *database) findOrder(ctx context.Context, account, id string) (order, error) {
	var o order
	err := d.db.QueryRowContext(ctx, findOrderSQL, account, id).Scan(&o.Number, &o.ID, &o.Customer, &o.Note)
	if errors.Is(err, sql.ErrNoRows) {
		return order{}, errNotFound
	}
	if err != nil {
		return order{}, fmt.Errorf("find order: %w", err)
	}
	return o, nil
}

// listOrders returns the newest orders, oldest first.
func (d *database) listOrders(ctx context.Context) ([]order, error) {
	return list(ctx, d.db, listOrdersSQL, []any{maxListed}, func(rows *sql.Rows, o *order) error {
		return rows.Scan(&o.Number, &o.ID, &o.Customer, &o.Note)
	})
}

// listLines returns the newest lines, oldest first: of one order, or of all
// when orderID is empty.
func (d *database) listLines(ctx context.Context, orderID string) ([]line, error) {
	return list(ctx, d.db, listLinesSQL, []any{orderID, maxListed}, func(rows *sql.Rows, l *line) error {
		return rows.Scan(&l.ID, &l.Order, &l.Item, &l.Quantity)
	})
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
	var account string
	err := d.db.QueryRowContext(ctx, findSessionSQL, id).Scan(&account)
	if errors.Is(err, sql.ErrNoRows) {
		return "", errNotFound
	}
	if err != nil {
		return "", fmt.Errorf("find session: %w", err)
	}
	return account, nil
}

// list runs a query that carries its own LIMIT and scans every row.
func list[T any](ctx context.Context, db *sql.DB, query string, args []any, scan func(*sql.Rows, *T) error) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err tells
	found := []T{}
	for rows.Next() {
		var item T
		if err := scan(rows, &item); err != nil {
			return nil, fmt.Errorf("scan: %w", err)
		}
		found = append(found, item)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	return found, nil
}
