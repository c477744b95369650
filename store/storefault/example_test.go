package storefault_test

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storefault"
)

// The reply to the first settlement is lost, although it was recorded. The
// repetition finds that nothing is left to do.
func ExampleWrap() {
	ctx := context.Background()
	store := storefault.Wrap(memstore.New(nil), storefault.Plan{
		Faults: []storefault.Fault{{Verb: storefault.Settle, N: 1, Kind: storefault.FailAfter}},
	})
	defer store.Close()

	claim, _, err := store.Claim(ctx, semel.ClaimParams{
		Digest:    semel.Key{Scope: semel.ScopeGlobal, Name: "invoice 7"}.Digest(),
		Owner:     semel.Owner{1},
		Lease:     time.Minute,
		Retention: time.Hour,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome := semel.Settlement{State: semel.StateCompleted, Outcome: []byte("paid"), Kept: true, Retention: time.Hour}
	fmt.Println(store.Settle(ctx, claim.Digest, claim.Fence, outcome))
	fmt.Println(store.Settle(ctx, claim.Digest, claim.Fence, outcome))
	// Output:
	// storefault: injected failure: settle 1 after it was taken
	// <nil>
}
