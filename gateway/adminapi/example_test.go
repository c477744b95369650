package adminapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

// An operator cancels an order before the request for it has arrived.
func ExampleNew() {
	ctx := context.Background()
	store := memstore.New(nil)
	defer store.Close()
	guard, err := semel.New(store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()

	alice, err := adminapi.NewToken("alice", "5c1f0e0a9d3b47e2b1a6f7c8d9e0f1a2", false)
	if err != nil {
		fmt.Println(err)
		return
	}
	api, err := adminapi.New(guard, &adminapi.Options{Tokens: []adminapi.Token{alice}})
	if err != nil {
		fmt.Println(err)
		return
	}

	r := httptest.NewRequestWithContext(ctx, http.MethodDelete, "/v1/records?scope=shop&name=order-8&reason=void", nil)
	r.Header.Set("Authorization", "Bearer 5c1f0e0a9d3b47e2b1a6f7c8d9e0f1a2")
	answer := httptest.NewRecorder()
	api.ServeHTTP(answer, r)
	fmt.Println(answer.Code)

	_, _, err = guard.Begin(ctx, semel.Key{Scope: "shop", Name: "order-8"}, semel.FingerprintOf("item=8"))
	fmt.Println(err)
	records, err := operator.New(guard, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	trail, _ := records.Audit(ctx, operator.AuditParams{})
	fmt.Println(trail.Entries[0].Operator.Name, trail.Entries[0].Act, trail.Entries[0].Reason)
	// Output:
	// 200
	// begin a78716cc: semel: intent was cancelled
	// alice cancel void
}
