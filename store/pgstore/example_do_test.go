package pgstore_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/pgstore"
)

// What the examples share: a guard over [pgstore.Open], and the intent.
var (
	guard  *semel.Guard
	intent = semel.Key{Scope: "user 42: POST /invoices", Name: "8e03978e-40d5-43dd-bc93-6894a57f9324"}
	wanted = semel.FingerprintOf("amount=1250")
)

const insertInvoice = "INSERT INTO invoices (amount) VALUES ($1) RETURNING id"

func ExampleDo() { //nolint:testableexamples // it needs a server.
	id, err := pgstore.Do(context.Background(), guard, intent, wanted, func(ctx context.Context, tx pgx.Tx) (id int64, err error) {
		err = tx.QueryRow(ctx, insertInvoice, 1250).Scan(&id)
		return id, err
	})
	fmt.Println(id, err)
}

// The statements travel with the claim.
func ExampleRun() { //nolint:testableexamples // it needs a server.
	queries := []pgstore.Query{
		{SQL: insertInvoice, Args: []any{1250}},
		{SQL: "UPDATE customers SET invoices = invoices + 1 WHERE id = $1", Args: []any{42}},
	}
	id, err := pgstore.Run(context.Background(), guard, intent, wanted, queries, func(rows []pgx.Rows) (int64, error) {
		return pgx.CollectExactlyOneRow(rows[0], pgx.RowTo[int64])
	})
	fmt.Println(id, err)
}

// All of the work is one statement, and so is the record of what it returned.
func ExampleExec() { //nolint:testableexamples // it needs a server.
	type invoice struct {
		ID int64 `json:"id"`
	}
	made, err := pgstore.Exec[invoice](context.Background(), guard, intent, wanted, insertInvoice, 1250)
	fmt.Println(made.ID, err)
}

// A message's statements travel with its claim, and messages that are handled at the same time share a commit.
func ExampleRowsFrom() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	store, err := pgstore.Open(ctx, "postgres://db.example/shop", &pgstore.Options{Together: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	pay := pgstore.Query{SQL: "UPDATE invoices SET paid = true WHERE id = $1", Args: []any{17}}
	t := store.Transactor(&pgstore.TxOptions{Queries: []pgstore.Query{pay}}) // for in.HandleTx, or
	n, err := semel.DoTx(ctx, guard, t, intent, wanted, func(ctx context.Context) (int64, error) {
		rows, err := pgstore.RowsFrom(ctx)
		if err != nil {
			return 0, err
		}
		return rows[0].CommandTag().RowsAffected(), nil
	})
	fmt.Println(n, err)
}

func ExampleSQLTxFrom() { //nolint:testableexamples // it needs a server.
	var store *pgstore.Store // the guard's
	var db *sql.DB           // of the same database, by whatever driver
	id, err := semel.DoTx(context.Background(), guard, store.Transactor(&pgstore.TxOptions{DB: db}), intent, wanted, func(ctx context.Context) (id int64, err error) {
		err = pgstore.SQLTxFrom(ctx).QueryRowContext(ctx, insertInvoice, 1250).Scan(&id)
		return id, err
	})
	fmt.Println(id, err)
}

// The caller has begun the transaction, perhaps by an ORM, and commits it.
func ExampleJoin() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	var db *sql.DB
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tx.Rollback()
	id, err := pgstore.Join(ctx, guard, tx, intent, wanted, func(ctx context.Context) (id int64, err error) {
		err = tx.QueryRowContext(ctx, insertInvoice, 1250).Scan(&id)
		return id, err
	})
	if err == nil {
		err = tx.Commit() // now it is the answer of every caller
	}
	fmt.Println(id, err)
}

func ExamplePgx() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	var conn *pgx.Conn
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := pgstore.Join(ctx, guard, pgstore.Pgx(tx), intent, wanted, func(ctx context.Context) (id int64, err error) {
			err = tx.QueryRow(ctx, insertInvoice, 1250).Scan(&id)
			return id, err
		})
		return err
	})
	fmt.Println(err)
}
