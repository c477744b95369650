package clients_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
)

var noError = claimtest.NoError

// charges is the path that the SDKs of Stripe post to.
const charges = "/v1/charges"

// front is a network that loses answers, with a gateway and an application behind it.
type front struct {
	url     string // of the orders
	gateway http.Handler
	app     app

	mu       sync.Mutex             // guards the fields below
	troubles map[string]trouble     // by key
	arrived  map[string][]time.Time // by key
}

// trouble treats an attempt instead of passing it on, or reports false.
type trouble func(f *front, w http.ResponseWriter, r *request, attempt int) bool

// request is an attempt that was read to its end.
type request struct {
	*http.Request
	body []byte
}

// newFront returns a front whose gateway refuses duplicates of running requests with the status inFlight.
func newFront(t *testing.T, inFlight int) *front {
	t.Helper()
	f := &front{
		app:      app{orders: map[string]int{}, holds: map[string]chan struct{}{}},
		troubles: map[string]trouble{}, arrived: map[string][]time.Time{},
	}
	upstream := httptest.NewServer(&f.app)
	t.Cleanup(upstream.Close)
	store := memstore.New(nil)
	t.Cleanup(func() { noError(t, store.Close()) })
	g := must.Get(gateway.New(&gateway.Config{
		Upstream: upstream.URL, Store: store, Rules: must.Get(rules.Parse("semel.yaml", fmt.Appendf(nil, `
version: 1
routes:
  - {name: charges, match: {path: %s}, preset: payments, wait: 0s, in_flight_status: %d}
`, charges, inFlight))),
	}))
	t.Cleanup(func() { noError(t, g.Close()) })
	f.gateway = g.Handler()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL + charges
	return f
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.mu.Lock()
	f.arrived[key] = append(f.arrived[key], time.Now())
	attempt, meet := len(f.arrived[key]), f.troubles[key]
	f.mu.Unlock()
	req := &request{r, body}
	if meet == nil || !meet(f, w, req, attempt) {
		answer := f.ask(req) //nolint:contextcheck // the request brings its context.
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // the client may have gone
	}
}

// ask passes a request on to the gateway, and returns its whole answer.
func (f *front) ask(r *request) *httptest.ResponseRecorder {
	again := r.Clone(context.WithoutCancel(r.Context()))
	again.Body = io.NopCloser(bytes.NewReader(r.body))
	w := httptest.NewRecorder()
	f.gateway.ServeHTTP(w, again)
	return w
}

// meet sets the trouble of the attempts with a key.
func (f *front) meet(key string, t trouble) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.troubles[key] = t
}

// attempts returns when the attempts with a key arrived.
func (f *front) attempts(key string) []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.arrived[key]
}

// drop closes the connection without an answer.
func drop(w http.ResponseWriter) { sendRaw(w, "") }

// sendRaw writes bytes to the connection, and closes it.
func sendRaw(w http.ResponseWriter, text string) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(connection, text) // the client may have gone
	_ = connection.Close()
}

// app is an application that knows no keys: it creates an order for each request that reaches it.
type app struct {
	mu     sync.Mutex               // guards the fields below
	orders map[string]int           // by key
	holds  map[string]chan struct{} // orders with these keys wait
}

// hold has the next order with the key wait until it is released.
func (a *app) hold(key string) (release func()) {
	until := make(chan struct{})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.holds[key] = until
	return sync.OnceFunc(func() { close(until) })
}

// await waits until there is an order with the key.
func (a *app) await(key string) {
	for a.created(key) == 0 {
		<-time.After(time.Millisecond)
	}
}

// created returns the number of orders with the key.
func (a *app) created(key string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.orders[key]
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	a.mu.Lock()
	a.orders[key]++
	n, until := a.orders[key], a.holds[key]
	a.mu.Unlock()
	if until != nil {
		<-until
	}
	if strings.HasPrefix(key, "unknown") {
		panic(http.ErrAbortHandler) // it was created, and no answer says so
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, order(key, n)) // the gateway may have gone
}

// order is the answer to the n-th request with a key.
func order(key string, n int) string {
	return fmt.Sprintf(`{"id":"ch_%s_%d","object":"charge","amount":100,"note":"%s"}`, key, n, strings.Repeat("-", 2000))
}
