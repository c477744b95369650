package semelhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// An application that renders its own forms puts a token into each. The same form sent
// twice is one intent, and edited it is another.
func ExampleFormTokens() {
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	session := func(*http.Request) string { return "ann's session" }
	tokens, err := semelhttp.NewFormTokens([][]byte{[]byte("32 random bytes, the same always")}, semelhttp.FormTokenOptions{
		Form: "invoice", Lifetime: 24 * time.Hour,
		Senders: func(r *http.Request, _ []string) []string { return []string{session(r)} },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	door, err := semelhttp.New(guard, semelhttp.ScopeBy(session), &semelhttp.Options{
		Key: tokens, Required: true, Fingerprint: semelhttp.FingerprintOptions{Func: tokens.Fingerprint},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := door.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	send := func(token, amount string) {
		form := url.Values{semelhttp.FormTokenField: {token}, "amount": {amount}}
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/invoices", strings.NewReader(form.Encode())) //nolint:noctx // an example.
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get(semelhttp.StatusHeader))
	}
	token := tokens.Mint("ann's session")
	send(token, "100")
	send(token, "100")
	send(token, "120")
	send(tokens.Mint("bob's session"), "100")
	// Output:
	// 200 executed
	// 200 replayed
	// 200 executed
	// 409
}
