package semel_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// A job lost its connection while it created an invoice. The next caller asks the
// ledger, and gets the result that Do would have kept.
func ExampleOutcomeOf() {
	type invoice struct{ Number int }
	store := memstore.New(nil)
	defer store.Close()
	g, err := semel.New(store, &semel.Options{Policy: semel.Policy{
		OnUnknown: semel.Reconcile,
		Reconcile: func(context.Context, semel.Record) (semel.Reconciliation, error) {
			// … ask the ledger for the invoice …
			outcome, err := semel.OutcomeOf(invoice{Number: 17})
			return semel.Reconciliation{Verdict: semel.Happened, Outcome: outcome, Kept: true}, err
		},
	}})
	if err != nil {
		panic(err)
	}
	defer g.Close()

	ctx := context.Background()
	key := semel.Key{Scope: "tenant-7 invoice", Name: "k1"}
	create := func(context.Context) (invoice, error) {
		return invoice{}, semel.MarkUnknown(errors.New("the ledger hung up"))
	}
	for range 2 {
		fmt.Println(semel.Do(ctx, g, key, semel.FingerprintOf("100 EUR"), create))
	}
	// Output:
	// {0} the ledger hung up
	// {17} <nil>
}

// A booking has two steps. The second one failed for good, and the first was
// undone: the intent must not happen any more, so a late retry is refused.
func ExampleClaim_Cancel() {
	store := memstore.New(nil)
	defer store.Close()
	g, err := semel.New(store, nil)
	if err != nil {
		panic(err)
	}
	defer g.Close()

	ctx := context.Background()
	key := semel.Key{Scope: "tenant-7 booking", Name: "k1"}
	claim, _, err := g.Begin(ctx, key, semel.FingerprintOf("flight and hotel"))
	if err != nil {
		panic(err)
	}
	// … book the flight; the hotel is full; cancel the flight …
	if err := claim.Cancel("the hotel is full, the flight was cancelled"); err != nil {
		panic(err)
	}
	_, _, err = g.Begin(ctx, key, semel.FingerprintOf("flight and hotel"))
	fmt.Println(errors.Is(err, semel.ErrCancelled))
	// Output: true
}
