package pgstore_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/pgstore"
)

func ExampleOpen() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	store, err := pgstore.Open(ctx, "postgres://app@db.example/shop?sslmode=verify-full", &pgstore.Options{MaxConns: 16})
	if err != nil {
		log.Print(err) // says what to change
		return
	}
	defer store.Close()
	key := semel.Key{Scope: "user 42: POST /invoices", Name: "8e03978e-40d5-43dd-bc93-6894a57f9324"}
	rec, won, err := store.Claim(ctx, semel.ClaimParams{
		Digest: key.Digest(), Scope: key.Scope, Name: key.Name,
		Owner: semel.Owner{1}, Lease: time.Minute, Retention: 24 * time.Hour,
	})
	fmt.Println(rec.State, won, err)
}

// A service that has a pool already shares it with the store.
func ExampleNew() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://app@db.example/shop")
	if err != nil {
		log.Print(err)
		return
	}
	defer pool.Close()
	store, err := pgstore.New(ctx, pool, &pgstore.Options{Schema: "idempotency"})
	if err != nil {
		log.Print(err)
		return
	}
	defer store.Close()
}

// A user that runs migrations with another tool takes the scripts from here.
func ExampleMigrations() {
	scripts, err := pgstore.Migrations("semel")
	for _, script := range scripts {
		fmt.Println(script.Version, script.Name)
	}
	fmt.Println(err)
	// Output:
	// 0 0000_schema
	// 1 0001_record
	// <nil>
}

// Several claims in one commit; package groupcommit gathers them from many
// callers.
func ExampleStore_Batch() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	store, err := pgstore.Open(ctx, "postgres://app@db.example/shop", nil)
	if err != nil {
		log.Print(err)
		return
	}
	defer store.Close()
	var claims []semel.ClaimParams
	for _, name := range []string{"order 1", "order 2"} {
		key := semel.Key{Scope: "import", Name: name}
		claims = append(claims, semel.ClaimParams{
			Digest: key.Digest(), Scope: key.Scope, Name: key.Name, Lease: time.Minute, Retention: time.Hour,
		})
	}
	answers, _, err := store.Batch(ctx, claims, nil)
	for i, answer := range answers {
		fmt.Println(claims[i].Name, answer.Won, answer.Err)
	}
	fmt.Println(err)
}

// A process that met a live claim waits until another one settles it.
func ExampleStore_Await() { //nolint:testableexamples // it needs a server.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	store, err := pgstore.Open(ctx, "postgres://app@db.example/shop", nil)
	if err != nil {
		log.Print(err)
		return
	}
	defer store.Close()
	digest := semel.Key{Scope: "import", Name: "order 1"}.Digest()
	if err := store.Await(ctx, digest); err != nil {
		log.Print(err) // it cannot tell: poll
	}
	rec, err := store.Lookup(ctx, digest)
	fmt.Println(rec.State, err)
}
