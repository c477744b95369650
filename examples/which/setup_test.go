// Package which_test holds the code of docs/which.md as programs that run.
package which_test

import (
	"context"
	"database/sql"
	"fmt"

	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// Order is a customer's wish.
type Order struct {
	Customer, Item, Coupon string
	Price                  int
}

// Receipt is the answer to it.
type Receipt struct {
	Order  int64
	Points int
}

// shop is an application with a database of its own, and a guard whose records lie in it.
type shop struct {
	db    *sql.DB
	store *sqlitetx.Store
	guard *semel.Guard
}

const tables = `
	CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, item TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'open');
	CREATE TABLE stock (item TEXT PRIMARY KEY, left INTEGER NOT NULL CHECK (left >= 0));
	CREATE TABLE coupons (code TEXT PRIMARY KEY, used_by INTEGER);
	CREATE TABLE points (customer TEXT PRIMARY KEY, points INTEGER NOT NULL);
	CREATE TABLE mails (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
	INSERT INTO stock VALUES ('tea', 10);
	INSERT INTO coupons (code) VALUES ('SPRING');
	INSERT INTO points VALUES ('Ada', 0)`

// open makes a shop in memory. Errors of its set-up are panics, to keep the examples short.
func open(ctx context.Context) *shop {
	db, err := sql.Open("sqlite", ":memory:") // or a file with _pragma=journal_mode(WAL)&_pragma=synchronous(FULL)
	check(err)
	db.SetMaxOpenConns(1) // because it lies in memory
	_, err = db.ExecContext(ctx, tables)
	check(err)
	store, err := sqlitetx.Open(ctx, db, nil)
	check(err)
	guard, err := semel.New(store, nil)
	check(err)
	return &shop{db, store, guard}
}

func (s *shop) close() { _, _, _ = s.guard.Close(), s.store.Close(), s.db.Close() }

// print counts rows.
func (s *shop) print(ctx context.Context, what, query string) {
	var n int
	check(s.db.QueryRowContext(ctx, query).Scan(&n))
	fmt.Println(n, what) //nolint:forbidigo // the output of examples
}

// exec runs a statement that must change exactly one row, and returns the row's id.
func exec(ctx context.Context, tx *sql.Tx, query string, args ...any) (int64, error) {
	res, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return 0, fmt.Errorf("%s: %d rows, %w", query, n, err)
	}
	return res.LastInsertId()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
