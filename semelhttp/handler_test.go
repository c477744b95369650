package semelhttp_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelhttp"
)

// counter is a handler that creates one more invoice each time it runs.
type counter struct{ ran atomic.Int64 }

func (c *counter) create(w http.ResponseWriter, _ *http.Request) {
	n := strconv.FormatInt(c.ran.Add(1), 10)
	w.Header().Set("Location", "/invoices/"+n)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write([]byte(`{"id":` + n + `}`))
}

func (c *counter) wantRan(t *testing.T, promise string, want int64) {
	t.Helper()
	if got := c.ran.Load(); got != want {
		t.Errorf("%s: the handler ran %d times, want %d", promise, got, want)
	}
}

func wantOutcomes(t *testing.T, d *door, want ...outcomelog.Outcome) {
	t.Helper()
	if diff := cmp.Diff(want, d.outcomes()); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

func wantProblem(t *testing.T, got *reply, status int, name string) {
	t.Helper()
	if got.status != status || got.problem() != name {
		t.Errorf("got %d %q (%s), want %d %q", got.status, got.problem(), got.body, status, name)
	}
}

// wantReplay checks that second is first again (promise 2).
func wantReplay(t *testing.T, first, second *reply) {
	t.Helper()
	if second.word() != "replayed" || second.header.Get(semelhttp.ReplayedHeader) != "true" {
		t.Errorf("promise 2: got %d %v %q, want a replay", second.status, second.header, second.body)
	}
	a, b := *first, *second
	a.header, b.header = first.header.Clone(), second.header.Clone()
	for _, h := range []http.Header{a.header, b.header} { // it says that the second is a replay
		h["Set-Cookie"] = slices.DeleteFunc(h["Set-Cookie"], func(line string) bool { return strings.HasPrefix(line, "semel_outcome=") })
		if len(h["Set-Cookie"]) == 0 {
			delete(h, "Set-Cookie")
		}
	}
	for _, name := range []string{semelhttp.StatusHeader, semelhttp.ReplayedHeader, "Date", "Age"} {
		a.header.Del(name)
		b.header.Del(name)
	}
	if diff := cmp.Diff(a, b, cmp.AllowUnexported(reply{})); diff != "" {
		t.Errorf("promise 2: replay (-first +second):\n%s", diff)
	}
}

// TestReplay: promise 2, the first and the second row of the table.
func TestReplay(t *testing.T) {
	t.Parallel()
	d, server, invoices := serveInvoices(t, doorOptions{})
	first := ask(t, server, "k1", `{"amount":1}`)
	if first.status != http.StatusCreated || first.word() != "executed" {
		t.Errorf("first: got %d %q, want 201 executed", first.status, first.word())
	}
	wantReplay(t, first, ask(t, server, "k1", `{"amount":1}`))
	invoices.wantRan(t, "promise 2", 1)
	wantOutcomes(t, d, "executed", "replayed")
}

// TestMismatch: promise 6, whatever differs.
func TestMismatch(t *testing.T) {
	t.Parallel()
	_, server, invoices := serveInvoices(t, doorOptions{
		scope:   func(*http.Request) (string, error) { return semel.ScopeGlobal, nil },
		Options: semelhttp.Options{Fingerprint: semelhttp.FingerprintOptions{Headers: []string{"x-tenant"}}},
	})
	ask(t, server, "k1", "secret answer", "X-Tenant", "a", "Content-Type", "text/plain")
	for name, r := range map[string]*http.Request{
		"body":         newAsk(t, server.URL+"/invoices", "other", "X-Tenant", "a", "Content-Type", "text/plain"),
		"path":         newAsk(t, server.URL+"/other", "secret answer", "X-Tenant", "a", "Content-Type", "text/plain"),
		"query":        newAsk(t, server.URL+"/invoices?a=1", "secret answer", "X-Tenant", "a", "Content-Type", "text/plain"),
		"content type": newAsk(t, server.URL+"/invoices", "secret answer", "X-Tenant", "a", "Content-Type", "text/html"),
		"header":       newAsk(t, server.URL+"/invoices", "secret answer", "X-Tenant", "b", "Content-Type", "text/plain"),
		"header twice": newAsk(t, server.URL+"/invoices", "secret answer", "X-Tenant", "a", "X-Tenant", "a", "Content-Type", "text/plain"),
		"no header":    newAsk(t, server.URL+"/invoices", "secret answer", "Content-Type", "text/plain"),
	} {
		r.Header.Set("Idempotency-Key", "k1")
		got := sendAsk(t, server, r)
		wantProblem(t, got, http.StatusUnprocessableEntity, "key-reused")
		if strings.Contains(got.body, `"id"`) || strings.Contains(got.body, "location") || strings.Contains(got.body, "recorded") {
			t.Errorf("promise 6: another %s reveals the answer: %s", name, got.body)
		}
	}
	other := newAsk(t, server.URL+"/invoices", "secret answer", "X-Tenant", "a", "Content-Type", "text/plain", "Idempotency-Key", "k1")
	other.Method = http.MethodPatch
	wantProblem(t, sendAsk(t, server, other), http.StatusUnprocessableEntity, "key-reused")
	invoices.wantRan(t, "promise 6", 1)
}

// TestRequired: the fifth row.
func TestRequired(t *testing.T) {
	t.Parallel()
	d, server, invoices := serveInvoices(t, doorOptions{Options: semelhttp.Options{Required: true}})
	got := ask(t, server, "", "x")
	wantProblem(t, got, http.StatusBadRequest, "key-missing")
	if link := got.header.Get("Link"); link != `</.well-known/idempotency>; rel="describedby"` {
		t.Errorf("Link: got %q", link)
	}
	invoices.wantRan(t, "required", 0)
	wantOutcomes(t, d, "key-missing")
}

// TestWithoutKey: optional keys and other methods pass untouched.
func TestWithoutKey(t *testing.T) {
	t.Parallel()
	d, server, invoices := serveInvoices(t, doorOptions{})
	for range 2 {
		if got := ask(t, server, "", "x"); got.status != http.StatusCreated || got.word() != "" {
			t.Errorf("got %d %q, want 201 and no word", got.status, got.word())
		}
	}
	get := newAsk(t, server.URL, "", "Idempotency-Key", "k1", "Idempotency-Key", "k2")
	get.Method = http.MethodGet
	if got := sendAsk(t, server, get); got.status != http.StatusCreated || got.word() != "" {
		t.Errorf("GET: got %d %q, want 201 and no word", got.status, got.word())
	}
	invoices.wantRan(t, "no key", 3)
	wantOutcomes(t, d)
}

// TestCancelled: the last row.
func TestCancelled(t *testing.T) {
	t.Parallel()
	d, server, invoices := serveInvoices(t, doorOptions{scope: func(*http.Request) (string, error) { return "s", nil }})
	if _, err := must.Get(operator.New(d.guard, nil)).Cancel(t.Context(), operator.Identity{Name: "alice"}, semel.Key{Scope: "s", Name: "k1"}, 0, "no more"); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "cancelled")
	invoices.wantRan(t, "cancelled", 0)
}

// TestUnknown: the sixth row, after the holder crashed.
func TestUnknown(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{Options: semelhttp.Options{On5xx: semelhttp.UnknownOn5xx}})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		invoices.ran.Add(1)
		w.WriteHeader(http.StatusBadGateway)
	})
	if got := ask(t, server, "k1", "x"); got.status != http.StatusBadGateway || got.word() != "unknown" {
		t.Errorf("got %d %q, want 502 unknown", got.status, got.word())
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "outcome-unknown")
	invoices.wantRan(t, "promise 3", 1)
	wantOutcomes(t, d, "unknown", "unknown")
}

// TestDedupMode: a duplicate is stopped and told so.
func TestDedupMode(t *testing.T) {
	t.Parallel()
	_, server, invoices := serveInvoices(t, doorOptions{policy: semel.Policy{Dedup: true}})
	ask(t, server, "k1", "x")
	got := ask(t, server, "k1", "x")
	wantProblem(t, got, http.StatusConflict, "duplicate")
	if !strings.Contains(got.body, `"location":"/invoices/1"`) || !strings.Contains(got.body, `"recorded_status":201`) {
		t.Errorf("got %s, want what was recorded", got.body)
	}
	invoices.wantRan(t, "dedup mode", 1)
}

// TestQuota: promise 8. A caller over its quota gets 429, and is still given
// what it has; another caller does not notice.
func TestQuota(t *testing.T) {
	t.Parallel()
	var invoices counter
	caller := func(r *http.Request) (string, error) { return r.Header.Get("Caller"), nil }
	d := newDoor(t, doorOptions{scope: caller, quota: 1})
	server := d.serve(t, invoices.create)
	of := func(who, key string) *reply { return ask(t, server, key, "x", "Caller", who) }
	first := of("a", "k1")
	over := of("a", "k2")
	wantProblem(t, over, http.StatusTooManyRequests, "quota-exceeded")
	if over.header.Get("Retry-After") == "" {
		t.Error("the refusal does not say when to come again")
	}
	wantReplay(t, first, of("a", "k1"))
	if got := of("b", "k2"); got.word() != "executed" {
		t.Errorf("another caller: got %d %q, want executed", got.status, got.word())
	}
	invoices.wantRan(t, "promise 8", 2)
	wantOutcomes(t, d, "executed", "quota", "replayed", "executed")
}
