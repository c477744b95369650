package check_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/semelhttp"
)

// booth sells tickets: one for each POST with a seat. It refuses callers without an account, and requests that it
// cannot parse.
type booth struct {
	takes  time.Duration // for one sale
	unique bool          // a seat is sold once: 409
	open   bool          // to people without an account

	mu    sync.Mutex // guards the fields below
	sales []string   // seats
}

// ticket is the content of a request.
type ticket struct {
	Seat json.RawMessage `json:"seat"`
}

func (b *booth) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !b.open && caller(r) == "" {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	var wanted ticket
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &wanted) != nil || len(wanted.Seat) == 0 {
		http.Error(w, "which seat?", http.StatusBadRequest)
		return
	}
	select {
	case <-r.Context().Done():
		return
	case <-time.After(b.takes):
	}
	n, sold := b.sell(string(wanted.Seat))
	if sold {
		http.Error(w, fmt.Sprintf("ticket-%07d has that seat", n), http.StatusConflict)
		return
	}
	w.Header().Set("Location", fmt.Sprintf("/tickets/%07d", n))
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"id":"ticket-%07d"}`, n)
}

// sell records a sale, unless the seat is sold, and returns its number.
func (b *booth) sell(seat string) (n int, sold bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := slices.Index(b.sales, seat); b.unique && at >= 0 {
		return at + 1, true
	}
	b.sales = append(b.sales, seat)
	return len(b.sales), false
}

// The sales are a counter.
func (b *booth) Name() string    { return "the sales" }
func (b *booth) PerIntent() bool { return false }
func (b *booth) Count(context.Context, func(string) string) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(len(b.sales)), nil
}

// caller returns the account of a request; empty if it names none.
func caller(r *http.Request) string {
	if account, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return account
	}
	if cookie, err := r.Cookie("session"); err == nil {
		return cookie.Value
	}
	return ""
}

// account is caller for ScopeBy, which refuses an empty scope.
func account(r *http.Request) string { return caller(r) + "." }

// bearer returns a user of the booth.
func bearer(name string) *check.User {
	return &check.User{Header: []wire.Field{{Name: "Authorization", Value: "Bearer " + name}}}
}

// guarded puts Semel's middleware in front of the booth. Callers without an account are refused before it.
func guarded(t *testing.T, b *booth, policy semel.Policy, o *semelhttp.Options) http.Handler {
	t.Helper()
	return front(b, behind(t, nil, b, policy, o))
}

// front refuses those without an account, before anything else.
func front(b *booth, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !b.open && caller(r) == "" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func behind(t *testing.T, store semel.Store, app http.Handler, policy semel.Policy, o *semelhttp.Options) http.Handler {
	t.Helper()
	return middleware(t, store, policy, account, o).Handler(app)
}

// visit runs the checks of races, scopes, unique values and refusals against a booth.
func visit(t *testing.T, b check.Counter, handler http.Handler, edit func(*check.Config)) *check.Report {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	profile, _ := check.ProfileNamed("ietf")
	config := check.Config{
		Template: check.Template{
			Method: "POST", URL: server.URL + "/tickets", Body: []byte(`{"seat":{{n}}}`),
			Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
		},
		Profile: profile, Counters: []check.Counter{b}, User: bearer("ann"), Other: bearer("bob"),
		Level: check.LevelStrict, Only: []string{"race", "scope", "uniq", "ERR-01", "ERR-02", "ERR-05"},
		Parallel: 20, Rate: 5000, Timeout: 5 * time.Second, Settle: 150 * time.Millisecond,
	}
	if edit != nil {
		edit(&config)
	}
	return run(t.Context(), t, config)
}

// failsOnly compares the failed checks, and expects all others to be judged.
func failsOnly(t *testing.T, report *check.Report, failing ...string) {
	t.Helper()
	wantHaving(t, report, check.Fail, failing)
	if left := having(report, check.Incomplete); len(left) > 0 {
		t.Errorf("incomplete: %v", left)
	}
	if t.Failed() {
		explain(t, report)
	}
}

// passes fails the test unless the checks were judged at all.
func passes(t *testing.T, report *check.Report, ids ...string) {
	t.Helper()
	passed := having(report, check.Pass)
	for _, id := range ids {
		if !slices.Contains(passed, id) {
			t.Errorf("%s did not pass", id)
		}
	}
}

// kept is a remembered answer.
type kept struct {
	status int
	header http.Header
	body   []byte
}

func record(next http.Handler, r *http.Request) kept {
	w := httptest.NewRecorder()
	next.ServeHTTP(w, r)
	return kept{w.Code, w.Header(), w.Body.Bytes()}
}

// peek reads the body of a request, and leaves it readable.
func peek(r *http.Request) []byte {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

func (k kept) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), k.header)
	w.WriteHeader(k.status)
	_, _ = w.Write(k.body)
}
