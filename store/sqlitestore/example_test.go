package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "semel-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, filepath.Join(dir, "semel.db"), nil)
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

	claim.Owner = semel.Owner{2} // a duplicate
	rec, won, err = store.Claim(ctx, claim)
	fmt.Printf("%v %v %v %s\n", rec.State, won, err, rec.Outcome)
	// Output:
	// claimed true <nil>
	// <nil>
	// completed false <nil> invoice 1
}
