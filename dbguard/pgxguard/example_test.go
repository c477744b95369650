package pgxguard_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/dbguard/pgxguard"
)

// A guard in a transaction that pgx began: its row commits with the others.
func ExampleSession() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://app@db.example/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		return dbguard.LockRows(ctx, pgxguard.Session(tx), -1, dbguard.RowAt("account", "id", 1))
	})
	fmt.Println(err)
}

// A guard that begins transactions itself takes a database.
func ExampleDatabase() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	var pool *pgxpool.Pool // as above
	db := pgxguard.Database(pool)
	err := db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error {
		return (dbguard.LockTable{}).CheckFence(ctx, tx, "nightly report", 42)
	})
	fmt.Println(err)
}
