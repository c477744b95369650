package operator_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

// The audit trail says who gave which verdict, and why.
func ExampleRecords_Audit() {
	store := memstore.New(nil)
	defer store.Close()
	g, records := guarded(store, nil)
	defer g.Close()

	ctx := context.Background()
	alice := operator.Identity{Name: "alice", Via: "back office"}
	for _, order := range []string{"order-7", "order-8"} {
		if _, err := records.Cancel(ctx, alice, semel.Key{Scope: "shop", Name: order}, 0, "the customer called"); err != nil {
			panic(err)
		}
	}
	for params := (operator.AuditParams{Limit: 1}); ; {
		page, err := records.Audit(ctx, params)
		if err != nil {
			panic(err)
		}
		for _, e := range page.Entries {
			fmt.Println(e.Operator.Name, e.Act, e.Name, e.Reason)
		}
		if params.After = page.Next; params.After == "" {
			break
		}
	}
	// Output:
	// alice cancel order-8 the customer called
	// alice cancel order-7 the customer called
}

func ExampleRecords_Cancel() {
	store := memstore.New(nil)
	defer store.Close()
	g, records := guarded(store, nil)
	defer g.Close()

	ctx := context.Background()
	key := semel.Key{Scope: "tenant-7 transfer", Name: "k1"}
	if _, err := records.Cancel(ctx, operator.Identity{Name: "alice"}, key, 0, "the customer changed her mind"); err != nil {
		panic(err)
	}
	_, err := semel.Do(ctx, g, key, semel.FingerprintOf("100 EUR"), func(context.Context) (string, error) {
		return "transferred", nil
	})
	fmt.Println(errors.Is(err, semel.ErrCancelled))
	// Output: true
}

// An operator looked into the ledger and says whether a transfer happened whose
// outcome was unknown.
func ExampleRecords_Resolve() {
	store := memstore.New(nil)
	defer store.Close()
	g, records := guarded(store, nil)
	defer g.Close()

	ctx := context.Background()
	key := semel.Key{Scope: "tenant-7 transfer", Name: "k1"}
	asked := semel.FingerprintOf("100 EUR")
	transfer := func(context.Context) (string, error) {
		return "", semel.MarkUnknown(errors.New("the bank hung up"))
	}
	_, err := semel.Do(ctx, g, key, asked, transfer)
	fmt.Println(err)
	_, err = semel.Do(ctx, g, key, asked, transfer)
	fmt.Println("refused:", errors.Is(err, semel.ErrUnknown))

	seen, err := g.Lookup(ctx, key)
	if err != nil {
		panic(err)
	}
	_, err = records.Resolve(ctx, operator.Identity{Name: "alice"}, seen.Digest, seen.Fence, semel.Settlement{State: semel.StateReleased, Note: "not in the ledger"})
	fmt.Println("resolved:", err)
	done, err := semel.Do(ctx, g, key, asked, func(context.Context) (string, error) { return "transferred", nil })
	fmt.Println(done, err)
	// Output:
	// the bank hung up
	// refused: true
	// resolved: <nil>
	// transferred <nil>
}

// bankSays is a policy that asks the bank whether a transfer happened.
func bankSays() semel.Policy {
	return semel.Policy{
		OnUnknown: semel.Reconcile,
		Reconcile: func(_ context.Context, rec semel.Record) (semel.Reconciliation, error) {
			// … ask the bank for rec.Name …
			return semel.Reconciliation{Verdict: semel.Happened, Outcome: []byte("transfer 17"), Kept: true}, nil
		},
	}
}

// A connection broke off before the bank answered. A job that runs every so often
// finds out whether it has transferred.
func ExampleRecords_ReconcileUnknown() {
	store := memstore.New(nil)
	defer store.Close()
	key := semel.Key{Scope: "tenant-7 transfer", Name: "k1"}
	g, records := guarded(store, &semel.Options{Policy: bankSays()})
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
		report, err := records.ReconcileUnknown(ctx, operator.Unattended{MinPause: time.Millisecond})
		if err != nil {
			panic(err)
		}
		found = report.Happened
	}
	_, rec, err := g.Begin(ctx, key, asked)
	fmt.Printf("%s %v\n", rec.Outcome, err)
	// Output: transfer 17 <nil>
}

// The same in the background, for as long as the guard lives.
func ExampleRecords_ReconcileInBackground() {
	store := memstore.New(nil)
	defer store.Close()
	key := semel.Key{Scope: "tenant-7 transfer", Name: "k1"}
	told := make(chan semel.ReconcileInfo, 1)
	g, records := guarded(store, &semel.Options{
		Policy: bankSays(),
		Trace:  &semel.Trace{Reconciled: func(_ context.Context, info semel.ReconcileInfo) { told <- info }},
	})
	defer g.Close()
	if err := records.ReconcileInBackground(operator.Unattended{Every: time.Millisecond, MinPause: time.Millisecond}); err != nil {
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

// guarded returns a guard on the store, and what its operators work with.
func guarded(store semel.Store, opts *semel.Options) (*semel.Guard, *operator.Records) {
	g, err := semel.New(store, opts)
	if err != nil {
		panic(err)
	}
	records, err := operator.New(g, nil)
	if err != nil {
		panic(err)
	}
	return g, records
}
