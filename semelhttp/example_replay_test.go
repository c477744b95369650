package semelhttp_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// A repetition learns nothing once its caller has lost the right to know.
func ExampleOptions_beforeReplay() {
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	employed := true
	door, err := semelhttp.New(guard, semelhttp.ScopeBy(func(*http.Request) string { return "ann" }), &semelhttp.Options{
		BeforeReplay: func(*http.Request, *semel.Record) error {
			if !employed {
				return &semelhttp.DeniedError{Err: errors.New("ann has left")}
			}
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := door.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
	}))
	pay := func() {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/salaries", strings.NewReader("100")) //nolint:noctx // an example.
		r.Header.Set("Idempotency-Key", "8e03978e")
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Idempotency-Status"))
	}
	pay()
	pay()
	employed = false
	pay()
	// Output:
	// 201 executed
	// 201 replayed
	// 403
}
