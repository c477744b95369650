package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

const (
	connections      = 64
	mostConnections  = 256
	largeAnswerBytes = 1_000_000
	copyBufBytes     = 32 << 10

	aimOnSQLite, aimOnLog, aimOnMemory, aimUnkeyed = 0.6, 0.75, 1.0, 1.1 // of a plain proxy's rate
	aimLargeBodies, aimLargeAnswers                = 2.2, 1.5            // times its processor time

	keyedPost, unkeyedGet, largeBodies, largeAnswers = "POST with a key", "GET without a key", "bodies of 1 MB", "answers of 1 MB"
	rivalProxy                                       = "a plain ReverseProxy"

	nginxConfig = `daemon off;
pid DIR/nginx.pid;
worker_processes PROCESSORS;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_buffer_size 1m;
  upstream app { keepalive 256; server UPSTREAM; }
  keepalive_requests 1000000000;
  server {
    listen ADDRESS backlog=256;
    location / { proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; }
  }
}
`
	// Without full duplex, net/http and with it Caddy cut some long answers to POST short (caddyserver/caddy#5431).
	caddyConfig = `{"admin": {"disabled": true, "config": {"persist": false}},
"apps": {"http": {"servers": {"one": {"listen": ["ADDRESS"], "enable_full_duplex": true, "automatic_https": {"disable": true},
"routes": [{"handle": [BEFORE{"handler": "reverse_proxy", "upstreams": [{"dial": "UPSTREAM"}],
"transport": {"protocol": "http", "keep_alive": {"max_idle_conns_per_host": 256}}}]}]}}}}}
`
)

// shape is a kind of request: with a fresh key and a body, or a GET without one, and as many bytes of answer.
type shape struct {
	Name         string
	Connections  int
	Keyed        bool
	Body, Answer int    // bytes
	Processors   string // of the proxies in Go, and workers of nginx; "" for all
}

// aim bounds a way: at least so much of a plain proxy's rate, and at most so many times its processor time; 0 for none.
type aim struct{ rate, cpu float64 }

// proxied is a way to the upstream.
type proxied struct {
	name  string
	aims  map[string]aim // by the name of a shape
	start func(context.Context) (*server, error)
}

// benchGateway sends the usual requests through proxies.
func benchGateway(ctx context.Context, s *settings) (*table, error) {
	return compareProxies(ctx, s, fmt.Sprintf("gateway: %d connections", connections), []shape{
		{keyedPost, connections, true, 100, 100, ""}, {unkeyedGet, connections, false, 0, 100, ""},
	})
}

// benchShapes sends requests of many shapes through proxies, and the usual one through proxies with one processor and with two.
func benchShapes(ctx context.Context, s *settings) (*table, error) {
	const small, medium, large, few = 100, 10_000, largeAnswerBytes, 8
	return compareProxies(ctx, s, "gateway-shapes: POST with a key", []shape{
		{"1 connection", 1, true, small, small, ""},
		{"8 connections", few, true, small, small, ""},
		{"64 connections", connections, true, small, small, ""},
		{"256 connections", mostConnections, true, small, small, ""},
		{"GOMAXPROCS=1", connections, true, small, small, "1"},
		{"GOMAXPROCS=2", connections, true, small, small, "2"},
		{"bodies of 10 kB", connections, true, medium, small, ""},
		{"answers of 10 kB", connections, true, small, medium, ""},
		{largeBodies, few, true, large, small, ""},
		{largeAnswers, few, true, small, large, ""},
	})
}

// proxies returns the ways to the upstream: directly, through other proxies, and through the gateway on the stores of one machine.
// Each of them is a process of its own.
func proxies(dir, program string, upstream *server, of shape) []proxied {
	on := func(store string) func(context.Context) (*server, error) {
		return func(ctx context.Context) (*server, error) {
			return startGateway(ctx, dir, program, upstream.url, store, of)
		}
	}
	aims := func(post float64) map[string]aim {
		return map[string]aim{
			keyedPost: {rate: post}, unkeyedGet: {rate: aimUnkeyed}, largeBodies: {cpu: aimLargeBodies}, largeAnswers: {cpu: aimLargeAnswers},
		}
	}
	ways := []proxied{
		{"direct", nil, func(context.Context) (*server, error) { return upstream, nil }},
		{rivalProxy, nil, func(ctx context.Context) (*server, error) { return startSelf(ctx, dir, of.Processors, upstream.url) }},
		{"gateway on memory", aims(aimOnMemory), on("memory:")},
		{"gateway on a log", aims(aimOnLog), on("log:" + filepath.Join(dir, "gateway.log"))},
		{"gateway on SQLite", aims(aimOnSQLite), on("sqlite:" + filepath.Join(dir, "gateway.db"))},
	}
	for _, r := range rivals() {
		if program, err := exec.LookPath(r.name); err == nil {
			ways = append(ways, proxied{r.name, nil, func(ctx context.Context) (*server, error) { return r.start(ctx, dir, program, upstream.url, of) }})
		}
	}
	return ways
}

// startGateway starts semel as its users do.
func startGateway(ctx context.Context, dir, program, upstream, store string, of shape) (*server, error) {
	addresses, err := dbserver.FreeAddresses(ctx, 1)
	if err != nil {
		return nil, err
	}
	retention := "24h"
	if of.Answer >= largeAnswerBytes {
		retention = "100ms" // or memory is full
	}
	return startCommand(ctx, dir, addresses[0], of.Processors, program,
		"gateway", "--upstream", upstream, "--store", store, "--listen", addresses[0], "--admin", "off", "--retention", retention)
}

// rival is another proxy, which keeps its connections and writes no access log. Its arguments and its config may name DIR,
// CONFIG, ADDRESS, UPSTREAM and PROCESSORS.
type rival struct{ name, config, args string }

func rivals() []rival {
	caddy := func(before string) string { return strings.Replace(caddyConfig, "BEFORE", before, 1) }
	return []rival{
		{"nginx", nginxConfig, "-p DIR -c CONFIG -e stderr"},
		{"caddy", caddy(""), "run --config CONFIG"},
		// adapters/caddy/caddy, if it is there under this name.
		{"caddy-semel", caddy(`{"handler": "semel", "store": "sqlite:DIR/caddy.db"}, `), "run --config CONFIG"},
	}
}

func (r *rival) start(ctx context.Context, dir, program, upstream string, of shape) (*server, error) {
	addresses, err := dbserver.FreeAddresses(ctx, 1)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, r.name+".conf")
	named := strings.NewReplacer("DIR", dir, "CONFIG", config, "ADDRESS", addresses[0], "UPSTREAM", strings.TrimPrefix(upstream, "http://"),
		"PROCESSORS", cmp.Or(of.Processors, "auto"))
	if err := os.WriteFile(config, []byte(named.Replace(r.config)), 0o600); err != nil {
		return nil, err
	}
	args := strings.Fields(r.args)
	for i := range args {
		args[i] = named.Replace(args[i])
	}
	return startCommand(ctx, dir, addresses[0], of.Processors, program, args...)
}

// compareProxies returns a table with a row for each shape and each way.
func compareProxies(ctx context.Context, s *settings, title string, shapes []shape) (*table, error) {
	program := filepath.Join(s.Dir, "semel")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/semel") //nolint:gosec // the file lies in the folder of the benchmark.
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build semel: %w: %s", err, out)
	}
	upstream, err := startSelf(ctx, s.Dir, "")
	if err != nil {
		return nil, err
	}
	defer upstream.stop()
	t := &table{Title: title + "; load, proxies and upstream are processes on the same machine"}
	for _, shape := range shapes {
		if err := compareShape(ctx, s, t, shape, program, upstream); err != nil {
			return nil, fmt.Errorf("%s: %w", shape.Name, err)
		}
	}
	return t, nil
}

// compareShape starts every way anew, so that no shape finds the records of another.
func compareShape(ctx context.Context, s *settings, t *table, of shape, program string, upstream *server) error {
	dir, err := os.MkdirTemp(s.Dir, "shape-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // or with s.Dir
	ways := proxies(dir, program, upstream, of)
	subjects := make([]subject, len(ways))
	ran := make([][]float64, len(ways)) // nanoseconds of processor time per request, in each round and before
	for i, way := range ways {
		to, err := way.start(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		if to != upstream {
			defer to.stop()
		}
		l := newLoad(fmt.Sprintf("%s/invoices?bytes=%d", to.url, of.Answer), of.Connections, "")
		if l.body = strings.Repeat("x", of.Body); of.Keyed {
			l.prefix = fmt.Sprintf("k%d-", i)
		}
		defer l.close()
		subjects[i] = subject{Name: way.name, Do: func(ctx context.Context, n int) error {
			before := cpuTime(to.cmd.Process.Pid)
			err := l.run(ctx, n)
			ran[i] = append(ran[i], float64(cpuTime(to.cmd.Process.Pid)-before)/float64(n))
			return err
		}}
	}
	samples, err := measure(ctx, s, subjects)
	if err != nil {
		return err
	}
	for i, way := range ways {
		ran[i] = ran[i][len(ran[i])-s.Rounds:]
		row := row{Subject: of.Name + ", " + way.name, Time: fmt.Sprintf("%s (%.0f/s)", nanosText(samples[i].Nanos), float64(time.Second)/samples[i].Nanos)}
		row.Allocs = nanosText(valueOf(ran[i]).Median) + " CPU of its process"
		if i > 1 {
			rate, cpu := ratioOf(samples[1].Rounds, samples[i].Rounds), ratioOf(ran[i], ran[1])
			row.Against = fmt.Sprintf("%v × the rate, %v × the CPU of %s", rate, cpu, rivalProxy)
			switch aim := way.aims[of.Name]; {
			case aim.rate > 0:
				row.Aim, row.Met = fmt.Sprintf("≥ %.2f × the rate", aim.rate), rate.AtLeast(aim.rate)
			case aim.cpu > 0:
				row.Aim, row.Met = fmt.Sprintf("≤ %.1f × the CPU", aim.cpu), cpu.AtMost(aim.cpu)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return nil
}

// plainProxy is the rival: a ReverseProxy as good as it gets.
func plainProxy(target *url.URL) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.SetXForwarded()
		},
		Transport:  &http.Transport{MaxIdleConnsPerHost: mostConnections},
		BufferPool: &buffers{},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // or some long answers to POST are cut short
		proxy.ServeHTTP(w, r)
	})
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
	b.pool.Put((*[copyBufBytes]byte)(buf))
}
