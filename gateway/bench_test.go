package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	benchConnections = 64
	benchSlice       = 100 * time.Millisecond
)

// BenchmarkGateway compares, in one run and in turns of a tenth of a second so
// that all meet the same weather, the application alone, a plain
// httputil.ReverseProxy and the gateway, over 64 connections. Its numbers are
// requests per second, and the ratio to the plain proxy of what a second of
// processor time can do (caller, proxy and application together), which other
// work on the machine does not disturb.
func BenchmarkGateway(b *testing.B) {
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":"inv_1","amount":1250,"currency":"SEK","customer":"cus_1","status":"open"}`)
	}))
	defer application.Close()
	target := must.Get(url.Parse(application.URL))
	lite := must.Get(sqlitestore.Open(b.Context(), b.TempDir()+"/semel.db", nil))
	defer lite.Close()
	plain := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(target)
			pr.SetXForwarded()
		},
		Transport:  &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DisableCompression: true},
		BufferPool: &pool{},
	})
	defer plain.Close()
	doors := []struct{ name, url string }{
		{"direct", application.URL},
		{"proxy", plain.URL},
		{"memory", benchGateway(b, application.URL, memstore.New(&memstore.Options{MaxRecords: 50_000_000}))},
		{"sqlite", benchGateway(b, application.URL, lite)},
	}
	for _, traffic := range []string{"keyed-POST", "unkeyed-POST", "unkeyed-GET"} {
		b.Run(traffic, func(b *testing.B) {
			counts := make([]atomic.Int64, len(doors))
			spent, busy := make([]time.Duration, len(doors)), make([]time.Duration, len(doors))
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchConnections, DisableCompression: true}}
			defer client.CloseIdleConnections()
			for b.Loop() {
				for i, d := range doors {
					began, used := time.Now(), processor(b)
					press(b, client, d.url, traffic, &counts[i])
					spent[i] += time.Since(began)
					busy[i] += processor(b) - used
				}
			}
			rate := func(i int, of []time.Duration) float64 { return float64(counts[i].Load()) / of[i].Seconds() }
			for i, d := range doors {
				b.ReportMetric(rate(i, spent), d.name+"/s")
				if i > 1 {
					b.ReportMetric(rate(i, busy)/rate(1, busy), d.name+"/proxy")
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func benchGateway(b *testing.B, application string, store semel.Store) string {
	b.Helper()
	g := must.Get(gateway.New(&gateway.Config{Upstream: application, Store: store}))
	front := must.Get(new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0"))
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, front, nil) }()
	b.Cleanup(func() {
		stop()
		<-done
	})
	return "http://" + front.Addr().String()
}

// processor returns the processor time that this process has used.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// press keeps all connections busy for one slice.
func press(b *testing.B, client *http.Client, url, traffic string, count *atomic.Int64) {
	b.Helper()
	end := time.Now().Add(benchSlice)
	var all sync.WaitGroup
	for range benchConnections {
		all.Go(func() {
			for time.Now().Before(end) {
				if err := benchRequest(b.Context(), client, url, traffic, count); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func benchRequest(ctx context.Context, client *http.Client, url, traffic string, count *atomic.Int64) error {
	method, body := http.MethodPost, `{"amount":1250,"currency":"SEK","customer":"cus_1"}`
	if traffic == "unkeyed-GET" {
		method, body = http.MethodGet, ""
	}
	req, err := http.NewRequestWithContext(ctx, method, url+"/invoices", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer 0123456789")
	n := count.Add(1)
	if traffic == "keyed-POST" {
		req.Header["idempotency-key"] = []string{fmt.Sprintf("%d-%s", n, url)}
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusCreated {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}

// pool is the buffer pool of a well-kept plain proxy.
type pool struct{ pool sync.Pool }

func (p *pool) Get() []byte {
	if b, ok := p.pool.Get().(*[32 << 10]byte); ok {
		return b[:]
	}
	return make([]byte, 32<<10)
}

func (p *pool) Put(b []byte) { p.pool.Put((*[32 << 10]byte)(b)) }
