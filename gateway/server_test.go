package gateway_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// TestDrain: readiness fails first, running requests end, waiting ones and new ones are sent away.
func TestDrain(t *testing.T) {
	t.Parallel()
	arrived, goOn := make(chan struct{}, 1), make(chan struct{})
	target := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-goOn
		w.WriteHeader(http.StatusCreated)
	})
	d := open(t, target, func(c *gateway.Config) {
		c.Guard.Policy.Wait = patience
		c.DrainDelay = time.Millisecond
	})
	ready := func() int { return d.operate(t, http.MethodGet, "/readyz").status }
	if got := ready(); got != http.StatusOK {
		t.Errorf("ready: %d", got)
	}
	running, waiting := make(chan reply, 1), make(chan reply, 1)
	post := func(into chan reply) {
		into <- d.sendContext(t.Context(), http.MethodPost, "/", http.NoBody, "Idempotency-Key", "k")
	}
	go post(running)
	receive(t, arrived)
	go post(waiting)
	d.until(t, "semel_waiters 1")
	d.stop()
	check(t, "waiting", receive(t, waiting), 503, "shutting-down")
	if got := ready(); got != http.StatusServiceUnavailable {
		t.Errorf("readiness while draining: %d", got)
	}
	close(goOn)
	check(t, "running", receive(t, running), 201, "")
	if err := d.wait(t); err != nil {
		t.Errorf("drain: %v", err)
	}
}

// until reads the metrics until they have the line.
func (d *door) until(t *testing.T, line string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if strings.Contains(d.metrics(t), "\n"+line) {
			return
		}
	}
	t.Fatalf("the metrics never said %q", line)
}

func (d *door) metrics(t *testing.T) string {
	t.Helper()
	return d.operate(t, http.MethodGet, "/metrics").body
}

// TestDrainRecordsWhatItCutsOffAsUnknown (promise 3): it is settled before the store closes, and its number is a warning.
func TestDrainRecordsWhatItCutsOffAsUnknown(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 1)
	target := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	records := memstore.New(nil)
	closing := storetest.Break(records, storetest.Faults{})
	var log safeBuffer
	g := must.Get(gateway.New(&gateway.Config{
		Upstream: target, Store: closing, DrainTimeout: 20 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}))
	front := listen(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	d := &door{Gateway: g, url: "http://" + front.Addr().String(), client: newClient(t), done: make(chan error, 1)}
	go func() { d.done <- g.Serve(ctx, front, nil) }()
	cut := make(chan reply, 1)
	go func() {
		cut <- d.sendContext(t.Context(), http.MethodPost, "/", http.NoBody, "Idempotency-Key", "k", "Host", "h")
	}()
	receive(t, arrived)
	stop()
	if err := d.wait(t); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("drain: %v", err)
	}
	closing.Partition()
	receive(t, cut)
	if text := log.String(); !strings.Contains(text, "level=WARN msg=\"drained, but") || !strings.Contains(text, "cut_off=1") {
		t.Errorf("the log does not warn of one request that was cut off: %s", text)
	}
	d = open(t, target, func(c *gateway.Config) { c.Store, c.Guard.Policy.Wait = records, semel.NoWait })
	check(t, "second life", d.send(t, http.MethodPost, "/", "", "Idempotency-Key", "k", "Host", "h"), 409, "outcome-unknown")
}

// TestCrash (promise 3): a gateway that dies while a request runs leaves an
// unknown outcome, which the next one does not execute again.
func TestCrash(t *testing.T) {
	t.Parallel()
	arrived, over := make(chan struct{}, 1), make(chan struct{})
	var n atomic.Int32
	target := upstream(t, func(http.ResponseWriter, *http.Request) {
		n.Add(1)
		arrived <- struct{}{}
		<-over
	})
	t.Cleanup(func() { close(over) })
	clock := newClock()
	records := memstore.New(&memstore.Options{Now: clock.now})
	dead := storetest.Break(records, storetest.Faults{})
	g := must.Get(gateway.New(&gateway.Config{Upstream: target, Store: dead, Guard: semel.Options{StoreTimeout: 50 * time.Millisecond}}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan struct{})
	go func() {
		defer close(served)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://h/", http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Idempotency-Key", "k")
		req.RemoteAddr = "127.0.0.1:1"
		g.Handler().ServeHTTP(discard{}, req)
	}()
	receive(t, arrived)
	dead.Partition() // nothing is settled any more
	if err := g.Close(); err != nil {
		t.Logf("close: %v", err)
	}
	receive(t, served)
	health := httptest.NewRecorder()
	g.AdminHandler().ServeHTTP(health, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
	if health.Code != http.StatusServiceUnavailable || health.Body.String() != "draining\n" {
		t.Errorf("readiness of a closed gateway: %d %q", health.Code, health.Body)
	}
	d := open(t, target, func(c *gateway.Config) { c.Store, c.Guard.Policy.Wait = records, semel.NoWait })
	check(t, "while the lease runs", d.sendContext(t.Context(), http.MethodPost, "/", http.NoBody, "Idempotency-Key", "k", "Host", "h"), 409, "in-flight")
	clock.add(semel.DefaultLease + time.Second)
	check(t, "after it", d.send(t, http.MethodPost, "/", "", "Idempotency-Key", "k", "Host", "h"), 409, "outcome-unknown")
	wantActed(t, &n, 1)
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// TestHurriedCallers (promise 8): header floods and callers that stall are cut off.
func TestHurriedCallers(t *testing.T) {
	t.Parallel()
	target, n := counting(t)
	d := open(t, target, func(c *gateway.Config) {
		c.ReadHeaderTimeout, c.BodyIdleTimeout, c.IdleTimeout = 500*time.Millisecond, 500*time.Millisecond, 500*time.Millisecond
	})
	got := d.send(t, http.MethodGet, "/", "", "X-Flood", strings.Repeat("x", 100<<10))
	if got.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("header flood: %d %v", got.status, got.err)
	}
	tests := []struct{ name, text, want string }{
		{"half a header", "POST / HTTP/1.1\r\nHost: h\r\nX-", ""},
		{"half a body with a key", "POST / HTTP/1.1\r\nHost: h\r\nIdempotency-Key: k\r\nContent-Length: 10\r\n\r\nhalf", "body-incomplete"},
		{"half a body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf", ""},
		{"half a body to the policy", "GET /.well-known/idempotency HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf", "status_url"},
		{"half a body to the status URL", "GET /.well-known/idempotency/status HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf", "status-invalid"},
		{"nothing", "", ""},
	}
	var callers sync.WaitGroup
	for _, tt := range tests {
		callers.Go(func() {
			if answer, err := d.hear(t, tt.text); err != nil || !strings.Contains(answer, tt.want) {
				t.Errorf("%s: answer %q; was the connection closed: %v", tt.name, answer, err)
			}
		})
	}
	callers.Wait()
	wantActed(t, n, 0)
	check(t, "a retry with the whole body", d.send(t, http.MethodPost, "/", "0123456789", "Idempotency-Key", "k"), 201, "1")
}

// TestSlowBody: a caller may be slow, and the deadline for its body does not end the request.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	var cutOff atomic.Bool
	target := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
			cutOff.Store(true)
		case <-time.After(400 * time.Millisecond): // longer than the deadline for the body
		}
		w.WriteHeader(http.StatusCreated)
	})
	d := open(t, target, func(c *gateway.Config) { c.BodyIdleTimeout = 250 * time.Millisecond })
	for _, key := range []string{"", "k"} {
		body, write := io.Pipe()
		go func() {
			tick := time.NewTicker(25 * time.Millisecond)
			defer tick.Stop()
			for range 20 {
				<-tick.C
				_, _ = io.WriteString(write, "x")
			}
			_ = write.Close()
		}()
		var header []string
		if key != "" {
			header = []string{"Idempotency-Key", key}
		}
		check(t, "slow", d.sendContext(t.Context(), http.MethodPost, "/", body, header...), 201, "")
	}
	if cutOff.Load() {
		t.Error("the deadline of the body ended the request")
	}
}

// TestStoreDown (promise 10): without the store nothing executes, unless the rule says so, which the answer tells.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	target, n := counting(t)
	dead := breakable(t)
	d := open(t, target, func(c *gateway.Config) {
		c.Store = dead
		c.Guard.StoreTimeout = 50 * time.Millisecond
		c.Rules = parse(t, "version: 1\nroutes:\n  - {name: open, match: {path: /open}, fail_open: true}\n")
	})
	dead.Partition()
	got := d.send(t, http.MethodPost, "/", "", "Idempotency-Key", "k")
	check(t, "closed", got, 503, "store-unavailable")
	if got.header.Get("Retry-After") == "" || n.Load() != 0 {
		t.Errorf("closed: header %v, executed %d times", got.header, n.Load())
	}
	got = d.send(t, http.MethodPost, "/open", "", "Idempotency-Key", "k")
	check(t, "open", got, 201, "1")
	wantWord(t, "open", got, "unprotected")
	check(t, "without key", d.send(t, http.MethodPost, "/", ""), 201, "2")
	d.until(t, `semel_requests_total{outcome="unprotected",route="open"} 1`)
	dead.Heal()
}

// TestLogAndMetrics: one line per decision, and nothing secret in it.
func TestLogAndMetrics(t *testing.T) {
	t.Parallel()
	target, _ := counting(t)
	var lines safeBuffer
	d := open(t, target, func(c *gateway.Config) {
		c.Logger = slog.New(slog.NewJSONHandler(&lines, nil))
		c.KeyRequired = true
	})
	secrets := []string{"Authorization", "Bearer s3cr3t-token", "Cookie", "sessionid=s3cr3t-cookie"}
	key := append(secrets, "Idempotency-Key", "s3cr3t-key")
	check(t, "first", d.send(t, http.MethodPost, "/pay?s3cr3t=query", "s3cr3t-body", key...), 201, "1")
	check(t, "replay", d.send(t, http.MethodPost, "/pay?s3cr3t=query", "s3cr3t-body", key...), 201, "1")
	check(t, "mismatch", d.send(t, http.MethodPost, "/pay?s3cr3t=query", "other", key...), 422, "key-reused")
	check(t, "no key", d.send(t, http.MethodPost, "/pay", "", secrets...), 400, "key-missing")
	for _, line := range []string{
		`semel_requests_total{outcome="executed",route="default"} 1`, `semel_requests_total{outcome="replayed",route="default"} 1`,
		`semel_requests_total{outcome="mismatch",route="default"} 1`, `semel_requests_total{outcome="key-missing",route="default"} 1`,
		`semel_claim_seconds_count 3`, `semel_settle_seconds_count{state="completed"} 1`, `semel_live_claims 0`, `semel_waiters 0`, `semel_records 1`,
	} {
		d.until(t, line)
	}
	text := lines.String()
	if n := strings.Count(text, `"msg":"decision"`); n != 4 {
		t.Errorf("%d decisions logged, want 4:\n%s", n, text)
	}
	if strings.Contains(text, "s3cr3t") {
		t.Errorf("a secret was logged:\n%s", text)
	}
	for _, part := range []string{`"outcome":"executed"`, `"method":"POST"`, `"route":"default"`, `"status":201`, `"fence":1`, `"attempt":1`, `"begin_ms":`, `"took_ms":`} {
		if !strings.Contains(text, part) {
			t.Errorf("the log has no %s:\n%s", part, text)
		}
	}
}

type safeBuffer struct {
	mu sync.Mutex // guards the field below
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestTLS: HTTP/2, HTTP/1 and client certificates as scope.
func TestTLS(t *testing.T) {
	t.Parallel()
	target, _ := counting(t)
	dir := t.TempDir()
	serverCert := certificate(t, dir, "server")
	alice, bob := certificate(t, dir, "alice"), certificate(t, dir, "bob")
	authorities := filepath.Join(dir, "clients.pem")
	var both []byte
	for _, name := range []string{"alice", "bob"} {
		text := must.Get(os.ReadFile(filepath.Join(dir, name+".pem")))
		both = append(both, text...)
	}
	noError(t, os.WriteFile(authorities, both, 0o600))
	d := open(t, target, func(c *gateway.Config) {
		c.CertFile, c.KeyFile, c.ClientCAFile = filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key"), authorities
	})
	d.url = strings.Replace(d.url, "http://", "https://", 1)
	roots := x509.NewCertPool()
	roots.AddCert(serverCert.Leaf)
	as := func(h2 bool, certs ...tls.Certificate) {
		transport := &http.Transport{ForceAttemptHTTP2: h2, TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: certs, ServerName: "localhost"}}
		t.Cleanup(transport.CloseIdleConnections)
		d.client = &http.Client{Transport: transport, Timeout: patience}
	}
	steps := []struct {
		name  string
		h2    bool
		certs []tls.Certificate
		want  string
	}{
		{"no credentials over HTTP/2", true, nil, "1"},
		{"alice", true, []tls.Certificate{alice}, "2"},
		{"bob", true, []tls.Certificate{bob}, "3"},
		{"alice over HTTP/1", false, []tls.Certificate{alice}, "2"},
		{"no credentials over HTTP/1", false, nil, "1"},
	}
	for _, s := range steps {
		as(s.h2, s.certs...)
		check(t, s.name, d.send(t, http.MethodPost, "/", "", "Idempotency-Key", "k"), 201, s.want)
	}
}

// certificate writes a self-signed certificate and its key.
func certificate(t *testing.T, dir, name string) tls.Certificate {
	t.Helper()
	return certificateUntil(t, dir, name, time.Now().Add(time.Hour))
}

func certificateUntil(t *testing.T, dir, name string, until time.Time) tls.Certificate {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: until.Add(-2 * time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	keyDER := must.Get(x509.MarshalPKCS8PrivateKey(key))
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	for file, text := range map[string][]byte{name + ".pem": certPEM, name + ".key": keyPEM} {
		noError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
	}
	return must.Get(tls.X509KeyPair(certPEM, keyPEM))
}

// TestNoClearHTTP2: HTTP/2 is not spoken in the clear.
func TestNoClearHTTP2(t *testing.T) {
	t.Parallel()
	target, n := counting(t)
	d := open(t, target, nil)
	if answer, _ := d.hear(t, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); !strings.HasPrefix(answer, "HTTP/1.1 505") {
		t.Errorf("answer %q", answer)
	}
	wantActed(t, n, 0)
}

// TestConfigProblems: New reports a config that cannot work, with what to do.
func TestConfigProblems(t *testing.T) {
	t.Parallel()
	records := memstore.New(nil)
	tests := []struct {
		config *gateway.Config
		want   string
	}{
		{nil, "gateway: config is nil"},
		{&gateway.Config{}, "gateway: upstream is missing (write it like http://127.0.0.1:9000)\ngateway: store is missing (open one, such as sqlite:semel.db)"},
		{&gateway.Config{Store: records, Upstream: "localhost:9000"}, `gateway: upstream "localhost:9000" does not start with http:// or https:// (write it like http://127.0.0.1:9000)`},
		{&gateway.Config{Store: records, Upstream: "http://"}, `gateway: upstream "http://" names no host (write it like http://127.0.0.1:9000)`},
		{&gateway.Config{Store: records, Upstream: "http://u:p@h"}, "gateway: upstream holds a user name or password (callers' credentials are passed on as they are; remove it)"},
		{&gateway.Config{Store: records, Upstream: "http://u:s3%zzcret@h"}, "gateway: upstream holds a user name or password (callers' credentials are passed on as they are; remove it)"},
		{&gateway.Config{Store: records, Upstream: "http://u:s3cr/et@h"}, "gateway: upstream holds a user name or password (callers' credentials are passed on as they are; remove it)"},
		{&gateway.Config{Store: records, Upstream: "u:s3cret@h:9000"}, "gateway: upstream holds a user name or password (callers' credentials are passed on as they are; remove it)"},
		{&gateway.Config{Store: records, Upstream: "http//u:s3cret@h"}, "gateway: upstream holds a user name or password (callers' credentials are passed on as they are; remove it)"},
		{&gateway.Config{Store: records, Upstream: "http:/u:s3cret@h"}, "gateway: upstream holds a user name or password (callers' credentials are passed on as they are; remove it)"},
		{&gateway.Config{Store: records, Upstream: "http:///u:s3cret@h"}, "gateway: upstream holds a user name or password (callers' credentials are passed on as they are; remove it)"},
		{&gateway.Config{Store: records, Upstream: "/u:s3cret@h"}, "gateway: upstream holds a user name or password (callers' credentials are passed on as they are; remove it)"},
		{&gateway.Config{Store: records, Upstream: "http://h:x"}, `gateway: upstream is not a URL (write it like http://127.0.0.1:9000): parse "http://h:x": invalid port ":x" after host`},
		{&gateway.Config{Store: records, Upstream: "http://h?x"}, `gateway: upstream "http://h" holds a query or fragment (remove it)`},
		{&gateway.Config{Store: records, Upstream: "http://h", CertFile: "a"}, "gateway: a certificate and its key belong together (set both files, or neither)"},
		{&gateway.Config{Store: records, Upstream: "http://h", ClientCAFile: "a"}, "gateway: client certificates need TLS (set the certificate and key files too)"},
		{&gateway.Config{Store: records, Upstream: "http://h", DialTimeout: -1}, "gateway: dial timeout -1ns is negative (leave it out for the default)"},
		{&gateway.Config{Store: records, Upstream: "http://h", TrustedProxies: make([]netip.Prefix, 1)}, "gateway: a trusted proxy is not a network (write it like 10.0.0.0/8)"},
		{&gateway.Config{Store: records, Upstream: "http://h", MaxHeaderBytes: 1}, "gateway: max header of 1 bytes is too small (at least 1024)"},
	}
	for _, tt := range tests {
		_, err := gateway.New(tt.config)
		if fmt.Sprint(err) != tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
	if _, err := gateway.New(&gateway.Config{Store: records, Upstream: "http://h", Guard: semel.Options{Secrets: [][]byte{[]byte("x")}}}); err == nil {
		t.Error("got no error for a guard that cannot be made")
	}
	taken := listen(t)
	g := must.Get(gateway.New(&gateway.Config{Store: records, Upstream: "http://h", Listen: taken.Addr().String(), AdminListen: "off"}))
	if err := g.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is another program using it?") {
		t.Errorf("listen twice: %v", err)
	}
}
