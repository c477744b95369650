package semelhttp_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// discard is a response writer that costs nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// rewound is a request body that is read again for every request.
type rewound struct {
	text string
	at   int
}

func (b *rewound) Read(p []byte) (int, error) {
	if b.at == len(b.text) {
		return 0, io.EOF
	}
	n := copy(p, b.text[b.at:])
	b.at += n
	return n, nil
}

func (b *rewound) Close() error { return nil }

// drive sends requests that differ in their key alone, each on a fresh copy of
// the request, as a server would.
type drive struct {
	handler http.Handler
	request http.Request
	body    rewound
	writer  discard
	keys    []string
}

func newDrive(handler http.Handler, keys int) *drive {
	d := &drive{handler: handler, body: rewound{text: `{"customer":"c-17","amount":1200,"currency":"SEK","note":"lunch"}`}}
	d.writer.header = make(http.Header, 8)
	d.request = http.Request{
		Method: http.MethodPost, Host: "api.example.com", URL: &url.URL{Path: "/v1/invoices"},
		Header: http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer abcdef0123456789"}},
		Body:   &d.body, ContentLength: int64(len(d.body.text)),
	}
	d.request = *d.request.WithContext(serverContext())
	d.keys = make([]string, keys)
	for i := range d.keys {
		d.keys[i] = "8e03978e-40d5-43dd-bc93-" + strconv.Itoa(100_000_000_000+i)
	}
	d.request.Header["Idempotency-Key"] = []string{""}
	return d
}

// serverContext can be cancelled, like the one of a server's request.
func serverContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	_ = cancel
	return ctx
}

func (d *drive) once(i int) {
	d.body.at = 0
	clear(d.writer.header)
	d.request.Header["Idempotency-Key"][0] = d.keys[i%len(d.keys)]
	d.handler.ServeHTTP(&d.writer, &d.request)
}

// measure returns the cost of a request in nanoseconds and allocations. The
// time is the median of short batches, because the machine has other work too.
func (d *drive) measure(n int) (ns, allocs float64) {
	const batch = 500
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	took := make([]time.Duration, 0, n/batch+1)
	for from := 0; from < n; from += batch {
		start := time.Now()
		for i := range batch {
			d.once(from + i)
		}
		took = append(took, time.Since(start))
	}
	runtime.ReadMemStats(&after)
	slices.Sort(took)
	total := float64(len(took) * batch)
	return float64(took[len(took)/2].Nanoseconds()) / batch, float64(after.Mallocs-before.Mallocs) / total
}

// invoiceHandler reads the request and answers with a small document.
func invoiceHandler() http.Handler {
	body := []byte(`{"id":"inv-1","customer":"c-17","amount":1200,"currency":"SEK","state":"open"}`)
	room := make([]byte, 512) // requests come one at a time
	created, contentType := []string{"/v1/invoices/inv-1"}, []string{"application/json"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := r.Body.Read(room); err != nil {
				break
			}
		}
		w.Header()["Location"] = created
		w.Header()["Content-Type"] = contentType
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	})
}

// BenchmarkMiddleware reports what the middleware adds to a bare handler, in
// the same run: for the first execution of an intent and for its replay
// (promise 2).
func BenchmarkMiddleware(b *testing.B) {
	// The heap of a service is not empty: without this the collector would run
	// after every few thousand requests.
	ballast := make([]byte, 64<<20)
	defer runtime.KeepAlive(ballast)
	newHandler := func(b *testing.B) http.Handler {
		b.Helper()
		store := memstore.New(nil)
		guard := must.Get(semel.New(store, nil))
		b.Cleanup(func() { _ = guard.Close(); _ = store.Close() })
		principal := func(r *http.Request) string { return r.Header.Get("Authorization") }
		m := must.Get(semelhttp.New(guard, semelhttp.ScopeBy(principal), nil))
		return m.Handler(invoiceHandler())
	}
	report := func(b *testing.B, run *drive, n int) {
		b.Helper()
		bare := newDrive(invoiceHandler(), 1)
		bare.measure(n / 10)
		ns, allocs := run.measure(n)
		bareNs, bareAllocs := bare.measure(n)
		b.ReportMetric(ns-bareNs, "added-ns/op")
		b.ReportMetric(allocs-bareAllocs, "added-allocs/op")
		b.ReportMetric(bareNs, "bare-ns/op")
		b.ReportMetric(0, "ns/op")
	}
	b.Run("first", func(b *testing.B) {
		n := max(b.N, 1000)
		report(b, newDrive(newHandler(b), n+500), n)
	})
	b.Run("replay", func(b *testing.B) {
		n := max(b.N, 1000)
		run := newDrive(newHandler(b), 1000)
		run.measure(1000) // executes
		report(b, run, n)
	})
}
