package semelhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// A phone that lost the answer asks for the outcome of its order, before it
// sends it again.
func ExampleMiddleware_StatusHandler() {
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		panic(err)
	}
	defer guard.Close()
	account := func(r *http.Request) string { return r.Header.Get("Authorization") }
	door, err := semelhttp.New(guard, semelhttp.ScopeBy(account), nil)
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", door.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
	})))
	mux.Handle("GET /.well-known/idempotency/status", door.StatusHandler()) // inside of what authenticates

	send := func(method, target, key string) string {
		r := httptest.NewRequest(method, target, http.NoBody) //nolint:noctx // an example.
		r.Header.Set("Authorization", "Bearer ann")
		r.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Body.String()
	}
	ask := func(key string) {
		about := url.Values{"method": {"POST"}, "path": {"/orders"}}
		state, _, _ := strings.Cut(send("GET", "/.well-known/idempotency/status?"+about.Encode(), key), ",")
		fmt.Println(state)
	}
	send("POST", "/orders", "k1")
	ask("k1")
	ask("k2")
	// Output:
	// {"state":"completed"
	// {"state":"absent"
}
