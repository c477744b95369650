package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
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

// TestBodyLeavesWithItsHeader: the proxy writes a small body that is here already at once
// with the header, over each of the ways to an application.
func TestBodyLeavesWithItsHeader(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"http://upstream", ""} { // "": net/http's transport
		for _, size := range []int{1, 5000, maxInHandBytes + 1} {
			bodyLeaves(t, &Config{Upstream: to}, size)
		}
	}
}

func bodyLeaves(t *testing.T, c *Config, size int) {
	t.Helper()
	var writes atomic.Int64
	got := make(chan int, 1)
	u := newUpstream(c)
	dial := func(context.Context, string, string) (net.Conn, error) {
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
	if u.base.DialContext = dial; u.http1 != nil {
		u.http1.dial = dial
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway/", spooled{bytes.NewReader(make([]byte, size))})
	req.ContentLength = int64(size)
	answer := httptest.NewRecorder()
	(&Gateway{config: &Config{}, log: slog.New(slog.DiscardHandler)}).newProxy(&url.URL{Scheme: "http", Host: "upstream"}, u).ServeHTTP(answer, req)
	if answer.Code != http.StatusCreated {
		t.Fatalf("%d bytes: answered %d", size, answer.Code)
	}
	if n := writes.Load(); (n > 1) != (size > maxInHandBytes) || <-got != size {
		t.Errorf("%d bytes left in %d writes", size, n)
	}
	u.base.CloseIdleConnections()
}

// closing is a body that the server closes once it has been read, as net/http's does when the answer begins.
type closing struct{ io.Reader }

// Read implements io.Reader.
func (b *closing) Read(p []byte) (n int, err error) {
	if b.Reader == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	if n, err = b.Reader.Read(p); errors.Is(err, io.EOF) {
		b.Reader = nil
	}
	return n, err
}

// TestBodyStaysEnded: net/http's transport reads behind the end of a body, and closes the connection, with the answer that is coming
// on it, when that fails.
func TestBodyStaysEnded(t *testing.T) {
	t.Parallel()
	body := &unhurriedBody{
		ReadCloser: io.NopCloser(&closing{strings.NewReader("a=1")}), control: http.NewResponseController(httptest.NewRecorder()),
	}
	if got, err := io.ReadAll(body); string(got) != "a=1" || err != nil {
		t.Errorf("got %q, error %v", got, err)
	}
	if n, err := body.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: got %d bytes, error %v, want EOF", n, err)
	}
}
