package gateway_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestKeyOutranksDerived (promise 2): under a rule that derives keys, a key in the request says what is one
// intent: two keys are two, with any content, and one key is one for as long as any other.
func TestKeyOutranksDerived(t *testing.T) {
	t.Parallel()
	const rule = `version: 1
routes:
  - name: invoices
    match: {methods: [POST], path: /invoices}
    key: {derive: {fields: [amount], window: 10s}}
    retention: 2h
`
	const status = "/.well-known/idempotency/status?method=POST&path=/invoices"
	for name, form := range map[string]string{"programs": "", "forms": "    form: true\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{}
			d := openShop(t, s, rule+form, nil)
			p := d.person(t)
			post := func(body string, header ...string) reply { return p.post("/invoices", body, header...) }
			wantWord(t, "one key", post("amount=1", "Idempotency-Key", "k1"), "executed")
			wantWord(t, "another key, same content", post("amount=1", "Idempotency-Key", "k2"), "executed")
			wantWord(t, "the first key again", post("amount=1", "Idempotency-Key", "k1"), "replayed")
			refused := func(what string, got reply, status int, problem string) {
				if got.status != status || !strings.Contains(got.body, `data-problem="`+problem+`"`) {
					t.Errorf("%s: got %d %s, want %d %s", what, got.status, got.body, status, problem)
				}
			}
			refused("the first key, other content", post("amount=2", "Idempotency-Key", "k1"), http.StatusUnprocessableEntity, "key-reused")
			refused("two keys", post("amount=1", "Idempotency-Key", "k1", "Idempotency-Key", "k2"), http.StatusBadRequest, "key-invalid")
			wantOnce(t, "no key", func() reply { return post("amount=1") })
			s.wantPosts(t, 3)
			got := p.get(status, "Idempotency-Key", "k1", "Accept", "application/json").body
			if !strings.Contains(got, `"completed"`) || !strings.Contains(got, `"expires_in_seconds":7`) {
				t.Errorf("the outcome of the first key: got %s, want it for two hours", got)
			}
			if form == "" {
				return
			}
			page := p.token("/new")
			wantWord(t, "a form with a key of the browser's own", post("amount=1&_semel="+page, "Idempotency-Key", "k3"), "executed")
			wantWord(t, "the same form with another", post("amount=1&_semel="+page, "Idempotency-Key", "k4"), "replayed")
			refused("a forged token for a key", post("amount=1", "Idempotency-Key", page[:len(page)-3]+"AAA"), http.StatusBadRequest, "key-invalid")
		})
	}
}

// TestBrowsersOwnKeyNamesNothing: a key that the browser adds to a form is another one for each click. It breaks no form on a
// route that reads another header, and does not part two clicks under a rule that derives keys.
func TestBrowsersOwnKeyNamesNothing(t *testing.T) {
	t.Parallel()
	const rule = `version: 1
routes:
  - name: invoices
    match: {methods: [POST], path: /invoices}
`
	clicked := func(key string) []string { return []string{"Idempotency-Key", key} }
	for name, row := range map[string]struct {
		rule, second string
		posts        int
	}{
		"another header":            {"    key: {header: X-Request-Id}\n", "", 2},
		"another header, forms":     {"    key: {header: X-Request-Id}\n    form: true\n", "", 2},
		"derived":                   {"    key: {derive: {fields: [amount], window: 10s}}\n", "replayed", 1},
		"derived, for forms":        {"    key: {derive: {fields: [amount], window: 10s}}\n    form: true\n", "replayed", 1},
		"the usual header, as ever": {"", "executed", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{}
			p := openShop(t, s, rule+row.rule, nil).person(t)
			for i, key := range []string{`"10907034174502853237"`, `"11928949335802111766"`} {
				got := p.post("/invoices", "amount=1", clicked(key)...)
				if got.status >= http.StatusBadRequest {
					t.Errorf("click %d: got %d %s", i+1, got.status, got.body)
				}
				if i == 1 && row.second != "" {
					wantWord(t, "the second click", got, row.second)
				}
			}
			s.wantPosts(t, row.posts)
		})
	}
}
