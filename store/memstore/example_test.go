package memstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// A store only remembers; use it through a semel.Guard.
func Example() {
	ctx := context.Background()
	store := memstore.New(nil)
	defer store.Close()

	key := semel.Key{Scope: "alice POST /invoices", Name: "8e03978e"}
	first := semel.ClaimParams{Digest: key.Digest(), Owner: semel.Owner{1}, Lease: time.Minute, Retention: time.Hour}
	second := semel.ClaimParams{Digest: key.Digest(), Owner: semel.Owner{2}, Lease: time.Minute, Retention: time.Hour}

	rec, won, _ := store.Claim(ctx, first)
	fmt.Println("first:", won, rec.State)
	rec, won, _ = store.Claim(ctx, second)
	fmt.Println("second:", won, rec.State)

	err := store.Settle(ctx, rec.Digest, rec.Fence, semel.Settlement{
		State: semel.StateCompleted, Outcome: []byte("invoice 1"), Kept: true, Retention: time.Hour,
	})
	fmt.Println("settled:", err)
	rec, won, _ = store.Claim(ctx, second)
	fmt.Printf("second: %v %v %s\n", won, rec.State, rec.Outcome)
	// Output:
	// first: true claimed
	// second: false claimed
	// settled: <nil>
	// second: false completed invoice 1
}

func ExampleOptions() {
	ctx := context.Background()
	store := memstore.New(&memstore.Options{MaxRecords: 1})
	defer store.Close()
	for _, name := range []string{"a", "b"} {
		_, won, err := store.Claim(ctx, semel.ClaimParams{
			Digest: semel.Key{Scope: semel.ScopeGlobal, Name: name}.Digest(),
			Owner:  semel.Owner{1}, Lease: time.Minute, Retention: time.Hour,
		})
		fmt.Println(name, won, err)
	}
	// Output:
	// a true <nil>
	// b false memstore: semel: store is full: 1 records are kept (raise Options.MaxRecords or shorten the retention)
}
