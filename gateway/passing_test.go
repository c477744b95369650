package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/gateway"
)

// TestForwardedHeaders: who asked is believed from trusted proxies only.
func TestForwardedHeaders(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 1)
	target := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		h := r.Header.Clone()
		h.Set("Host", r.Host)
		seen <- h
	})
	spoofed := []string{
		"Host", "shop.test", "X-Forwarded-For", "6.6.6.6", "X-Forwarded-Host", "bank.test", "X-Forwarded-Proto", "https",
		"Forwarded", "for=6.6.6.6", "X-Real-Ip", "6.6.6.6", "X-Forwarded-Prefix", "/admin", "X_Forwarded_For", "6.6.6.6", "X_Real_Ip", "6.6.6.6",
		"X-Kept", "1", "Connection", "X-Dropped", "X-Dropped", "1", "Keep-Alive", "x", "Proxy-Authorization", "secret",
		"Te", "gzip", "Upgrade-Insecure-Requests", "1",
	}
	all := []string{
		"Host", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "X-Real-Ip", "X-Forwarded-Prefix", "X_forwarded_for", "X_real_ip",
		"X-Kept", "X-Dropped", "Keep-Alive", "Proxy-Authorization", "Te", "Connection", "Upgrade-Insecure-Requests",
	}
	tests := []struct {
		name    string
		trusted string
		want    map[string]string
	}{
		{"no proxy is trusted", "", map[string]string{
			"Host": "shop.test", "X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "shop.test", "X-Forwarded-Proto": "http",
			"X-Kept": "1", "Upgrade-Insecure-Requests": "1",
		}},
		{"others are trusted", "10.0.0.0/8", map[string]string{
			"Host": "shop.test", "X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "shop.test", "X-Forwarded-Proto": "http",
			"X-Kept": "1", "Upgrade-Insecure-Requests": "1",
		}},
		{"the peer is trusted", "127.0.0.0/8", map[string]string{
			"Host": "shop.test", "X-Forwarded-For": "6.6.6.6, 127.0.0.1", "X-Forwarded-Host": "bank.test", "X-Forwarded-Proto": "https",
			"Forwarded": `for=6.6.6.6, for=127.0.0.1;host="shop.test";proto=http`, "X-Real-Ip": "6.6.6.6", "X-Forwarded-Prefix": "/admin",
			"X-Kept": "1", "Upgrade-Insecure-Requests": "1",
		}},
	}
	for _, tt := range tests {
		d := open(t, target, func(c *gateway.Config) {
			if tt.trusted != "" {
				c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(tt.trusted)}
			}
		})
		check(t, tt.name, d.send(t, http.MethodGet, "/", "", spoofed...), 200, "")
		got, header := map[string]string{}, receive(t, seen)
		for _, name := range all {
			if values, ok := header[name]; ok {
				got[name] = strings.Join(values, " | ")
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestHost: the caller's host goes on, unless the upstream wants its own.
func TestHost(t *testing.T) {
	t.Parallel()
	target := upstream(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host+r.RequestURI) })
	kept := open(t, target+"/base", nil)
	check(t, "kept", kept.send(t, http.MethodGet, "/a%2Fb//c;d?x=1;y=%zz", "", "Host", "shop.test"), 200, "shop.test/base/a%2Fb//c;d?x=1;y=%zz")
	own := open(t, target, func(c *gateway.Config) { c.RewriteHost = true })
	check(t, "own", own.send(t, http.MethodGet, "/", "", "Host", "shop.test"), 200, strings.TrimPrefix(target, "http://")+"/")
}

// TestExpectation: an upstream is asked whether it wants a body only while the
// body is not here yet; 417 is not an outcome (RFC 9110, section 10.1.1).
func TestExpectation(t *testing.T) {
	t.Parallel()
	expected, refuse := make(chan string, 8), new(atomic.Bool)
	refuse.Store(true)
	target := rawAnswers(t, func(conn net.Conn, req *http.Request) bool {
		expected <- req.Header.Get("Expect")
		status := "201 Created"
		if req.URL.Path == "/417" && refuse.Swap(false) {
			status = "417 Expectation Failed"
		}
		_, err := io.WriteString(conn, "HTTP/1.1 "+status+"\r\nContent-Length: 0\r\n\r\n")
		return err == nil
	})
	d := openRuled(t, target, "version: 1\nroutes:\n  - {name: json, match: {path: /json}, key: {json_pointer: /id}}\n")
	send := func(path, body, key string) reply {
		header := []string{"Expect", "100-continue", "Content-Type", "application/json"}
		if key != "" {
			header = append(header, "Idempotency-Key", key)
		}
		return d.send(t, http.MethodPost, path, body, header...)
	}
	for _, tt := range []struct{ path, body, key, want string }{
		{"/", "{}", "k", ""},
		{"/json", `{"id":"k"}`, "", ""},
		{"/json", `{}`, "", ""}, // it was read for the key
		{"/", "{}", "", "100-continue"},
	} {
		check(t, tt.path+tt.body+tt.key, send(tt.path, tt.body, tt.key), http.StatusCreated, "")
		if got := receive(t, expected); got != tt.want {
			t.Errorf("%s %s, key %q: the upstream got Expect %q, want %q", tt.path, tt.body, tt.key, got, tt.want)
		}
	}
	for _, want := range []int{http.StatusExpectationFailed, http.StatusCreated} {
		check(t, "417", send("/417", "{}", "k"), want, "")
	}
}

// TestUpgrade: what switches protocols goes both ways.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	target := rawUpstream(t, func(conn net.Conn, br *bufio.Reader) {
		req, err := readRequest(br)
		if err != nil || req.Header.Get("Upgrade") != "websocket" {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.Copy(conn, br)
	})
	for _, text := range []string{pathRules, formRules} { // with forms, answers are looked at
		d := openRuled(t, target, text)
		conn := dial(t, d)
		_, _ = io.WriteString(conn, "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		br := bufio.NewReader(conn)
		res, err := http.ReadResponse(br, nil) //nolint:bodyclose // a switched protocol has no body.
		if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("upgrade: %v %v", res, err)
		}
		for _, word := range []string{"hello\n", "again\n"} {
			_, _ = io.WriteString(conn, word)
			if got, err := br.ReadString('\n'); got != word {
				t.Errorf("echo %q: got %q %v", word, got, err)
			}
		}
		d.stop() // an upgrade does not hold up the drain
		if err := d.wait(t); err != nil {
			t.Error(err)
		}
		if _, err := br.ReadByte(); err == nil {
			t.Error("the connection outlives the gateway")
		}
	}
}

// TestEvents: server-sent events arrive one by one, with and without a key.
func TestEvents(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	target := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
		}
	})
	d := open(t, target, nil)
	for _, key := range []string{"", "k"} {
		var header []string
		if key != "" {
			header = []string{"Idempotency-Key", key}
		}
		res := d.stream(t, http.MethodPost, "/events", http.NoBody, header...)
		br := bufio.NewReader(res.Body)
		for i := range 3 {
			if line, err := br.ReadString('\n'); line != fmt.Sprintf("data: %d\n", i) {
				t.Errorf("event %d: %q %v", i, line, err)
			}
			_, _ = br.ReadString('\n')
			next <- struct{}{} // only now the upstream goes on
		}
		_ = res.Body.Close()
	}
	got := d.send(t, http.MethodPost, "/events", "", "Idempotency-Key", "k")
	check(t, "retry", got, 409, "response-not-kept")
}

// TestInformational: early hints go ahead of the answer.
func TestInformational(t *testing.T) {
	t.Parallel()
	target := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusCreated)
	})
	d := open(t, target, nil)
	for _, key := range []string{"a", "a", "b"} {
		var hints atomic.Int32
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			if code == http.StatusEarlyHints && h.Get("Link") != "" {
				hints.Add(1)
			}
			return nil
		}})
		got := d.sendContext(ctx, http.MethodPost, "/", strings.NewReader(""), "Idempotency-Key", key)
		check(t, "answer", got, 201, "")
		want := int32(1)
		if got.header.Get("Idempotent-Replayed") != "" {
			want = 0
		}
		if hints.Load() != want {
			t.Errorf("%d early hints, want %d", hints.Load(), want)
		}
	}
}

// endless reads n bytes of the same.
type endless struct{ left int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), e.left))
	clear(p[:n])
	e.left -= int64(n)
	return n, nil
}

// TestConstantMemory (promise 8): what is large passes through a fixed amount of memory; the heap is watched while it does.
//
//nolint:paralleltest // it measures the heap of the whole process.
func TestConstantMemory(t *testing.T) {
	const large, bound = 96 << 20, 24 << 20
	target := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodGet {
			_, _ = io.Copy(w, &endless{large})
			return
		}
		_, _ = fmt.Fprint(w, n)
	})
	spool := t.TempDir()
	d := open(t, target, func(c *gateway.Config) {
		c.SpoolDir = spool
		c.Rules = parse(t, "version: 1\nroutes:\n  - name: upload\n    match: {path: /upload}\n    body_limit: 1GiB\n")
	})
	tests := []struct {
		name, method, path, key string
		length                  int64
	}{
		{"chunked upload", http.MethodPost, "/upload", "", large},
		{"download", http.MethodGet, "/", "", 0},
		{"upload with a key", http.MethodPost, "/upload", "k", large / 2},
	}
	for _, tt := range tests {
		var before, during runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		ctx, cancel := context.WithCancel(t.Context())
		header := []string{"Content-Type", "application/octet-stream"}
		if tt.key != "" {
			header = append(header, "Idempotency-Key", tt.key)
		}
		peak := make(chan uint64, 1)
		go func() {
			var most uint64
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					runtime.ReadMemStats(&during)
					most = max(most, during.HeapInuse)
				case <-ctx.Done():
					peak <- most
					return
				}
			}
		}()
		size, status := d.measure(t, tt.method, tt.path, tt.length, header)
		cancel()
		if status != http.StatusOK || size == 0 {
			t.Errorf("%s: status %d, %d bytes", tt.name, status, size)
		}
		if grown := int64(<-peak) - int64(before.HeapInuse); grown > bound {
			t.Errorf("%s: the heap grew by %d MiB, want at most %d", tt.name, grown>>20, bound>>20)
		}
		if left, err := os.ReadDir(spool); err != nil || len(left) > 0 {
			t.Errorf("%s: left in the spool: %v %v", tt.name, left, err)
		}
	}
}

// measure sends length bytes and counts those of the answer.
func (d *door) measure(t *testing.T, method, path string, length int64, header []string) (int64, int) {
	t.Helper()
	var body io.Reader = http.NoBody
	if length > 0 {
		body = io.NopCloser(&endless{length})
	}
	patient := &door{url: d.url, client: &http.Client{Transport: d.client.Transport}}
	res := patient.stream(t, method, path, body, header...)
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return n, res.StatusCode
}
