package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	connections  = 64
	aimKeyed     = 0.75
	aimUnkeyed   = 0.95
	copyBufBytes = 32 << 10
)

// benchGateway sends the same requests to an upstream directly, through a
// plain ReverseProxy, and through the gateway on SQLite.
func benchGateway(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	upstream := serve(http.HandlerFunc(invoiceHandler))
	defer upstream.Close()
	target, err := url.Parse(upstream.URL)
	if err != nil {
		return nil, err
	}
	plain := serve(plainProxy(target))
	defer plain.Close()
	store, err := sqlitestore.Open(ctx, filepath.Join(s.Dir, "gateway.db"), nil)
	if err != nil {
		return nil, err
	}
	defer shut(store)
	gw, err := gateway.New(&gateway.Config{Upstream: upstream.URL, Store: store})
	if err != nil {
		return nil, err
	}
	defer shut(gw)
	front := serve(gw.Handler())
	defer front.Close()

	t := &contest.Table{Title: fmt.Sprintf("gateway on sqlite: %d connections, load, proxy and upstream on the same machine", connections)}
	for _, kind := range []struct {
		name, prefix string
		aim          float64
	}{{"POST with a key", "k", aimKeyed}, {"GET without a key", "", aimUnkeyed}} {
		rows, err := compareProxies(ctx, s, kind.name, kind.prefix, kind.aim, []string{upstream.URL, plain.URL, front.URL})
		if err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, rows...)
	}
	return t, nil
}

func compareProxies(ctx context.Context, s *contest.Settings, kind, prefix string, aim float64, urls []string) ([]contest.Row, error) {
	var subjects []contest.Subject
	for i, u := range urls {
		l := newLoad(u+"/invoices", connections, prefix)
		if prefix != "" {
			l.prefix = fmt.Sprintf("%s%d-", prefix, i)
		}
		defer l.close()
		subjects = append(subjects, contest.Subject{Name: u, Do: l.run})
	}
	samples, err := contest.Measure(ctx, s, subjects)
	if err != nil {
		return nil, err
	}
	rate := func(i int) string {
		return fmt.Sprintf("%s (%.0f/s)", contest.NanosText(samples[i].Nanos), float64(time.Second)/samples[i].Nanos)
	}
	ratio := samples[1].Nanos / samples[2].Nanos
	return []contest.Row{
		{Subject: kind + ", direct", Time: rate(0)},
		{Subject: kind + ", plain ReverseProxy", Time: rate(1)},
		{Subject: kind + ", gateway", Time: rate(2), Against: fmt.Sprintf("%.2f× the plain proxy's rate", ratio), Aim: fmt.Sprintf("≥ %.2f×", aim), Met: contest.VerdictOf(ratio >= aim)},
	}, nil
}

// plainProxy is the rival: a ReverseProxy as good as it gets.
func plainProxy(target *url.URL) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.SetXForwarded()
		},
		Transport:  &http.Transport{MaxIdleConnsPerHost: 2 * connections},
		BufferPool: &buffers{pool: sync.Pool{New: func() any { return new([copyBufBytes]byte) }}},
	}
}

type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	buf, ok := b.pool.Get().(*[copyBufBytes]byte)
	if !ok {
		buf = new([copyBufBytes]byte)
	}
	return buf[:]
}

func (b *buffers) Put(buf []byte) {
	if len(buf) == copyBufBytes {
		b.pool.Put((*[copyBufBytes]byte)(buf))
	}
}

// serve is httptest.NewServer with connections that stay.
func serve(h http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(h)
	server.Config.IdleTimeout = time.Minute
	server.Start()
	return server
}
