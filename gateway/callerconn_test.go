package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/gateway"
)

// informing starts an upstream that sends the 1xx answers that the path asks
// for, such as /100/103, and those that Expect asks for, before it answers 201.
func informing(t *testing.T) (url string, smuggled *atomic.Int32) {
	t.Helper()
	smuggled = new(atomic.Int32)
	return rawUpstream(t, func(conn net.Conn, br *bufio.Reader) {
		for {
			req, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			if req.URL.Path == "/smuggled" {
				smuggled.Add(1)
			}
			if req.Header.Get("Expect") != "" {
				_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
			if strings.Contains(req.URL.Path, "/100") {
				_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
			}
			if strings.Contains(req.URL.Path, "/103") {
				_, _ = io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n")
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\ndone")
		}
	}), smuggled
}

// TestBothLengths (threat 10): after a request that may have had two lengths,
// the connection ends, whatever the caller and the upstream put in between.
func TestBothLengths(t *testing.T) {
	t.Parallel()
	target, smuggled := informing(t)
	for _, tt := range []struct {
		name, path, proto, lines string
	}{
		{"plain", "/", "1.1", ""},
		{"an upgrade", "/", "1.1", "Upgrade: x\r\n"},
		{"an empty upgrade", "/", "1.1", "Upgrade: \r\n"},
		{"an upgrade asked for", "/", "1.1", "Connection: upgrade\r\nUpgrade: x\r\n"},
		{"an expectation", "/", "1.1", "Expect: 100-continue\r\n"},
		{"hints", "/103", "1.1", ""},
		{"continue unasked, and hints", "/100/103", "1.1", ""},
		{"an expectation, and hints", "/103", "1.1", "Expect: 100-continue\r\n"},
		{"HTTP/1.0", "/", "1.0", "Connection: keep-alive\r\n"},
	} {
		for _, key := range []string{"", "Idempotency-Key: k\r\n"} {
			t.Run(fmt.Sprint(tt.name, ", key ", key != ""), func(t *testing.T) {
				t.Parallel()
				d := open(t, target, func(c *gateway.Config) { c.IdleTimeout = 300 * time.Millisecond })
				all, _ := d.hear(t, "POST "+tt.path+" HTTP/"+tt.proto+"\r\nHost: h\r\n"+key+tt.lines+
					"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nZ\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
				answers := strings.SplitAfter(all, "\r\n\r\n")
				final := -1
				for i, answer := range answers {
					switch {
					case strings.HasPrefix(answer, "HTTP/1.1 1"):
						if strings.Contains(answer, "Connection") {
							t.Errorf("a 1xx speaks of the connection: %q", answer)
						}
					case strings.HasPrefix(answer, "HTTP/1."):
						final = i
						if !strings.Contains(answer, " 201 Created\r\n") || !strings.Contains(answer, "\r\nConnection: close\r\n") {
							t.Errorf("got %q", answer)
						}
					}
				}
				if final < 0 || answers[final+1] != "done" || len(answers) != final+2 {
					t.Errorf("the connection went on: %q", all)
				}
			})
		}
	}
	t.Cleanup(func() {
		wantActed(t, smuggled, 0)
	})
}

// TestInformationalAnswers: what the gateway itself says in the header of an
// answer neither goes out with a 1xx nor is lost after it.
func TestInformationalAnswers(t *testing.T) {
	t.Parallel()
	target, _ := informing(t)
	dead := breakable(t)
	d := open(t, target, func(c *gateway.Config) {
		c.Store, c.Guard.StoreTimeout = dead, 50*time.Millisecond
		c.Rules = parse(t, "version: 1\nroutes:\n  - {name: open, match: {path: \"/{x...}\"}, fail_open: true}\n")
	})
	dead.Partition()
	defer dead.Heal()
	for _, path := range []string{"/", "/103", "/100/103"} {
		all, err := d.hear(t, "POST "+path+" HTTP/1.1\r\nHost: h\r\nIdempotency-Key: k\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		informed, final, _ := strings.Cut(all, "HTTP/1.1 201")
		if err != nil || strings.Contains(informed, "Idempotency") || strings.Contains(final, "Link:") ||
			strings.Count(final, "Idempotency-Status: unprotected\r\n") != 1 {
			t.Errorf("%s: got %q, %v", path, all, err)
		}
		if strings.Contains(path, "103") && !strings.Contains(informed, "Link: </a.css>; rel=preload\r\n") {
			t.Errorf("%s: the hints are lost: %q", path, all)
		}
	}
}

// TestInformationalAnswersHTTP2: a body of unknown length says nothing about an HTTP/2 connection.
func TestInformationalAnswersHTTP2(t *testing.T) {
	t.Parallel()
	target, _ := informing(t)
	d := openTLS(t, target, func(*gateway.Config) {})
	for _, key := range []string{"", "k"} {
		got := d.sendContext(t.Context(), http.MethodPost, "/103", io.NopCloser(strings.NewReader("x")), "Idempotency-Key", key)
		if key == "" {
			got = d.sendContext(t.Context(), http.MethodPost, "/103", io.NopCloser(strings.NewReader("x")))
		}
		check(t, "key "+key, got, http.StatusCreated, "done")
		if _, ok := got.header["Connection"]; ok || (key != "") != (got.word() == "executed") {
			t.Errorf("key %q: header %v", key, got.header)
		}
	}
}
