package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel/internal/bench/contest"
)

const (
	connections   = 64
	aimDurable    = 0.8
	aimFromMemory = 1.1
	aimUnkeyed    = 0.95
	copyBufBytes  = 32 << 10

	keyedPost, unkeyedGet = "POST with a key", "GET without a key"
	rivalProxy            = "a plain ReverseProxy"

	nginxConfig = `daemon off;
pid DIR/nginx.pid;
worker_processes auto;
events { worker_connections 1024; }
http {
  access_log off;
  upstream app { keepalive 64; server UPSTREAM; }
  keepalive_requests 1000000000;
  server {
    listen ADDRESS backlog=128;
    location / { proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; }
  }
}
`
	caddyConfig = `{"admin": {"disabled": true, "config": {"persist": false}},
"apps": {"http": {"servers": {"one": {"listen": ["ADDRESS"], "automatic_https": {"disable": true},
"routes": [{"handle": [BEFORE{"handler": "reverse_proxy", "upstreams": [{"dial": "UPSTREAM"}]}]}]}}}}}
`
)

// proxied is a way to the upstream, with the share of a plain proxy's rate that it is to reach; 0 for none.
type proxied struct {
	name           string
	keyed, unkeyed float64
	start          func(context.Context) (*server, error)
}

// benchGateway sends the same requests to an upstream directly, through other proxies, and through the gateway on the
// stores of one machine. Each of them is a process of its own.
func benchGateway(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	upstream, err := startSelf(ctx, kindUpstream, "")
	if err != nil {
		return nil, err
	}
	defer upstream.stop()
	program := filepath.Join(s.Dir, "semel")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/semel").CombinedOutput(); err != nil { //nolint:gosec // the file lies in the folder of the benchmark.
		return nil, fmt.Errorf("build semel: %w: %s", err, out)
	}
	on := func(store string) func(context.Context) (*server, error) {
		return func(ctx context.Context) (*server, error) {
			return startGateway(ctx, s.Dir, program, upstream.url, store)
		}
	}
	ways := []proxied{
		{name: "direct", start: func(context.Context) (*server, error) { return upstream, nil }},
		{name: rivalProxy, start: func(ctx context.Context) (*server, error) { return startSelf(ctx, kindProxy, upstream.url) }},
		{name: "gateway on SQLite", start: on("sqlite:" + filepath.Join(s.Dir, "gateway.db")), keyed: aimDurable, unkeyed: aimUnkeyed},
		{name: "gateway on a log", start: on("log:" + filepath.Join(s.Dir, "gateway.log")), keyed: aimDurable, unkeyed: aimUnkeyed},
		{name: "gateway on memory", start: on("memory:"), keyed: aimFromMemory, unkeyed: aimUnkeyed},
	}
	for _, r := range rivals() {
		if program, err := exec.LookPath(r.name); err == nil {
			ways = append(ways, proxied{name: r.name, start: func(ctx context.Context) (*server, error) { return r.start(ctx, s.Dir, program, upstream.url) }})
		}
	}
	t := &contest.Table{Title: fmt.Sprintf("gateway: %d connections; load, proxies and upstream are processes on the same machine", connections)}
	servers := make([]*server, len(ways))
	for i, way := range ways {
		one, err := way.start(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		if one != upstream {
			defer one.stop()
		}
		servers[i] = one
	}
	return t, errors.Join(compareProxies(ctx, s, t, ways, servers, keyedPost), compareProxies(ctx, s, t, ways, servers, unkeyedGet))
}

// startGateway starts semel as its users do.
func startGateway(ctx context.Context, dir, program, upstream, store string) (*server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	return startCommand(ctx, dir, address, program, "gateway", "--upstream", upstream, "--store", store, "--listen", address, "--admin", "off")
}

// rival is another proxy, which keeps its connections and writes no access log. Its arguments and its config may name DIR, CONFIG, ADDRESS and UPSTREAM.
type rival struct{ name, config, args string }

func rivals() []rival {
	bare, semel := strings.Replace(caddyConfig, "BEFORE", "", 1), strings.Replace(caddyConfig, "BEFORE", `{"handler": "semel", "store": "sqlite:DIR/caddy.db"}, `, 1)
	return []rival{
		{"nginx", nginxConfig, "-p DIR -c CONFIG -e stderr"},
		{"caddy", bare, "run --config CONFIG"},
		{"caddy-semel", semel, "run --config CONFIG"}, // adapters/caddy/caddy, if it is there under this name
	}
}

func (r *rival) start(ctx context.Context, dir, program, upstream string) (*server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, r.name+".conf")
	named := strings.NewReplacer("DIR", dir, "CONFIG", config, "ADDRESS", address, "UPSTREAM", strings.TrimPrefix(upstream, "http://"))
	if err := os.WriteFile(config, []byte(named.Replace(r.config)), 0o600); err != nil {
		return nil, err
	}
	args := strings.Fields(r.args)
	for i := range args {
		args[i] = named.Replace(args[i])
	}
	return startCommand(ctx, dir, address, program, args...)
}

// compareProxies adds a row for each way to the table.
func compareProxies(ctx context.Context, s *contest.Settings, t *contest.Table, ways []proxied, servers []*server, kind string) error {
	var subjects []contest.Subject
	ran, done := make([]time.Duration, len(ways)), make([]int, len(ways))
	for i, way := range ways {
		l := newLoad(servers[i].url+"/invoices", connections, "")
		if kind == keyedPost {
			l.prefix = fmt.Sprintf("k%d-", i)
		}
		defer l.close()
		subjects = append(subjects, contest.Subject{Name: way.name, Do: func(ctx context.Context, n int) error {
			before := contest.CPUTime(servers[i].cmd.Process.Pid)
			err := l.run(ctx, n)
			ran[i], done[i] = ran[i]+contest.CPUTime(servers[i].cmd.Process.Pid)-before, done[i]+n
			return err
		}})
	}
	samples, err := contest.Measure(ctx, s, subjects)
	if err != nil {
		return err
	}
	for i, way := range ways {
		row := contest.Row{Subject: kind + ", " + way.name, Time: fmt.Sprintf("%s (%.0f/s)", contest.NanosText(samples[i].Nanos), float64(time.Second)/samples[i].Nanos)}
		row.Allocs = contest.NanosText(float64(ran[i])/float64(done[i])) + " CPU of its process"
		if i > 1 {
			ratio := contest.Ratio(samples[1].Rounds, samples[i].Rounds)
			row.Against = fmt.Sprintf("%v × the rate of %s", ratio, rivalProxy)
			aim := way.unkeyed
			if kind == keyedPost {
				aim = way.keyed
			}
			if aim > 0 {
				row.Aim, row.Met = fmt.Sprintf("≥ %.2f ×", aim), ratio.AtLeast(aim)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return nil
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
