package natsstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/natsstore"
)

func ExampleOpen() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	// Every server of the cluster has jetstream { sync_interval: always }.
	store, err := natsstore.Open(ctx, "nats://app:password@nats.internal:4222?sync=always&replicas=3", &natsstore.Options{
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
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
	defer guard.Close()
	key := semel.Key{Scope: "user-4711 POST /invoices", Name: "8e03978e"}
	invoice, err := semel.Do(ctx, guard, key, semel.FingerprintOf("1 pencil"), func(context.Context) (string, error) {
		return "invoice 1", nil
	})
	fmt.Println(invoice, err)
}

func ExampleNew() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	nc, err := nats.Connect("nats://nats.internal:4222", nats.MaxReconnects(-1))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nc.Close()
	store, err := natsstore.New(nc, &natsstore.Options{Sync: natsstore.SyncAlways, Stream: "SHOP", Subject: "shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	if err := store.Check(ctx); err != nil { // makes the stream, or says what of it is wrong
		fmt.Println(err)
		return
	}
	claim := semel.ClaimParams{
		Digest: semel.Key{Scope: "user-4711", Name: "8e03978e"}.Digest(),
		Owner:  semel.Owner{1}, Lease: time.Minute, Retention: 24 * time.Hour,
	}
	rec, won, err := store.Claim(ctx, claim)
	fmt.Println(rec.State, won, err)
}
