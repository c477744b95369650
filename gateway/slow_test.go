package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/gateway"
)

// TestSlowReaders (promise 8): a caller that takes no more of its answer is cut
// off, of a live one and of a replay; one that is slow is not.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	const size = 16 << 20 // more than the buffers between
	answer := strings.Repeat("x", size)
	target := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, answer)
	})
	for _, tt := range []struct {
		name, header string
		slow         bool
	}{
		{"live", "", false},
		{"executed", "Idempotency-Key: fresh\r\n", false},
		{"replay", "Idempotency-Key: k\r\n", false},
		{"a slow one", "Idempotency-Key: k\r\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			records, idle := store(t), 300*time.Millisecond
			if tt.slow {
				idle = 2 * time.Second
			}
			config := func(c *gateway.Config) {
				c.Store = records
				c.Rules = parse(t, "version: 1\nroutes:\n  - {name: r, match: {path: /}, response_limit: 32MiB}\n")
			}
			d := open(t, target, func(c *gateway.Config) {
				config(c)
				c.BodyIdleTimeout = idle
			})
			if strings.HasSuffix(tt.header, " k\r\n") { // its answer is recorded before
				if got := open(t, target, config).send(t, http.MethodPost, "/", "", "Idempotency-Key", "k", "Host", "h"); len(got.body) != size {
					t.Fatalf("got %d %v and %d bytes", got.status, got.err, len(got.body))
				}
			}
			conn := dial(t, d)
			if !tt.slow {
				_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			}
			_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n"+tt.header+"\r\n")
			_ = conn.SetReadDeadline(time.Now().Add(patience))
			res, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // closing it would read the rest.
			if err != nil {
				t.Fatal(err)
			}
			if tt.slow {
				tick := time.NewTicker(125 * time.Millisecond)
				defer tick.Stop()
				for range 20 { // for longer than the deadline
					<-tick.C
					if _, err := io.CopyN(io.Discard, res.Body, 256<<10); err != nil {
						t.Fatalf("cut off: %v", err)
					}
				}
				if n, err := io.Copy(io.Discard, res.Body); err != nil || n != size-20*256<<10 {
					t.Errorf("the rest has %d bytes, %v", n, err)
				}
				return
			}
			d.stop() // waits for what is being answered
			if err := d.wait(t); err != nil {
				t.Errorf("the caller that reads nothing held the gateway up: %v", err)
			}
		})
	}
}

// TestSilentStream: over HTTP/2, and under a key, a stream that has a reader may be silent for longer than a caller may stall.
func TestSilentStream(t *testing.T) {
	t.Parallel()
	const idle = 100 * time.Millisecond
	target := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 2 {
			_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			<-time.After(4 * idle)
		}
	})
	set := func(c *gateway.Config) { c.BodyIdleTimeout = idle }
	check(t, "HTTP/2", openTLS(t, target, set).send(t, http.MethodGet, "/", ""), http.StatusOK, "data: 0\n\ndata: 1\n\n")
	check(t, "a key", open(t, target, set).send(t, http.MethodPost, "/", "", "Idempotency-Key", "k"), http.StatusOK, "data: 0\n\ndata: 1\n\n")
}
