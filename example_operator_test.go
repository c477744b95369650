package semel_test

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// Whoever looks after the service can see who gave which verdict, and why.
func ExampleGuard_Audit() {
	store := memstore.New(nil)
	defer store.Close()
	g, err := semel.New(store, nil)
	if err != nil {
		panic(err)
	}
	defer g.Close()

	ctx := context.Background()
	alice := semel.Operator{Name: "alice", Via: "back office"}
	for _, order := range []string{"order-7", "order-8"} {
		if _, err := g.Cancel(ctx, alice, semel.Key{Scope: "shop", Name: order}, "the customer called"); err != nil {
			panic(err)
		}
	}
	page, err := g.Audit(ctx, semel.AuditParams{Limit: 1})
	for err == nil && len(page) > 0 {
		for _, e := range page {
			fmt.Println(e.Operator.Name, e.Act, e.Name, e.Reason)
		}
		page, err = g.Audit(ctx, semel.AuditParams{Limit: 1, Before: page[len(page)-1].Position})
	}
	fmt.Println(err)
	// Output:
	// alice cancel order-8 the customer called
	// alice cancel order-7 the customer called
	// <nil>
}

// bankSays is a policy that asks the bank what became of a transfer.
func bankSays() semel.Policy {
	return semel.Policy{
		OnUnknown: semel.Reconcile,
		Reconcile: func(_ context.Context, rec semel.Record) (semel.Reconciliation, error) {
			// … ask the bank for rec.Name …
			return semel.Reconciliation{Verdict: semel.Happened, Outcome: []byte("transfer 17"), Kept: true}, nil
		},
	}
}

// A connection broke off, and nobody knows whether the bank has transferred. A
// job that runs every so often finds out.
func ExampleGuard_ReconcileUnknown() {
	store := memstore.New(nil)
	defer store.Close()
	key := semel.Key{Scope: "tenant-7 transfer", Name: "k1"}
	g, err := semel.New(store, &semel.Options{Policy: bankSays()})
	if err != nil {
		panic(err)
	}
	defer g.Close()

	ctx := context.Background()
	asked := semel.FingerprintOf("100 EUR")
	claim, _, err := g.Begin(ctx, key, asked)
	if err != nil {
		panic(err)
	}
	if err := claim.Unknown("the bank hung up"); err != nil {
		panic(err)
	}
	for found := 0; found == 0; { // a record rests for First before it is tried
		report, err := g.ReconcileUnknown(ctx, semel.Unattended{First: time.Millisecond})
		if err != nil {
			panic(err)
		}
		found = report.Happened
	}
	_, rec, err := g.Begin(ctx, key, asked)
	fmt.Printf("%s %v\n", rec.Outcome, err)
	// Output: transfer 17 <nil>
}

// The same by itself, for as long as the guard lives.
func ExampleGuard_ReconcileInBackground() {
	store := memstore.New(nil)
	defer store.Close()
	key := semel.Key{Scope: "tenant-7 transfer", Name: "k1"}
	told := make(chan semel.ReconcileInfo, 1)
	g, err := semel.New(store, &semel.Options{
		Policy: bankSays(),
		Trace:  &semel.Trace{Reconciled: func(_ context.Context, info semel.ReconcileInfo) { told <- info }},
	})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	if err := g.ReconcileInBackground(semel.Unattended{Every: time.Millisecond, First: time.Millisecond}); err != nil {
		panic(err)
	}

	claim, _, err := g.Begin(context.Background(), key, semel.FingerprintOf("100 EUR"))
	if err != nil {
		panic(err)
	}
	if err := claim.Unknown("the bank hung up"); err != nil {
		panic(err)
	}
	fmt.Println((<-told).Verdict == semel.Happened)
	// Output: true
}
