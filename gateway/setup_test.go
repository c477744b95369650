package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
)

// patience bounds what a test waits for before it calls it hung.
const patience = 20 * time.Second

// door is a running gateway.
type door struct {
	*gateway.Gateway
	url, admin string
	client     *http.Client
	stop       context.CancelFunc
	done       chan error // what Serve returned
}

// open starts a gateway over loopback in front of upstream; set may change the
// config before.
func open(t *testing.T, upstream string, set func(*gateway.Config)) *door {
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
	g, err := gateway.New(config)
	if err != nil {
		t.Fatal(err)
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

func listen(t *testing.T) net.Listener {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
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

// send sends one request; header is pairs of name and value.
func (d *door) send(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	return d.sendContext(t.Context(), method, path, strings.NewReader(body), header...)
}

func (d *door) sendContext(ctx context.Context, method, path string, body io.Reader, header ...string) reply {
	req, err := http.NewRequestWithContext(ctx, method, d.url+path, body)
	if err != nil {
		return reply{err: err}
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Add(header[i], header[i+1])
	}
	res, err := d.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return reply{status: res.StatusCode, header: res.Header, body: string(text), err: err}
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
	file, err := rules.Parse("rules.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

// check compares status and problem or body.
func check(t *testing.T, what string, got reply, status int, word string) {
	t.Helper()
	if got.err != nil || got.status != status || (got.problem() != word && got.body != word) {
		t.Errorf("%s: got %d %q %v, want %d %q", what, got.status, got.body, got.err, status, word)
	}
}
