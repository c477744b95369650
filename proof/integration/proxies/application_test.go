package proxies_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// application executes every order that it is sent.
type application struct {
	loses bool // answers, as losesAnswer says

	mu     sync.Mutex // guards the fields below
	orders map[string]int
	protos map[string]bool // of requests
	again  chan struct{}   // closed by the second attempt at an order that begins with "/unread", whose body the first one does not read before
}

// newApplication returns one that loses the answers to first attempts, or none.
func newApplication(loses bool) *application {
	return &application{loses: loses, orders: map[string]int{}, protos: map[string]bool{}, again: make(chan struct{})}
}

// ServeHTTP executes an order, whose name is the path. GET counts all executions.
func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		a.mu.Lock()
		defer a.mu.Unlock()
		var total int
		for _, n := range a.orders {
			total += n
		}
		_, _ = fmt.Fprintf(w, `{"executed": %d}`, total)
		return
	}
	a.mu.Lock()
	a.orders[r.URL.Path]++
	n := a.orders[r.URL.Path]
	a.protos[r.Proto] = true
	a.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/unread") {
		if n == 2 {
			close(a.again)
		}
		select {
		case <-a.again:
		case <-time.After(patience):
		}
	}
	_, _ = io.Copy(io.Discard, r.Body)
	if n == 1 && a.loses && losesAnswer(r) {
		hangUp(r)
		return
	}
	w.Header().Set("Location", fmt.Sprintf("%s/%d", r.URL.Path, n))
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, "%s, execution %d", r.URL.Path, n)
}

func (a *application) executed(path string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.orders[path]
}

// spoke reports whether a request came in the protocol, such as "HTTP/2.0".
func (a *application) spoke(proto string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.protos[proto]
}

// want reports when an order was not executed so many times.
func (a *application) want(t *testing.T, path string, n int) {
	t.Helper()
	if got := a.executed(path); got != n {
		t.Errorf("%s was executed %d times, want %d", path, got, n)
	}
}

type connection struct{}

// losesAnswer reports whether the path asks for a connection that is closed, or reset, instead of an answer.
func losesAnswer(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/lost") || resets(r) }

func resets(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/reset") }

// hangUp ends the connection of a request.
func hangUp(r *http.Request) {
	conn, _ := r.Context().Value(connection{}).(net.Conn)
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn() // without a farewell
	}
	if tcp, ok := conn.(*net.TCPConn); ok && resets(r) {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// serve serves a handler at a free address (host:port), with HTTP/2 over TLS if there are settings for it.
func serve(t *testing.T, h http.Handler, secure *tls.Config) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	address := server.Listener.Addr().String()
	begin(t, server, secure)
	return address
}

func begin(t *testing.T, server *httptest.Server, secure *tls.Config) {
	t.Helper()
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connection{}, c)
	}
	if server.TLS = secure; secure != nil {
		server.EnableHTTP2 = true
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
}

// twice serves a handler at two addresses.
func twice(t *testing.T, h http.Handler, secure *tls.Config) []string {
	t.Helper()
	return []string{serve(t, h, secure), serve(t, h, secure)}
}

// reservation is an address where nothing listens yet.
type reservation struct{ address string }

func reserve(t *testing.T) reservation {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	return reservation{l.Addr().String()}
}

func (r reservation) serve(t *testing.T, h http.Handler) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", r.address)
	must(t, err)
	server := httptest.NewUnstartedServer(h)
	must(t, server.Listener.Close())
	server.Listener = l
	begin(t, server, nil)
}
