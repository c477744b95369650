package mysqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/mysqlstore"
)

func ExampleOpen() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	store, err := mysqlstore.Open(ctx, "mysql://shop:secret@db.example.com/shop", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	guard, err := semel.New(store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	key := semel.Key{Scope: "user-4711 POST /invoices", Name: "8e03978e"}
	number, err := semel.Do(ctx, guard, key, semel.FingerprintOf("20 EUR"), func(context.Context) (int, error) {
		return 1, nil // writes the invoice
	})
	fmt.Println(number, err)
}

// A pool that the program has anyway.
func ExampleNew() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	db, err := sql.Open("mysql", "shop:secret@tcp(db.example.com)/shop?interpolateParams=true&multiStatements=true")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	store, err := mysqlstore.New(ctx, db, &mysqlstore.Options{TablePrefix: "shop_semel_"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	removed, err := store.Sweep(ctx, 500)
	fmt.Println(removed, err)
}

// The tables as a script for a tool that runs migrations.
func ExampleMigrations() {
	steps, err := mysqlstore.Migrations("")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range steps {
		fmt.Println("--", step.Name)
		for _, statement := range step.Statements {
			fmt.Println(statement[:34], "…")
		}
	}
	// Output:
	// -- 0001_record
	// CREATE TABLE IF NOT EXISTS `semel_ …
	// CREATE TABLE IF NOT EXISTS `semel_ …
	// INSERT INTO `semel_migration` (ver …
}

// Many steps in one commit, each with its own answer.
func ExampleStore_Batch() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	store, err := mysqlstore.Open(ctx, "mysql://shop:secret@db.example.com/shop", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	var claims []semel.ClaimParams
	for _, name := range []string{"8e03978e", "40d3f8a1"} {
		key := semel.Key{Scope: "user-4711 POST /invoices", Name: name}
		claims = append(claims, semel.ClaimParams{Digest: key.Digest(), Owner: semel.Owner{1}, Lease: time.Minute, Retention: time.Hour})
	}
	answers, _, err := store.Batch(ctx, claims, nil)
	fmt.Println(len(answers), err)
}
