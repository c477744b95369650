package gateway_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/gateway"
)

// TestConnectionClosedMeanwhile (promise 3): no request goes out on a connection that the application has closed since the last
// one, so that none is unknown for it.
func TestConnectionClosedMeanwhile(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 1)
	var commits atomic.Int32
	target := rawUpstream(t, func(conn net.Conn, br *bufio.Reader) {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		commits.Add(1)
		_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok")
		_ = conn.Close()
		closed <- struct{}{}
	})
	d := open(t, target, nil)
	for _, key := range []string{"1", "2", "3"} {
		check(t, key, d.send(t, http.MethodPost, "/", "a", "Idempotency-Key", key), 201, "ok")
		receive(t, closed)
	}
	wantActed(t, &commits, 3)
}

// TestReadsAreRepeated (promise 3): a GET without a key that a kept connection swallowed is sent again; a POST is not.
func TestReadsAreRepeated(t *testing.T) {
	t.Parallel()
	var arrived atomic.Int32
	target := rawUpstream(t, func(conn net.Conn, br *bufio.Reader) {
		for n := 0; ; n++ {
			req, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			arrived.Add(1)
			if n == 1 && req.URL.Path == "/swallowed" {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	d := open(t, target, nil)
	check(t, "warm up", d.send(t, http.MethodGet, "/", ""), 200, "ok")
	check(t, "without a key", d.send(t, http.MethodGet, "/swallowed", ""), 200, "ok")
	wantActed(t, &arrived, 3)
	check(t, "with a key", d.send(t, http.MethodPost, "/swallowed", "", "Idempotency-Key", "k"), 502, "outcome-unknown")
	wantActed(t, &arrived, 4)
}

// TestIdleConnectionsEnd: the gateway closes a connection that no request used for UpstreamIdleTimeout, and one that the
// application has closed.
func TestIdleConnectionsEnd(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 1)
	target := rawUpstream(t, func(conn net.Conn, br *bufio.Reader) {
		if _, err := http.ReadRequest(br); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			_, _ = br.ReadByte()
			ended <- struct{}{}
		}
	})
	d := open(t, target, func(c *gateway.Config) { c.UpstreamIdleTimeout = 20 * time.Millisecond })
	check(t, "answer", d.send(t, http.MethodGet, "/", ""), 200, "ok")
	receive(t, ended)
}

// TestUnreadRequestEnds: on a connection of our own, an application that takes no more of a request is given up after AnswerTimeout, and the outcome is unknown.
func TestUnreadRequestEnds(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	target := rawUpstream(t, func(net.Conn, *bufio.Reader) { <-over })
	t.Cleanup(func() { close(over) })
	d := openVia(t, "http1", target, func(c *gateway.Config) { c.AnswerTimeout, c.MaxHeaderBytes = 50*time.Millisecond, 64<<20 })
	got := d.send(t, http.MethodPost, "/", "", "Idempotency-Key", "k", "X-Long", strings.Repeat("x", 32<<20))
	check(t, "unread", got, 504, "outcome-unknown")
}
