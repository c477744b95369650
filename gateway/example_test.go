package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/store/memstore"
)

// An application that creates an invoice for every POST, behind the gateway.
func Example() {
	invoices := 0
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		invoices++
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "invoice %d", invoices)
	}))
	defer application.Close()

	store := memstore.New(nil)
	defer store.Close()
	g, err := gateway.New(&gateway.Config{Upstream: application.URL, Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()

	for range 2 {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/invoices", strings.NewReader("amount=12"))
		r.Header.Set("Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324")
		w := httptest.NewRecorder()
		g.Handler().ServeHTTP(w, r)
		body, _ := io.ReadAll(w.Body)
		fmt.Println(w.Code, string(body), w.Header().Get("Idempotency-Status"))
	}
	// Output:
	// 201 invoice 1 executed
	// 201 invoice 1 replayed
}
