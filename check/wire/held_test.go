package wire_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel/check/wire"
)

// tap records the bytes written to a connection.
type tap struct {
	net.Conn

	mu   sync.Mutex // guards sent
	sent []byte
}

func (t *tap) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.sent = append(t.sent, b...)
	t.mu.Unlock()
	return t.Conn.Write(b)
}

func (t *tap) written() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.sent)
}

func posting(t *testing.T, to, body string) *wire.Request {
	t.Helper()
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return &wire.Request{Method: http.MethodPost, URL: at, Body: []byte(body)}
}

// parrot answers with the length of the body.
func parrot(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(bytes.ToUpper(body[:min(len(body), 10)]))
}

func TestHeldRequestsEndWhenTheyAreReleased(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(parrot))
	t.Cleanup(server.Close)
	large := strings.Repeat("a", 32<<10)
	for name, one := range map[string]struct{ body, early, answer string }{
		"no body":    {"", "Connection: close\r\n\r", ""},
		"small body": {"abc", "Connection: close\r\n\r", "ABC"},
		"large body": {large, "\r\n\r\n" + large[1:], "AAAAAAAAAA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var conn *tap
			client := &wire.Client{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
				conn = &tap{Conn: raw}
				return conn, err
			}}
			held, err := client.Prepare(t.Context(), posting(t, server.URL, one.body))
			if err != nil {
				t.Fatal(err)
			}
			if early := conn.written(); !strings.HasSuffix(early, one.early) {
				t.Errorf("before the release %d bytes were sent, to …%q", len(early), early[max(0, len(early)-40):])
			}
			answer, err := held.Release(t.Context())
			if err != nil || answer.Status != http.StatusCreated || string(answer.Body) != one.answer || answer.Took <= 0 {
				t.Errorf("answer %v, %v", answer, err)
			}
			if all := conn.written(); !strings.HasSuffix(all, "\r\n\r\n"+one.body) {
				t.Error("the end was not sent")
			}
			held.Close() // does nothing
		})
	}
}

func TestHeldRequestsOverTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(parrot))
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	client := &wire.Client{TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	held, err := client.Prepare(t.Context(), posting(t, server.URL, "abc"))
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := held.Release(t.Context()); err != nil || string(answer.Body) != "ABC" {
		t.Errorf("answer %v, %v", answer, err)
	}
}

func TestHeldRequestsThatGetNoAnswer(t *testing.T) {
	t.Parallel()
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		_, err := (&wire.Client{}).Prepare(t.Context(), posting(t, "http://127.0.0.1:1/", "abc"))
		if !errors.Is(err, wire.ErrUnreachable) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("context ended before", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := (&wire.Client{}).Prepare(ctx, posting(t, "http://127.0.0.1:1/", "abc"))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice a closed connection
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	for name, test := range map[string]struct {
		client wire.Client
		before func(held *wire.Held, cancel func()) // the release
		want   error
	}{
		"silence":             {wire.Client{Timeout: 50 * time.Millisecond, Dial: connectsAnyway}, func(*wire.Held, func()) {}, wire.ErrTimeout},
		"context ended later": {wire.Client{}, func(_ *wire.Held, cancel func()) { cancel() }, context.Canceled},
		"closed":              {wire.Client{}, func(held *wire.Held, _ func()) { held.Close() }, wire.ErrCut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held, err := test.client.Prepare(t.Context(), posting(t, silent.URL, "abc"))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			test.before(held, cancel)
			if answer, err := held.Release(ctx); !errors.Is(err, test.want) {
				t.Errorf("answer %v, %v", answer, err)
			}
		})
	}
}

// TestHeldRequestsThatAreAnsweredEarly: a service may refuse and close before it has read the request.
func TestHeldRequestsThatAreAnsweredEarly(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n")
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}()
	held, err := (&wire.Client{}).Prepare(t.Context(), posting(t, "http://"+listener.Addr().String()+"/", "abc"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := held.Release(t.Context())
	if err != nil || answer.Status != http.StatusServiceUnavailable {
		t.Errorf("answer %v, %v", answer, err)
	}
	<-answered
}
