package semelhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// A handler that creates an invoice, called twice with one key, creates one.
func Example() {
	store := memstore.New(nil)
	defer store.Close()
	guard, err := semel.New(store, nil)
	if err != nil {
		panic(err)
	}
	defer guard.Close()

	invoices := 0
	create := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		invoices++
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "invoice %d", invoices)
	})
	account := func(r *http.Request) string { return r.Header.Get("Authorization") }
	door, err := semelhttp.New(guard, semelhttp.ScopeBy(account), nil)
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /invoices", door.Handler(create)) // inside of what authorises
	mux.Handle("GET /.well-known/idempotency", door.PolicyHandler())

	for range 2 { // an impatient person
		r := httptest.NewRequest(http.MethodPost, "/invoices", strings.NewReader(`{"amount":12}`)) //nolint:noctx // an example.
		r.Header.Set("Authorization", "Bearer ann")
		r.Header.Set("Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body, w.Header().Get("Idempotency-Status"))
	}
	// Output:
	// 201 invoice 1 executed
	// 201 invoice 1 replayed
}

// A handler that knows better than its status says so.
func ExampleDispose() {
	charge := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The bank did not answer: it may have taken the money.
		semelhttp.Dispose(r.Context(), semel.StateUnknown, "the bank timed out")
		w.WriteHeader(http.StatusGatewayTimeout)
	})
	store := memstore.New(nil)
	defer store.Close()
	guard, err := semel.New(store, &semel.Options{Policy: semel.PaymentPolicy()})
	if err != nil {
		panic(err)
	}
	defer guard.Close()
	scope := func(*http.Request) (string, error) { return semel.ScopeGlobal, nil }
	door, err := semelhttp.New(guard, scope, nil)
	if err != nil {
		panic(err)
	}
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/charges", nil) //nolint:noctx // an example.
		r.Header.Set("Idempotency-Key", "order-17")
		w := httptest.NewRecorder()
		door.Handler(charge).ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Idempotency-Status"), strings.Contains(w.Body.String(), "outcome-unknown"))
	}
	// Output:
	// 504 unknown false
	// 409  true
}
