package semelhttp_test

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

var noError = claimtest.NoError

// door is a middleware over a store in memory, and what it decided.
type door struct {
	*semelhttp.Middleware
	guard *semel.Guard
	store semel.Store

	mu        sync.Mutex // guards the fields below
	decisions []semelhttp.Decision
}

// doorOptions are the parts of a door that a test may replace.
type doorOptions struct {
	semelhttp.Options
	policy  semel.Policy
	store   semel.Store
	scope   semelhttp.ScopeFunc
	quota   int // of records per scope
	live    int // claims
	keys    []semel.OutcomeKey
	secrets [][]byte
	timeout time.Duration // of the store; 200 ms when zero
}

func anonymous(*http.Request) string { return "anonymous" }

func newDoor(tb testing.TB, o doorOptions) *door {
	tb.Helper()
	d := &door{store: o.store}
	if d.store == nil {
		d.store = memstore.New(nil)
	}
	tb.Cleanup(func() { _ = d.store.Close() })
	if o.scope == nil {
		o.scope = semelhttp.ScopeBy(anonymous)
	}
	guard := must.Get(semel.New(d.store, &semel.Options{
		Policy: o.policy, RecordsPerScope: o.quota, LiveClaims: o.live, StoreTimeout: cmp.Or(o.timeout, 200*time.Millisecond), OutcomeKeys: o.keys, Secrets: o.secrets,
	}))
	tb.Cleanup(func() { _ = guard.Close() })
	d.guard = guard
	tell := o.OnDecision
	o.OnDecision = func(ctx context.Context, decision semelhttp.Decision) {
		d.mu.Lock()
		d.decisions = append(d.decisions, decision)
		d.mu.Unlock()
		if tell != nil {
			tell(ctx, decision)
		}
	}
	d.Middleware = must.Get(semelhttp.New(guard, o.scope, &o.Options))
	return d
}

// outcomes returns the words of what was decided so far.
func (d *door) outcomes() []outcomelog.Outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	var words []outcomelog.Outcome
	for _, decision := range d.decisions {
		words = append(words, decision.Outcome)
	}
	return words
}

// policy returns what the door publishes.
func (d *door) policy(t *testing.T) (policy refusal.Policy) {
	t.Helper()
	claimtest.NoError(t, json.Unmarshal(d.PublishedPolicy(), &policy))
	return policy
}

// serve starts a server over HTTP/1.1; the handler is behind the door.
func (d *door) serve(tb testing.TB, handler http.HandlerFunc) *httptest.Server {
	tb.Helper()
	return newServer(tb, d.Handler(handler))
}

// serveInvoices serves a handler that creates invoices.
func serveInvoices(tb testing.TB, o doorOptions) (*door, *httptest.Server, *counter) {
	tb.Helper()
	d, invoices := newDoor(tb, o), &counter{}
	return d, d.serve(tb, invoices.create), invoices
}

// busy serves the invoices, whose creation is at work on the key k1 until finish is called.
func (d *door) busy(t *testing.T, invoices *counter) (server *httptest.Server, finish func()) {
	t.Helper()
	running, end := make(chan struct{}), make(chan struct{})
	server = d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(running) // a second run panics
		<-end
		invoices.create(w, r)
	})
	var first sync.WaitGroup
	first.Go(func() { ask(t, server, "k1", "x") })
	<-running
	return server, func() {
		close(end)
		first.Wait()
	}
}

// newServer starts a server over HTTP/1.1.
func newServer(tb testing.TB, handler http.Handler) *httptest.Server {
	tb.Helper()
	return start(tb, handler, (*httptest.Server).Start)
}

// newTLSServer starts a server over HTTP/2.
func newTLSServer(tb testing.TB, handler http.Handler) *httptest.Server {
	tb.Helper()
	return start(tb, handler, (*httptest.Server).StartTLS)
}

func start(tb testing.TB, handler http.Handler, begin func(*httptest.Server)) *httptest.Server {
	tb.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // panics are meant
	server.EnableHTTP2 = true                           // over TLS
	begin(server)
	tb.Cleanup(server.Close)
	tb.Cleanup(server.Client().CloseIdleConnections)
	server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return server
}

// reply is a response that was read to its end.
type reply struct {
	status  int
	header  http.Header
	trailer http.Header
	body    string
	err     error // of reading the body
}

func (a *reply) word() string { return a.header.Get(semelhttp.StatusHeader) }

// problem returns the name of the problem, "" for none.
func (a *reply) problem() string {
	if a.header.Get("Content-Type") != "application/problem+json" {
		return ""
	}
	_, rest, _ := strings.Cut(a.body, `"type":"urn:semel:problem:`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// newAsk builds a POST; header is name, value, name, value and so on.
func newAsk(tb testing.TB, url, body string, header ...string) *http.Request {
	tb.Helper()
	r := must.Get(http.NewRequestWithContext(tb.Context(), http.MethodPost, url, strings.NewReader(body)))
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func sendAsk(tb testing.TB, server *httptest.Server, r *http.Request) *reply {
	tb.Helper()
	res, err := server.Client().Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return &reply{status: res.StatusCode, header: res.Header, trailer: res.Trailer, body: string(body), err: err}
}

// handle has the handler answer a POST without a connection.
func handle(tb testing.TB, h http.Handler, path, body string, header ...string) *httptest.ResponseRecorder {
	tb.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, newAsk(tb, "http://a"+path, body, header...))
	return w
}

// stream sends a POST with the key k1, and returns its answer, unread.
func stream(tb testing.TB, server *httptest.Server) *http.Response {
	tb.Helper()
	res, err := server.Client().Do(newAsk(tb, server.URL+"/invoices", "x", "Idempotency-Key", "k1"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// ask sends a POST with the key, "" for none.
func ask(tb testing.TB, server *httptest.Server, key, body string, header ...string) *reply {
	tb.Helper()
	if key != "" {
		header = append(header, "Idempotency-Key", key)
	}
	return sendAsk(tb, server, newAsk(tb, server.URL+"/invoices", body, header...))
}
