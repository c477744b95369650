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

// script is an upstream that answers its first request as written, and every later one with 201.
func script(t *testing.T, commits *atomic.Int32, first func(net.Conn)) string {
	t.Helper()
	return rawAnswers(t, func(conn net.Conn, _ *http.Request) bool {
		if commits.Add(1) == 1 {
			first(conn)
			return false
		}
		_, err := io.WriteString(conn, "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nlater")
		return err == nil
	})
}

// TestUpstreamBreaks (promise 3): a request that was sent and not answered completely is unknown, is not executed again, and its
// half answer is neither passed on as a whole one nor kept.
func TestUpstreamBreaks(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 200<<10)
	writes := func(text string) func(net.Conn) {
		return func(c net.Conn) { _, _ = io.WriteString(c, text) }
	}
	tests := []struct {
		name   string
		first  func(net.Conn)
		status int // 0: the connection is cut
	}{
		{"hangs up without a word", writes(""), 502},
		{"resets", func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }, 502},
		{"answers garbage", writes("220 smtp ready\r\n"), 502},
		{"answers with an invalid status", writes("HTTP/1.1 099 Huh\r\nContent-Length: 2\r\n\r\nok"), 502},
		{"breaks off in the header", writes("HTTP/1.1 201 Created\r\nContent-Le"), 502},
		{"header too long", writes("HTTP/1.1 201 Created\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"), 502},
		{"lies about Content-Length", writes("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nhalf"), 502},
		{"breaks off in a chunk", writes("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"), 502},
		{"breaks off between chunks", writes("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), 502},
		{"breaks off late", writes("HTTP/1.1 201 Created\r\nContent-Length: 300000\r\n\r\n" + big), 0},
		{"hangs", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, 504},
		{"hangs in the body", func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nhalf")
			_, _ = io.Copy(io.Discard, c)
		}, 502},
	}
	for _, way := range ways() {
		for _, tt := range tests {
			t.Run(way+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				var commits atomic.Int32
				d := openVia(t, way, script(t, &commits, tt.first), func(c *gateway.Config) {
					if strings.HasPrefix(tt.name, "hangs") && tt.name != "hangs up without a word" {
						c.AnswerTimeout = 50 * time.Millisecond
						c.Guard.Policy.MaxRun = 400 * time.Millisecond
						c.Guard.Policy.Lease = 300 * time.Millisecond
					}
				})
				got := d.send(t, http.MethodPost, "/pay", "a=1", "Idempotency-Key", "k")
				if tt.status == 0 {
					if got.err == nil {
						t.Errorf("half an answer came as a whole one: %d, %d bytes", got.status, len(got.body))
					}
				} else {
					check(t, "first", got, tt.status, "outcome-unknown")
					if word := got.word(); word != "unknown" {
						t.Errorf("first: Idempotency-Status %q", word)
					}
				}
				check(t, "retry", d.send(t, http.MethodPost, "/pay", "a=1", "Idempotency-Key", "k"), 409, "outcome-unknown")
				check(t, "another key", d.send(t, http.MethodPost, "/pay", "a=1", "Idempotency-Key", "other"), 201, "later")
				if n := commits.Load(); n != 2 {
					t.Errorf("upstream saw %d requests, want 2: the first and that with another key", n)
				}
			})
		}
	}
}

// TestUpstreamUnreachable (promise 3): what was never sent is released, and the same key runs as soon as the upstream is there.
func TestUpstreamUnreachable(t *testing.T) {
	t.Parallel()
	// No connection of another test takes a port of this address while no server has it.
	l := listenAt(t, "127.48.0.1:0")
	address := l.Addr().String()
	_ = l.Close()
	d := open(t, "http://"+address, nil)
	got := d.send(t, http.MethodPost, "/pay", "a=1", "Idempotency-Key", "k")
	check(t, "refused", got, 502, "upstream-unreachable")
	if got.word() != "released" || got.header.Get("Retry-After") == "" {
		t.Errorf("refused: header %v", got.header)
	}
	check(t, "without key", d.send(t, http.MethodGet, "/", ""), 502, "upstream-unreachable")

	again := listenAt(t, address)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })}
	go func() { _ = server.Serve(again) }()
	t.Cleanup(func() { _ = server.Close() })
	check(t, "retry", d.send(t, http.MethodPost, "/pay", "a=1", "Idempotency-Key", "k"), 201, "")
}

// TestTLSRefused: a TLS handshake that fails has sent nothing of the request.
func TestTLSRefused(t *testing.T) {
	t.Parallel()
	target := upstream(t, func(http.ResponseWriter, *http.Request) { t.Error("the request arrived") })
	d := open(t, strings.Replace(target, "http://", "https://", 1), nil)
	for range 2 {
		check(t, "no TLS there", d.send(t, http.MethodPost, "/", "", "Idempotency-Key", "k"), 502, "upstream-unreachable")
	}
}

// TestUpstreamAnswersTwice: no caller gets the second answer.
func TestUpstreamAnswersTwice(t *testing.T) {
	t.Parallel()
	var commits atomic.Int32
	target := rawAnswers(t, func(conn net.Conn, _ *http.Request) bool {
		text := "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nnext"
		if commits.Add(1) == 1 {
			text = "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nfirst" + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond"
		}
		_, err := io.WriteString(conn, text)
		return err == nil
	})
	d := open(t, target, nil)
	check(t, "first", d.send(t, http.MethodPost, "/", "a", "Idempotency-Key", "1"), 201, "first")
	check(t, "next", d.send(t, http.MethodPost, "/", "b", "Idempotency-Key", "2"), 201, "next")
	check(t, "replay", d.send(t, http.MethodPost, "/", "a", "Idempotency-Key", "1"), 201, "first")
}

// TestUpstreamAnswersEarly: an answer that does not wait for the body is an answer.
func TestUpstreamAnswersEarly(t *testing.T) {
	t.Parallel()
	target := rawUpstream(t, func(conn net.Conn, br *bufio.Reader) {
		for {
			req, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 422 Unprocessable Content\r\nContent-Length: 2\r\n\r\nno")
			_, _ = io.Copy(io.Discard, req.Body)
		}
	})
	d := open(t, target, nil)
	body := strings.Repeat("x", 4<<20)
	for range 4 {
		check(t, "without key", d.send(t, http.MethodPost, "/", body), 422, "no")
	}
	check(t, "first", d.send(t, http.MethodPost, "/", body, "Idempotency-Key", "k"), 422, "no")
	got := d.send(t, http.MethodPost, "/", body, "Idempotency-Key", "k")
	check(t, "again", got, 422, "no")
	if got.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("again: not a replay: %v", got.header)
	}
}
