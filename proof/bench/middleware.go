package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

const (
	mostFirst, mostFirstAllocs   = 0.80, 9 // yardsticks, and allocations
	mostReplay, mostReplayAllocs = 0.40, 3

	maxPosts = 1 << 19 // within one measurement of fresh keys
)

// invoiceHandler is a handler as thin as handlers get: headers and a body.
func invoiceHandler(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Location", "/invoices/1")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write([]byte(`{"id":1,"amount_cents":125000,"currency":"EUR"}`)) // the sink never fails
}

// sink is a ResponseWriter that costs nothing, so that only the handler and the middleware are measured.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(status int)      { s.status = status }

// post is one request used again and again.
type post struct {
	request *http.Request
	body    *strings.Reader
	sink    sink
}

const postBody = `{"customer_id":1,"amount_cents":125000,"currency":"EUR"}`

func newPost(ctx context.Context) (*post, error) {
	p := &post{body: strings.NewReader(""), sink: sink{header: http.Header{}}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://shop.example/invoices", p.body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(postBody))
	p.request = r
	return p, nil
}

func (p *post) send(h http.Handler, key string) error {
	p.body.Reset(postBody)
	clear(p.sink.header)
	p.request.Header["Idempotency-Key"] = []string{key}
	h.ServeHTTP(&p.sink, p.request)
	if p.sink.status != http.StatusCreated {
		return fmt.Errorf("got status %d, want 201", p.sink.status)
	}
	return nil
}

func benchMiddleware(ctx context.Context, s *settings) (*table, error) {
	bare := http.HandlerFunc(invoiceHandler)
	fresh, same := make([]string, maxPosts), make([]string, maxPosts)
	for i := range maxPosts {
		fresh[i], same[i] = "k"+strconv.Itoa(i), "replayed"
	}
	samples, err := measure(ctx, s, []subject{
		{Name: "bare handler", Do: func(ctx context.Context, n int) error { return posts(ctx, bare, fresh, n) }},
		{Name: "first", Do: func(ctx context.Context, n int) error { return guarded(ctx, bare, fresh, n) }},
		{Name: "replay", Do: func(ctx context.Context, n int) error { return guarded(ctx, bare, same, n) }},
		{Name: "yardstick", Do: func(ctx context.Context, n int) error { return recorded(ctx, bare, n) }},
	})
	if err != nil {
		return nil, err
	}
	base, yardstick := samples[0], samples[3]
	return &table{Title: "net/http middleware on memory: (one goroutine, 56-byte JSON body)", Rows: []row{
		{Subject: "bare handler", Time: nanosText(base.Nanos), Allocs: allocsText(base.Allocs)},
		{Subject: "yardstick: bare handler, httptest request and recorder", Time: nanosText(yardstick.Nanos), Allocs: allocsText(yardstick.Allocs)},
		added("with middleware, first execution", base, yardstick, samples[1], mostFirst, mostFirstAllocs),
		added("with middleware, replay", base, yardstick, samples[2], mostReplay, mostReplayAllocs),
	}}, nil
}

// added returns the cost of the middleware beyond that of the bare handler, and its share of the yardstick, which separates a
// slow machine from a slow middleware.
func added(name string, base, yardstick, with sample, yardsticks, allocs float64) row {
	more := make([]float64, len(with.Rounds)) // nanoseconds in each round
	for i := range more {
		more[i] = with.Rounds[i] - base.Rounds[i]
	}
	cost, moreAllocs := ratioOf(more, yardstick.Rounds), with.Allocs-base.Allocs
	met := cost.AtMost(yardsticks)
	if moreAllocs > allocs+0.5 {
		met = verdictOf(false)
	}
	return row{
		Subject: name, Time: nanosText(with.Nanos), Allocs: allocsText(with.Allocs),
		Against: fmt.Sprintf("adds %s (%v yardsticks), %.1f allocs", nanosText(valueOf(more).Median), cost, moreAllocs),
		Aim:     fmt.Sprintf("adds ≤ %.2f yardsticks, ≤ %.0f allocs", yardsticks, allocs),
		Met:     met,
	}
}

// guarded sends n POSTs through the middleware over a store of its own, so that no measurement pays for the records of another.
func guarded(ctx context.Context, bare http.Handler, keys []string, n int) error {
	store := memstore.New(nil)
	defer shut(store)
	guard, err := semel.New(store, nil)
	if err != nil {
		return err
	}
	defer shut(guard)
	mw, err := semelhttp.New(guard, func(*http.Request) (string, error) { return "tenant-7 POST /invoices", nil }, nil)
	if err != nil {
		return err
	}
	return posts(ctx, mw.Handler(bare), keys, n)
}

// posts sends n requests, at most once with each of the keys until they are
// used up: beyond that it starts over, which only a bare handler ever does.
func posts(ctx context.Context, h http.Handler, keys []string, n int) error {
	p, err := newPost(ctx)
	if err != nil {
		return err
	}
	for i := range n {
		if err := p.send(h, keys[i%len(keys)]); err != nil {
			return err
		}
	}
	return nil
}

// recorded serves n requests as tests do, each with a request and a recorder
// of its own: work of a known kind, to compare machines by.
func recorded(ctx context.Context, h http.Handler, n int) error {
	for range n {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/invoices", strings.NewReader(postBody))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusCreated {
			return fmt.Errorf("got status %d, want 201", w.Code)
		}
	}
	return nil
}
