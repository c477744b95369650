package protected_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/semel-dev/semel/examples/invoices/protected"
)

// A program sends the same wish three times, and another program adds a customer
// who is there already.
func ExampleOpen() {
	app, err := protected.Open("", nil) // a private database
	if err != nil {
		fmt.Println(err)
		return
	}
	defer app.Close()
	post := func(path, key, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)) //nolint:noctx // an example.
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		app.Handler().ServeHTTP(w, r)
		return w
	}
	for range 3 {
		w := post("/api/invoices", "8e03978e", `{"customer_id": 1, "amount_cents": 125050}`)
		fmt.Println(w.Code, w.Header().Get("Location"), w.Header().Get("Idempotency-Status"))
	}
	w := post("/api/customers", "51b1e2aa", `{"name": "Ada", "email": "Accounts@Ada-Bakery.example"}`)
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "one_customer_per_email"))
	// Output:
	// 201 /api/invoices/1 executed
	// 201 /api/invoices/1 replayed
	// 201 /api/invoices/1 replayed
	// 409 true
}
