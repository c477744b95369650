package redisstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/redisstore"
)

func ExampleOpen() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	store, err := redisstore.Open(ctx, "redis://app:password@redis.internal:6379/0?prefix=shop", &redisstore.Options{
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), // says what a crash of the server would lose
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	key := semel.Key{Scope: "user-4711 POST /invoices", Name: "8e03978e"}
	claim := semel.ClaimParams{Digest: key.Digest(), Owner: semel.Owner{1}, Lease: time.Minute, Retention: 24 * time.Hour}
	rec, won, err := store.Claim(ctx, claim)
	fmt.Println(rec.State, won, err)

	done := semel.Settlement{State: semel.StateCompleted, Outcome: []byte("invoice 1"), Kept: true, Retention: 24 * time.Hour}
	fmt.Println(store.Settle(ctx, rec.Digest, rec.Fence, done))
}

func ExampleNew() { //nolint:testableexamples // it needs sentinels.
	ctx := context.Background()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{"sentinel-1:26379", "sentinel-2:26379"},
		Sentinel:    rueidis.SentinelOption{MasterSet: "main"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	store, err := redisstore.New(client, &redisstore.Options{Replicas: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	fmt.Println(store.Check(ctx)) // is the server fit, and what would it lose?
}
