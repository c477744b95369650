package gateway_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/gateway"
)

// stalling starts an upstream whose answers begin, and then stall: a stream of events, or, under /large, more than is kept. Each
// reports when the gateway hangs up.
func stalling(t *testing.T) (url string, hungUp chan string) {
	t.Helper()
	hungUp = make(chan string, 4096)
	return rawUpstream(t, func(conn net.Conn, br *bufio.Reader) {
		for {
			req, err := readRequest(br)
			if err != nil {
				return
			}
			switch req.URL.Path {
			case "/events":
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: 1\n\r\n")
			case "/large":
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"+strings.Repeat("x", 100<<10))
			default:
				_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok")
				continue
			}
			_, _ = br.ReadByte()
			hungUp <- req.URL.Path
			return
		}
	}), hungUp
}

// abandon sends a request under a key, reads the beginning of its answer, and hangs up.
func abandon(t *testing.T, d *door, path, key string) (status int) {
	t.Helper()
	conn, res := d.talk(t, "POST "+path+" HTTP/1.1\r\nHost: h\r\nIdempotency-Key: "+key+"\r\nContent-Length: 0\r\n\r\n") //nolint:bodyclose // closing it would read the rest.
	defer conn.Close()
	if res.StatusCode == http.StatusOK {
		_, _ = io.ReadFull(res.Body, make([]byte, 8))
	}
	return res.StatusCode
}

// TestAbandonedStreams (promise 8): a stream whose caller has gone ends when it stalls, and gives its seat back.
func TestAbandonedStreams(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/events", "/large"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			target, hungUp := stalling(t)
			d := open(t, target, func(c *gateway.Config) {
				c.BodyIdleTimeout, c.Guard.LiveClaimsPerScope = 100*time.Millisecond, 2
			})
			for i := range 2 {
				if got := abandon(t, d, path, strconv.Itoa(i)); got != http.StatusOK {
					t.Fatalf("got %d", got)
				}
			}
			for range 2 {
				if got := receive(t, hungUp); got != path {
					t.Errorf("the gateway hung up on %s", got)
				}
			}
			d.until(t, "semel_detached 0")
			d.until(t, "semel_live_claims 0")
			check(t, "later", d.send(t, http.MethodPost, "/", "", "Idempotency-Key", "later", "Host", "h"), 201, "ok")
		})
	}
}

// TestHungUpBehindAByte (promise 8): a caller that sent something behind its
// request, which net/http leaves unread, has still gone when it hangs up.
func TestHungUpBehindAByte(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	target, hungUp := stalling(t)
	d := open(t, target, func(c *gateway.Config) { c.BodyIdleTimeout, c.DrainTimeout = 100*time.Millisecond, time.Second })
	for _, key := range []string{"", "Idempotency-Key: k\r\n"} {
		conn, _ := d.talk(t, "POST /events HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n"+key+"\r\n") //nolint:bodyclose // it has no end.
		_, _ = io.WriteString(conn, "G")
		<-time.After(20 * time.Millisecond) // for net/http to read it; too short, the test sees less
		_ = conn.Close()
		receive(t, hungUp)
	}
}

// TestAbandonedSeats (promise 8): a stream whose caller has gone keeps its seat until it ends; it does not hold up the end of the
// gateway, nor does one that is abandoned meanwhile.
func TestAbandonedSeats(t *testing.T) {
	t.Parallel()
	target, hungUp := stalling(t)
	d := open(t, target, func(c *gateway.Config) {
		c.BodyIdleTimeout, c.DrainTimeout, c.Guard.LiveClaimsPerScope = time.Hour, 10*patience, 2
	})
	if got := abandon(t, d, "/events", "a"); got != http.StatusOK {
		t.Fatalf("got %d", got)
	}
	reader, _ := d.talk(t, "POST /events HTTP/1.1\r\nHost: h\r\nIdempotency-Key: b\r\nContent-Length: 0\r\n\r\n") //nolint:bodyclose // it has no end.
	check(t, "a third", d.send(t, http.MethodPost, "/events", "", "Idempotency-Key", "c", "Host", "h"), 429, "quota-exceeded")
	d.until(t, "semel_detached 2")
	d.stop()
	receive(t, hungUp)
	_ = reader.Close()
	receive(t, hungUp)
	if err := d.wait(t); err != nil {
		t.Error(err)
	}
}
