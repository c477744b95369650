package gateway_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

var noError = claimtest.NoError

// patience bounds what a test waits for before it calls it hung.
const patience = time.Minute

// door is a running gateway.
type door struct {
	*gateway.Gateway
	url, admin string
	client     *http.Client
	stop       context.CancelFunc
	done       chan error // what Serve returned
}

// open starts a gateway over loopback in front of upstream; set may change the config before.
func open(t *testing.T, upstream string, set func(*gateway.Config)) *door {
	t.Helper()
	return openVia(t, os.Getenv("SEMEL_GATEWAY_WAY"), upstream, set) // the long form goes both ways
}

// transport is the way to the application through net/http's transport, the other one being connections of the gateway's own.
const transport = "transport"

// ways are those to an application that speaks HTTP/1.1 without TLS.
func ways() []string { return []string{"http1", transport} }

// openVia is open with one of the ways to the application.
func openVia(t *testing.T, way, upstream string, set func(*gateway.Config)) *door {
	t.Helper()
	config := &gateway.Config{
		Upstream: upstream, DialTimeout: patience, AnswerTimeout: patience, DrainTimeout: patience,
		Guard: semel.Options{SweepEvery: -1},
	}
	if set != nil {
		set(config)
	}
	if config.Store == nil {
		config.Store = store(t)
	}
	g := must.Get(gateway.New(config))
	if way == transport {
		g.ThroughTransport()
	}
	front, admin := listen(t), listen(t)
	ctx, stop := context.WithCancel(t.Context())
	d := &door{
		Gateway: g, url: "http://" + front.Addr().String(), admin: "http://" + admin.Addr().String(),
		client: newClient(t), stop: stop, done: make(chan error, 1),
	}
	go func() { d.done <- g.Serve(ctx, front, admin) }()
	t.Cleanup(func() {
		stop()
		if err := d.wait(t); err != nil {
			t.Errorf("drain: %v", err)
		}
	})
	return d
}

// openRuled is open with rules.
func openRuled(t *testing.T, upstream, text string) *door {
	t.Helper()
	return open(t, upstream, func(c *gateway.Config) { c.Rules = parse(t, text) })
}

// wait returns what Serve returned.
func (d *door) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-d.done:
		d.done <- err
		return err
	case <-time.After(patience):
		t.Fatal("the gateway does not stop")
		return nil
	}
}

func store(t *testing.T) semel.Store {
	t.Helper()
	s := memstore.New(nil)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func listen(t *testing.T) net.Listener { t.Helper(); return listenAt(t, "127.0.0.1:0") }

func listenAt(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func newClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport: transport, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

// problem returns the last part of a problem's type.
func (r *reply) problem() string {
	var p struct{ Type string }
	if json.Unmarshal([]byte(r.body), &p) != nil {
		return ""
	}
	return strings.TrimPrefix(p.Type, "urn:semel:problem:")
}

// word returns what Semel says that it did.
func (r *reply) word() string { return r.header.Get(semelhttp.StatusHeader) }

// wantWord checks what Semel says that it did.
func wantWord(t *testing.T, what string, got reply, word string) {
	t.Helper()
	if got.word() != word {
		t.Errorf("%s: got %d %q %s %v, want %s", what, got.status, got.word(), got.body, got.err, word)
	}
}

// wantOnce sends a request twice: it is executed, then replayed.
func wantOnce(t *testing.T, what string, send func() reply) {
	t.Helper()
	for _, word := range []string{"executed", "replayed"} {
		wantWord(t, what, send(), word)
	}
}

// wantActed checks how often an upstream acted.
func wantActed(t *testing.T, n *atomic.Int32, want int32) {
	t.Helper()
	if got := n.Load(); got != want {
		t.Errorf("the upstream acted %d times, want %d", got, want)
	}
}

// send sends one request; header is pairs of name and value.
func (d *door) send(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	return d.sendContext(t.Context(), method, path, strings.NewReader(body), header...)
}

// operate is send to the admin address.
func (d *door) operate(t *testing.T, method, path string, header ...string) reply {
	t.Helper()
	return (&door{url: d.admin, client: d.client}).send(t, method, path, "", header...)
}

func (d *door) sendContext(ctx context.Context, method, path string, body io.Reader, header ...string) reply {
	res, err := d.answer(ctx, method, path, body, header...)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return reply{status: res.StatusCode, header: res.Header, body: string(text), err: err}
}

// stream is send for an answer whose body the test reads itself.
func (d *door) stream(t *testing.T, method, path string, body io.Reader, header ...string) *http.Response {
	t.Helper()
	res, err := d.answer(t.Context(), method, path, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func (d *door) answer(ctx context.Context, method, path string, body io.Reader, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, d.url+path, body)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Add(header[i], header[i+1])
	}
	return d.client.Do(req)
}

func dial(t *testing.T, d *door) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// talk sends raw bytes over a connection of its own, and returns the header of the first answer.
func (d *door) talk(t *testing.T, text string) (net.Conn, *http.Response) {
	t.Helper()
	conn := dial(t, d)
	_, _ = io.WriteString(conn, text)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return conn, res
}

// hear sends raw bytes over a connection of its own, and returns all that comes until it is closed.
func (d *door) hear(t *testing.T, text string) (string, error) {
	t.Helper()
	conn := dial(t, d)
	_, _ = io.WriteString(conn, text)
	all, err := io.ReadAll(conn)
	return string(all), err
}

// openTLS is open over TLS and HTTP/2.
func openTLS(t *testing.T, upstream string, set func(*gateway.Config)) *door {
	t.Helper()
	dir := t.TempDir()
	certificate(t, dir, "server")
	d := open(t, upstream, func(c *gateway.Config) {
		c.CertFile, c.KeyFile = filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")
		set(c)
	})
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	d.client.Transport = transport
	d.url = strings.Replace(d.url, "http://", "https://", 1)
	return d
}

// breakable is a store in memory that can be cut off.
func breakable(t *testing.T) *storetest.Faulty {
	t.Helper()
	return storetest.Break(store(t), storetest.Faults{})
}

// upstream starts an application.
func upstream(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// rawUpstream starts a listener whose connections, each in its own goroutine,
// are handled by serve; they are closed after it and at the end of the test.
func rawUpstream(t *testing.T, serve func(net.Conn, *bufio.Reader)) string {
	t.Helper()
	l := listen(t)
	var (
		mu    sync.Mutex
		conns []net.Conn
		all   sync.WaitGroup
	)
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			all.Go(func() {
				defer conn.Close()
				serve(conn, bufio.NewReader(conn))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return "http://" + l.Addr().String()
}

// rawAnswers is rawUpstream for requests that are read whole; answer reports whether the connection goes on.
func rawAnswers(t *testing.T, answer func(net.Conn, *http.Request) bool) string {
	t.Helper()
	return rawUpstream(t, func(conn net.Conn, br *bufio.Reader) {
		for {
			if req, err := readRequest(br); err != nil || !answer(conn, req) {
				return
			}
		}
	})
}

// readRequest reads one request with its body.
func readRequest(br *bufio.Reader) (*http.Request, error) {
	req, err := http.ReadRequest(br)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return req, err
}

// receive waits for a value.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// parse reads rules.
func parse(tb testing.TB, text string) *rules.File {
	tb.Helper()
	return must.Get(rules.Parse("rules.yaml", []byte(text)))
}

// check compares status and problem or body.
func check(t *testing.T, what string, got reply, status int, word string) {
	t.Helper()
	if got.err != nil || got.status != status || (got.problem() != word && got.body != word) {
		t.Errorf("%s: got %d %q %v, want %d %q", what, got.status, got.body, got.err, status, word)
	}
}
