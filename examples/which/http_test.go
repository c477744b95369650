package which_test

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

const formRules = `
version: 1
routes:
  - name: orders
    match: {methods: [POST], path: /orders}
    form: true
`

// A page with a form, of an application that knows nothing of keys.
func Example_form() {
	orders := 0
	mux := http.NewServeMux()
	mux.HandleFunc("GET /new", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<form method="post" action="/orders"><input name="item" value="tea"><button>Order</button></form>`)
	})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		orders++
		http.Redirect(w, r, fmt.Sprint("/orders/", orders), http.StatusSeeOther)
	})
	application := httptest.NewServer(mux)
	defer application.Close()

	file, err := rules.Parse("rules.yaml", []byte(formRules))
	check(err)
	gw, err := gateway.New(&gateway.Config{Upstream: application.URL, Store: memstore.New(nil), Rules: file})
	check(err)
	defer gw.Close()

	page := do(gw.Handler(), http.MethodGet, "/new", "")
	token := regexp.MustCompile(`name="?_semel"? value="?([^"> ]+)`).FindStringSubmatch(page.Body.String())[1]
	body := url.Values{"item": {"tea"}, "_semel": {html.UnescapeString(token)}}.Encode()
	for range 2 { // a double click
		w := do(gw.Handler(), http.MethodPost, "/orders", body, func(r *http.Request, _ string) {
			for _, c := range page.Result().Cookies() {
				r.AddCookie(c)
			}
		})
		fmt.Println(w.Code, w.Header().Get("Location"))
	}
	fmt.Println(orders, "order")
	// Output:
	// 303 /orders/1
	// 303 /orders/1
	// 1 order
}

// A create over HTTP, whose caller sends a key.
func Example_httpCreate() {
	guard, err := semel.New(memstore.New(nil), nil)
	check(err)
	defer guard.Close()
	orders := 0
	create := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		orders++
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "order ", orders)
	})

	caller := func(r *http.Request) string { return r.Header.Get("Authorization") } // each has keys of its own
	door, err := semelhttp.New(guard, semelhttp.ScopeBy(caller), nil)
	check(err)
	handler := door.Handler(create)

	for _, item := range []string{"tea", "tea", "coffee"} { // the second is a retry, the third a mistake
		w := do(handler, http.MethodPost, "/orders", item)
		fmt.Println(w.Code, cmp.Or(w.Header().Get("Idempotency-Status"), "refused"))
	}
	fmt.Println(orders, "order")
	// Output:
	// 201 executed
	// 201 replayed
	// 422 refused
	// 1 order
}

// do sends a request of Ada's, with a key unless it is a form.
func do(h http.Handler, method, path, body string, changes ...func(r *http.Request, body string)) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer ada")
	if strings.Contains(body, "=") {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		r.Header.Set("Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324")
	}
	for _, change := range changes {
		change(r, body)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	_, _ = io.Copy(io.Discard, r.Body)
	return w
}
