package sqlitetx_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// shop is an application with a database of its own.
func shop(ctx context.Context) (*sql.DB, *sqlitetx.Store, *semel.Guard, error) {
	db, err := sql.Open("sqlite", ":memory:") // or a file with _pragma=journal_mode(WAL)&_pragma=synchronous(FULL)
	if err != nil {
		return nil, nil, nil, err
	}
	db.SetMaxOpenConns(1) // because it lies in memory
	if _, err := db.ExecContext(ctx, "CREATE TABLE invoices (id INTEGER PRIMARY KEY, customer TEXT NOT NULL)"); err != nil {
		return nil, nil, nil, err
	}
	store, err := sqlitetx.Open(ctx, db, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	guard, err := semel.New(store, nil)
	return db, store, guard, err
}

func ExampleDo() {
	ctx := context.Background()
	db, store, guard, err := shop(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	defer store.Close()
	defer guard.Close()

	key := semel.Key{Scope: "user-4711 invoices", Name: "8e03978e"}
	for range 2 { // a double click
		id, err := sqlitetx.Do(ctx, guard, key, semel.FingerprintOf("Ada"), func(ctx context.Context, tx *sql.Tx) (int64, error) {
			res, err := tx.ExecContext(ctx, "INSERT INTO invoices (customer) VALUES ('Ada')")
			if err != nil {
				return 0, err
			}
			return res.LastInsertId()
		})
		fmt.Println("invoice", id, err)
	}
	var n int
	err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM invoices").Scan(&n)
	fmt.Println(n, "row", err)
	// Output:
	// invoice 1 <nil>
	// invoice 1 <nil>
	// 1 row <nil>
}

func ExampleJoin() {
	ctx := context.Background()
	db, store, guard, err := shop(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	defer store.Close()
	defer guard.Close()

	tx, err := db.BeginTx(ctx, nil) // by whatever library
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tx.Rollback()
	key := semel.Key{Scope: "user-4711 invoices", Name: "8e03978e"}
	answer, err := sqlitetx.Join(ctx, guard, tx, key, semel.FingerprintOf("Ada"), func(ctx context.Context) (string, error) {
		_, err := tx.ExecContext(ctx, "INSERT INTO invoices (customer) VALUES ('Ada')")
		return "an invoice for Ada", err
	})
	fmt.Println(answer, err)
	fmt.Println(tx.Commit()) // now every caller gets this answer
	// Output:
	// an invoice for Ada <nil>
	// <nil>
}

func ExampleOpen() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	store, err := sqlitetx.Open(ctx, db, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	n, err := store.Count(ctx)
	fmt.Println(n, err)
	// Output: 0 <nil>
}

func ExampleTxFrom() {
	ctx := context.Background()
	db, store, guard, err := shop(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	defer store.Close()
	defer guard.Close()

	// A function deep below finds the transaction in its context.
	enter := func(ctx context.Context, customer string) error {
		_, err := sqlitetx.TxFrom(ctx).ExecContext(ctx, "INSERT INTO invoices (customer) VALUES (?)", customer)
		return err
	}
	key := semel.Key{Scope: "user-4711 invoices", Name: "8e03978e"}
	answer, err := semel.DoTx(ctx, guard, store.Transactor(), key, semel.FingerprintOf("Ada"), func(ctx context.Context) (string, error) {
		return "entered", enter(ctx, "Ada")
	})
	fmt.Println(answer, err)
	// Output: entered <nil>
}
