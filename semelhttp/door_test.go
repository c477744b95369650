package semelhttp_test

import (
	"cmp"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

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
	keys    []semel.OutcomeKey
	secrets [][]byte
	wrap    func(semel.Store) semel.Store // what the guard sees of the store
	timeout time.Duration                 // of the store; 200 ms when zero
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
	seen := d.store
	if o.wrap != nil {
		seen = o.wrap(seen)
	}
	guard, err := semel.New(seen, &semel.Options{
		Policy: o.policy, RecordsPerScope: o.quota, StoreTimeout: cmp.Or(o.timeout, 200*time.Millisecond), OutcomeKeys: o.keys, Secrets: o.secrets,
	})
	if err != nil {
		tb.Fatal(err)
	}
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
	d.Middleware, err = semelhttp.New(guard, o.scope, &o.Options)
	if err != nil {
		tb.Fatal(err)
	}
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

// serve starts a server over HTTP/1.1; the handler is behind the door.
func (d *door) serve(tb testing.TB, handler http.HandlerFunc) *httptest.Server {
	tb.Helper()
	return newServer(tb, d.Handler(handler))
}

// newServer starts a server over HTTP/1.1.
func newServer(tb testing.TB, handler http.Handler) *httptest.Server {
	tb.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // panics are meant
	server.Start()
	tb.Cleanup(server.Close)
	tb.Cleanup(server.Client().CloseIdleConnections)
	server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return server
}

// newTLSServer starts a server over HTTP/2.
func newTLSServer(tb testing.TB, handler http.Handler) *httptest.Server {
	tb.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = true
	server.StartTLS()
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
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
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

// ask sends a POST with the key, "" for none.
func ask(tb testing.TB, server *httptest.Server, key, body string, header ...string) *reply {
	tb.Helper()
	if key != "" {
		header = append(header, "Idempotency-Key", key)
	}
	return sendAsk(tb, server, newAsk(tb, server.URL+"/invoices", body, header...))
}
