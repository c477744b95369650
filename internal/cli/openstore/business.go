package openstore

import (
	"context"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/pgstore"
)

// businessSuffix follows the name of the scratch part in the name of the table
// of business rows.
const businessSuffix = "_business"

// HasTransactions reports whether the store of the scratch part works in
// transactions that business rows can share.
func (s *Scratch) HasTransactions() bool { return s.kind == "postgres" || s.kind == "mysql" }

// Business is a table of business rows in the scratch part, and transactions
// for them. It lives as long as its store.
type Business struct {
	semel.Transactor
	insert func(ctx context.Context, row string) error
	count  func(ctx context.Context, row string) (int, error)
}

// Insert writes a row in the transaction of ctx.
func (b *Business) Insert(ctx context.Context, row string) error { return b.insert(ctx, row) }

// Count counts the committed rows with this text.
func (b *Business) Count(ctx context.Context, row string) (int, error) { return b.count(ctx, row) }

// Business opens the table of business rows next to the records of the store.
func (s *Scratch) Business(ctx context.Context, store semel.Store) (*Business, error) {
	if pg, ok := semel.StoreAs[*pgstore.Store](store); ok {
		return postgresBusiness(ctx, pg, s.name)
	}
	if my, ok := semel.StoreAs[*mysqlstore.Store](store); ok {
		return mysqlBusiness(ctx, my, s.name)
	}
	return nil, fmt.Errorf("store: %s knows no transactions", s.kind)
}

// dropBusiness removes the business table where it does not go with the schema.
func dropBusiness(ctx context.Context, store semel.Store, name string) error {
	my, ok := semel.StoreAs[*mysqlstore.Store](store)
	if !ok {
		return nil
	}
	_, err := my.DB().ExecContext(ctx, "DROP TABLE IF EXISTS "+name+businessSuffix)
	return err
}

func postgresBusiness(ctx context.Context, store *pgstore.Store, schema string) (*Business, error) {
	pool := store.Pool()
	table := schema + ".business"
	if _, err := pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (name text NOT NULL)"); err != nil {
		return nil, fmt.Errorf("make the business table: %w", err)
	}
	return &Business{
		Transactor: store.Transactor(nil),
		insert: func(ctx context.Context, row string) error {
			//semel:safe the work of an intent: the check counts that it is done once
			_, err := pgstore.TxFrom(ctx).Exec(ctx, "INSERT INTO "+table+" VALUES ($1)", row)
			return err
		},
		count: func(ctx context.Context, row string) (n int, err error) {
			err = pool.QueryRow(ctx, "SELECT count(*) FROM "+table+" WHERE name = $1", row).Scan(&n)
			return n, err
		},
	}, nil
}

func mysqlBusiness(ctx context.Context, store *mysqlstore.Store, prefix string) (*Business, error) {
	db := store.DB()
	table := prefix + businessSuffix
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (name varchar(255) NOT NULL) ENGINE=InnoDB"); err != nil {
		return nil, fmt.Errorf("make the business table: %w", err)
	}
	return &Business{
		Transactor: store.Transactor(nil),
		insert: func(ctx context.Context, row string) error {
			//semel:safe the work of an intent: the check counts that it is done once
			_, err := mysqlstore.TxFrom(ctx).ExecContext(ctx, "INSERT INTO "+table+" VALUES (?)", row)
			return err
		},
		count: func(ctx context.Context, row string) (n int, err error) {
			err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table+" WHERE name = ?", row).Scan(&n)
			return n, err
		},
	}, nil
}
