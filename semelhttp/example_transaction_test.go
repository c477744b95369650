package semelhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// With a Transactor the handler writes its rows in a transaction that it finds
// in the context of its request. They commit together with the recorded answer,
// and an answer that says that it failed rolls them back. A database in memory
// replaces a real one, such as that of pgstore's Store.Transactor.
func ExampleOptions_transactor() {
	db := memdb.New(memstore.New(nil), nil)
	defer db.Close()
	guard, err := semel.New(db, nil)
	if err != nil {
		panic(err)
	}
	defer guard.Close()

	attempt := 0
	create := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		attempt++
		if err := db.Insert(r.Context(), "book"); err != nil || attempt == 1 {
			http.Error(w, "the printer is on fire", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "ordered")
	})
	account := func(r *http.Request) string { return r.Header.Get("Authorization") }
	door, err := semelhttp.New(guard, semelhttp.ScopeBy(account), &semelhttp.Options{Transactor: db, Required: true})
	if err != nil {
		panic(err)
	}
	for range 3 {
		r := httptest.NewRequest(http.MethodPost, "/orders", nil) //nolint:noctx // an example.
		r.Header.Set("Authorization", "Bearer ann")
		r.Header.Set("Idempotency-Key", "8e03978e")
		w := httptest.NewRecorder()
		door.Handler(create).ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Idempotency-Status"), db.Count("book"))
	}
	// Output:
	// 500 released 0
	// 201 executed 1
	// 201 replayed 1
}
