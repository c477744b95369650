package gateway

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
)

// spooled is a body that is here, as semelhttp has it.
type spooled struct{ *bytes.Reader }

// Close implements io.Closer.
func (spooled) Close() error { return nil }

// counting counts the writes to a connection.
type counting struct {
	net.Conn

	writes *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// TestBodyLeavesWithItsHeader: a small body that is here already is written at once with
// the header.
func TestBodyLeavesWithItsHeader(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 5000, maxInHandBytes + 1} {
		var writes atomic.Int64
		got := make(chan int, 1)
		u := newUpstream(&Config{})
		u.base.DialContext = func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				defer far.Close()
				req, err := http.ReadRequest(bufio.NewReader(far))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(req.Body)
				if err != nil {
					t.Error(err)
				}
				got <- len(body)
				_, _ = io.WriteString(far, "HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			}()
			return counting{near, &writes}, nil
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://upstream/", spooled{bytes.NewReader(make([]byte, size))})
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = int64(size)
		res, err := u.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if n := writes.Load(); (n > 1) != (size > maxInHandBytes) || <-got != size {
			t.Errorf("%d bytes left in %d writes", size, n)
		}
		u.base.CloseIdleConnections()
	}
}
