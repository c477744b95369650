package mysqlstore_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// What the examples share: a guard over [mysqlstore.Open], and the intent.
var (
	guard  *semel.Guard
	intent = semel.Key{Scope: "user-4711 POST /invoices", Name: "8e03978e"}
	wanted = semel.FingerprintOf("20 EUR")
)

const insertInvoice = "INSERT INTO invoices (amount) VALUES (?)"

func ExampleDo() { //nolint:testableexamples // it needs a server.
	id, err := mysqlstore.Do(context.Background(), guard, intent, wanted, func(ctx context.Context, tx *sql.Tx) (int64, error) {
		res, err := tx.ExecContext(ctx, insertInvoice, 2000)
		if err != nil {
			return 0, err
		}
		return res.LastInsertId()
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
	id, err := mysqlstore.Join(ctx, guard, tx, intent, wanted, func(ctx context.Context) (int64, error) {
		res, err := tx.ExecContext(ctx, insertInvoice, 2000)
		if err != nil {
			return 0, err
		}
		return res.LastInsertId()
	})
	if err == nil {
		err = tx.Commit() // now it is the answer of every caller
	}
	fmt.Println(id, err)
}

// A pool of the program's own, in which Do takes two round trips less.
func ExampleNewConnector() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	cfg, err := mysql.ParseDSN("shop:secret@tcp(db.example.com)/shop?interpolateParams=true&multiStatements=true")
	if err != nil {
		fmt.Println(err)
		return
	}
	connector, err := mysqlstore.NewConnector(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	store, err := mysqlstore.New(ctx, db, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
}
