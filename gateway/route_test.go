package gateway_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/gateway"
)

// counting is an upstream that says how often it acted.
func counting(t *testing.T) (string, *atomic.Int32) {
	t.Helper()
	return countingWith(t, http.Header{})
}

// countingWith also sends this header.
func countingWith(t *testing.T, header http.Header) (string, *atomic.Int32) {
	t.Helper()
	var n atomic.Int32
	return upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // half a request: an application does not act on it
		}
		maps.Copy(w.Header(), header)
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprint(w, n.Add(1))
	}), &n
}

// TestDefaultRoute: without rules every POST and PATCH with a key is protected.
func TestDefaultRoute(t *testing.T) {
	t.Parallel()
	target, _ := counting(t)
	d := open(t, target, nil)
	key := []string{"Idempotency-Key", "k"}
	check(t, "first", d.send(t, http.MethodPost, "/a", "x", key...), 201, "1")
	replay := d.send(t, http.MethodPost, "/a", "x", key...)
	check(t, "replay", replay, 201, "1")
	wantWord(t, "replay", replay, "replayed")
	check(t, "other body", d.send(t, http.MethodPost, "/a", "y", key...), 422, "key-reused")
	check(t, "other path", d.send(t, http.MethodPost, "/b", "x", key...), 201, "2")
	check(t, "other method", d.send(t, http.MethodPatch, "/a", "x", key...), 201, "3")
	check(t, "other host", d.send(t, http.MethodPost, "/a", "x", append(key, "Host", "b.test")...), 201, "4")
	check(t, "PUT", d.send(t, http.MethodPut, "/a", "x", key...), 201, "5")
	check(t, "PUT again", d.send(t, http.MethodPut, "/a", "x", key...), 201, "6")
	check(t, "no key", d.send(t, http.MethodPost, "/a", "x"), 201, "7")
	check(t, "two keys", d.send(t, http.MethodPost, "/a", "x", append(key, key...)...), 400, "key-invalid")

	strict := open(t, target, func(c *gateway.Config) { c.KeyRequired = true })
	check(t, "required", strict.send(t, http.MethodPost, "/a", "x"), 400, "key-missing")
}

// TestScopes (promise 5): callers with other credentials have other keys.
func TestScopes(t *testing.T) {
	t.Parallel()
	target, _ := counting(t)
	d := openRuled(t, target, `
version: 1
routes:
  - name: strict
    match: {path: /strict}
    scope: [{header: X-Account}, {cookie: who}]
  - name: shared
    match: {path: /shared}
    scope: {constant: all}
`)
	post := func(path string, header ...string) reply {
		return d.send(t, http.MethodPost, path, "x", append(header, "Idempotency-Key", "k")...)
	}
	check(t, "anonymous", post("/"), 201, "1")
	check(t, "anonymous again", post("/"), 201, "1")
	check(t, "alice", post("/", "Authorization", "Bearer alice"), 201, "2")
	check(t, "bob", post("/", "Authorization", "Bearer bob"), 201, "3")
	check(t, "alice again", post("/", "Authorization", "Bearer alice", "Cookie", "sessionid=1"), 201, "2")
	check(t, "django", post("/", "Cookie", "a=b; sessionid=1"), 201, "4")
	check(t, "php", post("/", "Cookie", "PHPSESSID=1"), 201, "5")
	check(t, "other session", post("/", "Cookie", "sessionid=2"), 201, "6")
	check(t, "other cookie", post("/", "Cookie", "theme=dark"), 201, "1")
	check(t, "nobody", post("/strict", "Authorization", "Bearer alice"), 400, "key-invalid")
	check(t, "account", post("/strict", "X-Account", "1"), 201, "7")
	check(t, "same text elsewhere", post("/strict", "Cookie", "who=1"), 201, "8")
	check(t, "constant", post("/shared", "Authorization", "Bearer alice"), 201, "9")
	check(t, "constant for all", post("/shared", "Authorization", "Bearer bob"), 201, "9")
	check(t, "two cookies", post("/", "Cookie", "sessionid=1; sessionid=2"), 201, "10")
	check(t, "two cookies, another last", post("/", "Cookie", "sessionid=1; sessionid=3"), 201, "11")
	check(t, "two lines", post("/", "Cookie", "sessionid=1", "Cookie", "sessionid=2"), 201, "10")
	check(t, "cookie net/http drops", post("/", "Cookie", `sessionid={"user":1}`), 201, "12")
	check(t, "another of these", post("/", "Cookie", `sessionid={"user":2}`), 201, "13")
	check(t, "empty cookie", post("/", "Cookie", "sessionid="), 201, "1")
}

// TestRules sends requests through every kind of rule.
func TestRules(t *testing.T) {
	t.Parallel()
	target, n := counting(t)
	d := openRuled(t, target, `
version: 1
routes:
  - {name: off, match: {path: /off}, protect: false}
  - {name: required, match: {methods: [PUT], path: "/required/{id}"}, required: true}
  - {name: json, match: {path: /json}, key: {json_pointer: /order/id}, canonical_json: true}
  - {name: form, match: {path: /form}, key: {form_field: token}}
  - {name: hook, match: {path: /hook}, key: {webhook_id: true}, mode: dedup}
  - {name: derived, match: {path: /derived}, key: {derive: {fields: [customer, amount], cookies: [sid], window: 10s}}}
  - {name: small, match: {path: /small}, body_limit: 10B}
  - {name: short, match: {path: /short}, response_limit: 1B}
  - {name: host, match: {host: b.test, path: /host}, required: true}
  - {name: tree, match: {path: /tree/}, required: true}
`)
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	asJSON := []string{"Content-Type", "application/json"}
	steps := []struct {
		name, method, path, body string
		header                   []string
		status                   int
		word                     string // "+": one more than before, "=": what the step before got
	}{
		{"off", "POST", "/off", "x", []string{"Idempotency-Key", "k"}, 201, "+"},
		{"off again", "POST", "/off", "x", []string{"Idempotency-Key", "k"}, 201, "+"},
		{"required", "PUT", "/required/1", "x", nil, 400, "key-missing"},
		{"required, around the rule", "PUT", "//x/../required/./1", "x", nil, 400, "key-missing"},
		{"required, around it in disguise", "PUT", "/x/%2e%2E/required/%2e/1", "x", nil, 400, "key-missing"},
		{"required, escaped", "PUT", "/%72equired/1", "x", nil, 400, "key-missing"},
		{"required elsewhere", "PUT", "/required/1/2", "x", nil, 201, "+"},
		{"json", "POST", "/json", `{"order":{"id":"o-1"},"a":1}`, asJSON, 201, "+"},
		{"json reordered", "POST", "/json", `{"a":1, "order":{"id":"o-1"}}`, asJSON, 201, "="},
		{"json other", "POST", "/json", `{"a":2, "order":{"id":"o-1"}}`, asJSON, 422, "key-reused"},
		{"form", "POST", "/form", "token=t&a=1", form, 201, "+"},
		{"form again", "POST", "/form", "token=t&a=1", form, 201, "="},
		{"form without", "POST", "/form", "a=1", form, 201, "+"},
		{"hook", "POST", "/hook", "{}", []string{"Webhook-Id", "msg_1"}, 201, "+"},
		{"hook again", "POST", "/hook", "{}", []string{"Webhook-Id", "msg_1"}, 409, "duplicate"},
		{"derived", "POST", "/derived", "customer=1&amount=2&csrf=a", form, 201, "+"},
		{"derived again", "POST", "/derived", "csrf=b&amount=2&customer=1", form, 201, "="},
		{"derived other amount", "POST", "/derived", "customer=1&amount=3", form, 201, "+"},
		{"derived other query", "POST", "/derived?x=1", "customer=1&amount=3", form, 201, "+"},
		{"derived other session", "POST", "/derived", "customer=1&amount=3", append(form, "Cookie", "sid=1"), 201, "+"},
		{"small", "POST", "/small", "12345678901", []string{"Idempotency-Key", "k"}, 413, "body-too-large"},
		{"small without key", "POST", "/small", "12345678901", nil, 201, "+"},
		{"short", "POST", "/short", "", []string{"Idempotency-Key", "k"}, 201, "+"},
		{"short again", "POST", "/short", "", []string{"Idempotency-Key", "k"}, 409, "response-not-kept"},
		{"host", "POST", "/host", "", []string{"Host", "B.TEST.:80"}, 400, "key-missing"},
		{"other host", "POST", "/host", "", nil, 201, "+"},
		{"tree", "POST", "/tree/a/b", "", nil, 400, "key-missing"},
		{"tree itself", "POST", "/tree", "", nil, 400, "key-missing"},
	}
	last := ""
	for _, s := range steps {
		switch s.word {
		case "+":
			s.word = fmt.Sprint(n.Load() + 1)
		case "=":
			s.word = last
		}
		got := d.send(t, s.method, s.path, s.body, s.header...)
		check(t, s.name, got, s.status, s.word)
		last = got.body
	}
}

// TestPublishedUniqueness: the uniqueness rules are published with the routes,
// in the reader's language, without what is inside of the database.
func TestPublishedUniqueness(t *testing.T) {
	t.Parallel()
	target, _ := counting(t)
	text := "version: 1\nunique:\n  - name: invoice\n    says: One number <per> tenant.\n    table: inner_table\n    scope: [inner_tenant]\n    fields: [number]\n    index: inner_index\n"
	d := openRuled(t, target, text)
	got := d.send(t, http.MethodGet, "/.well-known/idempotency", "")
	page := d.send(t, http.MethodGet, "/.well-known/idempotency", "", "Accept", "text/html", "Accept-Language", "sv-SE, en;q=0.5")
	for body, want := range map[string]string{
		got.body: `"on_conflict": "reject"`, page.body: `<section lang="sv" aria-labelledby="unique-invoice">`,
	} {
		if !strings.Contains(body, want) || strings.Contains(body, "inner_") || strings.Contains(body, "<per>") {
			t.Errorf("want %s in %s", want, body)
		}
	}
	if vary := page.header.Get("Vary"); vary != "Accept, Accept-Language" {
		t.Errorf("Vary: %s", vary)
	}
	bare := open(t, target, func(c *gateway.Config) { c.Rules = nil }).send(t, http.MethodGet, "/.well-known/idempotency", "")
	if strings.Contains(bare.body, `"unique"`) {
		t.Errorf("without rules: %s", bare.body)
	}
}

// TestPublishedPolicy: the gateway answers for itself what callers may rely on.
func TestPublishedPolicy(t *testing.T) {
	t.Parallel()
	target, n := counting(t)
	d := openRuled(t, target, "version: 1\nroutes:\n  - {name: pay, match: {host: h.test, path: /pay}, retention: 3d}\n  - {name: off, match: {path: /off}, protect: false}\n")
	got := d.send(t, http.MethodGet, "/.well-known/idempotency", "")
	for _, want := range []string{`"name": "pay"`, `"host": "h.test"`, `"retention_seconds": 259200`, `"protected": false`, `"default": {`, "header Idempotency-Key"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("policy has no %s: %s", want, got.body)
		}
	}
	page := d.send(t, http.MethodGet, "/.well-known/idempotency", "", "Accept", "text/html,application/json;q=0.9")
	if !strings.Contains(page.body, "<td>72 hours</td>") || !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
		t.Errorf("page: %v %s", page.header, page.body)
	}
	if !strings.Contains(page.body, "a repetition is carried out; except 502, 504, 520,") {
		t.Errorf("the page promises that a lost answer is repeated: %s", page.body)
	}
	wantActed(t, n, 0)
}
