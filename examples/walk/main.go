// Command walk sends one fresh POST to a handler on a store in memory ("walk post DIR"), or fetches a page with a form
// through the gateway and submits it ("walk form DIR"), and writes the coverage of these requests alone below DIR.
// scripts/walk builds it with -cover, and counts what they cross.
package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"runtime/coverage"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

const formRules = `version: 1
routes:
  - name: invoices
    match: {methods: [POST], path: /invoices}
    form: true
`

func main() {
	walk := map[string]func() func(){"post": post, "form": form}[os.Args[1]]
	cross := walk()
	must.Succeed(coverage.ClearCounters(), "count coverage")
	cross()
	must.Succeed(coverage.WriteMetaDir(os.Args[2]), "count coverage")
	must.Succeed(coverage.WriteCountersDir(os.Args[2]), "count coverage")
}

// post returns a POST with a key to a handler behind the middleware.
func post() func() {
	guard := must.Get(semel.New(memstore.New(nil), &semel.Options{SweepEvery: -1}))
	door := must.Get(semelhttp.New(guard, semelhttp.ScopeBy(func(*http.Request) string { return "ann" }), nil))
	handler := door.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))
	return func() {
		r := request(http.MethodPost, "/invoices", "amount=12")
		r.Header.Set("Idempotency-Key", "8e03978e")
		want(send(handler, r), http.StatusCreated, "executed")
	}
}

// form returns a page of an application and the submission of its form, through a gateway.
func form() func() {
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Redirect(w, r, "/invoices/1", http.StatusSeeOther)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<form method="post" action="/invoices"><input name="amount"><button>Send</button></form>`)
	}))
	file := must.Get(rules.Parse("semel.yaml", []byte(formRules)))
	handler := must.Get(gateway.New(&gateway.Config{Upstream: application.URL, Store: memstore.New(nil), Rules: file, Guard: semel.Options{SweepEvery: -1}})).Handler()
	token := regexp.MustCompile(`name="_semel" value="([^"]+)"`)
	return func() {
		page := send(handler, request(http.MethodGet, "/new", ""))
		fields := url.Values{"amount": {"12"}, "_semel": {token.FindStringSubmatch(page.Body.String())[1]}}
		submission := request(http.MethodPost, "/invoices", fields.Encode())
		submission.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, cookie := range page.Result().Cookies() {
			submission.AddCookie(cookie)
		}
		want(send(handler, submission), http.StatusSeeOther, "executed")
	}
}

func request(method, path, body string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	r.Header.Set("Accept", "text/html")
	return r
}

func send(handler http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// want ends the program when a request was not carried out: then the counts would be of a refusal.
func want(w *httptest.ResponseRecorder, status int, word string) {
	if got := w.Header().Get("Idempotency-Status"); w.Code != status || got != word {
		log.Fatalf("got %d %q: %s", w.Code, got, w.Body)
	}
}
