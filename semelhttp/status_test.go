package semelhttp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// statusDoor is a door with its status handler mounted.
func statusDoor(t *testing.T, o doorOptions, handler http.HandlerFunc) (*door, *httptest.Server) {
	t.Helper()
	if o.scope == nil {
		o.scope = semelhttp.ScopeBy(func(r *http.Request) string { return r.Header.Get("Authorization") })
	}
	d := newDoor(t, o)
	mux := http.NewServeMux()
	mux.Handle("/status", d.StatusHandler())
	mux.Handle("/", d.Handler(handler))
	return d, newServer(t, mux)
}

func askStatus(t *testing.T, server *httptest.Server, query string, header ...string) *reply {
	t.Helper()
	r := newAsk(t, server.URL+"/status"+query, "", header...)
	r.Method = http.MethodGet
	return sendAsk(t, server, r)
}

func stateOf(t *testing.T, got *reply) semelhttp.IntentStatus {
	t.Helper()
	var s semelhttp.IntentStatus
	if err := json.Unmarshal([]byte(got.body), &s); err != nil || got.status != http.StatusOK {
		t.Fatalf("got %d %q, want a status", got.status, got.body)
	}
	if s.Advice == "" || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("no advice, or it may be cached: %+v, %v", s, got.header)
	}
	return s
}

// TestStatus: promises 3 and 5. A caller learns the outcome of its request, and
// of no other caller's, and nothing runs.
func TestStatus(t *testing.T) {
	t.Parallel()
	const query = "?method=POST&path=/invoices"
	clock := time.Now()
	store := memstore.New(&memstore.Options{Now: func() time.Time { return clock }})
	running, goOn := make(chan struct{}), make(chan struct{})
	d, server := statusDoor(t, doorOptions{store: store}, func(w http.ResponseWriter, r *http.Request) {
		switch body, _ := io.ReadAll(r.Body); string(body) {
		case "slow":
			close(running)
			<-goOn
		case "lost":
			semelhttp.Dispose(r.Context(), semel.StateUnknown, "test")
		case "long":
			_, _ = w.Write(make([]byte, 2<<20))
		}
	})
	status := func(key, who string) semelhttp.IntentStatus {
		return stateOf(t, askStatus(t, server, query, "Idempotency-Key", key, "Authorization", who))
	}
	for body, want := range map[string]semelhttp.IntentStatus{
		"quick": {State: "completed", Attempt: 1, Kept: true},
		"long":  {State: "completed", Attempt: 1},
		"lost":  {State: "unknown", Attempt: 1},
	} {
		key := `"` + body + `"`
		if s := status(key, "me"); s.State != "absent" || s.Attempt != 0 {
			t.Errorf("%s before: got %+v, want absent", body, s)
		}
		ask(t, server, key, body, "Authorization", "me")
		s := status(key, "me")
		if s.State != want.State || s.Attempt != want.Attempt || s.Kept != want.Kept || s.ExpiresInSeconds <= 0 {
			t.Errorf("%s: got %+v, want %+v", body, s, want)
		}
		if s := status(key, "somebody else"); s != stateOf(t, askStatus(t, server, query, "Idempotency-Key", "never", "Authorization", "me")) {
			t.Errorf("promise 5: another scope sees %+v", s)
		}
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		ask(t, server, "slow", "slow", "Authorization", "me")
	}()
	defer func() {
		close(goOn)
		<-answered
	}()
	<-running
	if s := status("slow", "me"); s.State != "in-flight" {
		t.Errorf("running: got %+v", s)
	}
	if _, err := must.Get(operator.New(d.guard, nil)).Cancel(t.Context(), operator.Identity{Name: "alice"}, semel.Key{Scope: scopeOfInvoices(t, server, "me"), Name: "late"}, 0, "void"); err != nil {
		t.Fatal(err)
	}
	if s := status("late", "me"); s.State != "cancelled" {
		t.Errorf("cancelled: got %+v", s)
	}
}

// scopeOfInvoices is the scope of the request that ask sends.
func scopeOfInvoices(t *testing.T, server *httptest.Server, who string) string {
	t.Helper()
	r := newAsk(t, server.URL+"/invoices", "", "Authorization", who)
	return must.Get(semelhttp.ScopeBy(func(*http.Request) string { return who })(r))
}

// TestStatusRefuses: an invalid question gets a reason, in plain words.
func TestStatusRefuses(t *testing.T) {
	t.Parallel()
	_, server := statusDoor(t, doorOptions{}, func(http.ResponseWriter, *http.Request) {})
	me := []string{"Authorization", "me", "Idempotency-Key", "k"}
	for name, tt := range map[string]struct {
		query  string
		header []string
		want   string
	}{
		"no path":         {"?method=POST", me, "parameter path"},
		"relative path":   {"?path=orders", me, "parameter path"},
		"absolute URL":    {"?path=//elsewhere.test/orders", nil, ""},
		"twice":           {"?path=/a&path=/b", me, "each once"},
		"another":         {"?path=/a&key=k", me, "each once"},
		"broken query":    {"?path=%zz", me, "query"},
		"no key":          {"?path=/a", me[:2], "header Idempotency-Key"},
		"bad key":         {"?path=/a", []string{"Authorization", "me", "Idempotency-Key", "a,b"}, "not valid"},
		"keyless method":  {"?path=/a&method=GET", me, "no keys"},
		"no credentials":  {"?path=/a", me[2:], "credentials"},
		"not a method":    {"?path=/a&method=%0d%0a", me, "no keys"},
		"key in the path": {"?path=/a&Idempotency-Key=k", me, "each once"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := askStatus(t, server, tt.query, tt.header...)
			wantProblem(t, got, http.StatusBadRequest, "status-invalid")
			if !strings.Contains(got.body, tt.want) {
				t.Errorf("the reason is %s, want %q", got.body, tt.want)
			}
		})
	}
	wantProblem(t, sendAsk(t, server, newAsk(t, server.URL+"/status?path=/a", "x", me...)), http.StatusMethodNotAllowed, "method-not-allowed")
}

// TestStatusIsRateLimited: promise 8. Asking all the time is refused, for one
// scope and not for the others.
func TestStatusIsRateLimited(t *testing.T) {
	t.Parallel()
	_, server := statusDoor(t, doorOptions{}, func(http.ResponseWriter, *http.Request) {})
	var last *reply
	for range 100 {
		if last = askStatus(t, server, "?path=/invoices", "Authorization", "me", "Idempotency-Key", "k"); last.status != http.StatusOK {
			break
		}
	}
	wantProblem(t, last, http.StatusTooManyRequests, "quota-exceeded")
	if last.header.Get("Retry-After") == "" {
		t.Error("the refusal does not say when to ask again")
	}
	stateOf(t, askStatus(t, server, "?path=/invoices", "Authorization", "you", "Idempotency-Key", "k"))
}

// TestStatusWithoutStore: promise 10's answer, for a question.
func TestStatusWithoutStore(t *testing.T) {
	t.Parallel()
	d, server := statusDoor(t, doorOptions{}, func(http.ResponseWriter, *http.Request) {})
	noError(t, d.store.Close())
	wantProblem(t, askStatus(t, server, "?path=/invoices", "Authorization", "me", "Idempotency-Key", "k"), http.StatusServiceUnavailable, "store-unavailable")
}
