package gateway_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/gateway"
)

type connKey struct{}

// TestOneCommitOnDyingConnection (promises 1 and 3): an upstream that commits and then loses the reused connection before it
// answered has committed once, because net/http must not send the request again on its own.
func TestOneCommitOnDyingConnection(t *testing.T) {
	t.Parallel()
	for _, protocol := range append(ways(), "h2") {
		for _, header := range []string{"", "Idempotency-Key", "X-Idempotency-Key", "idempotency-key"} {
			for _, body := range []string{"", "a=1"} {
				t.Run(protocol+" header="+header+" body="+body, func(t *testing.T) {
					t.Parallel()
					oneCommit(t, protocol, header, body)
				})
			}
		}
	}
}

func oneCommit(t *testing.T, protocol, header, body string) {
	t.Helper()
	var commits, answers atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodGet {
			answers.Add(1)
			return
		}
		if r.Proto == "HTTP/2.0" != (protocol == "h2") {
			t.Errorf("upstream was spoken to in %s", r.Proto)
		}
		commits.Add(1)
		conn, _ := r.Context().Value(connKey{}).(net.Conn)
		_ = conn.Close()
	}))
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	if protocol == "h2" {
		server.EnableHTTP2 = true
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	d := openVia(t, protocol, server.URL, func(c *gateway.Config) {
		if protocol == "h2" {
			roots := x509.NewCertPool()
			roots.AddCert(server.Certificate())
			c.UpstreamTLS = &tls.Config{RootCAs: roots}
		}
	})
	check(t, "warm up", d.send(t, http.MethodGet, "/", ""), 200, "")
	var with []string
	if header != "" {
		with = []string{header, "k-1"}
	}
	want := "upstream-failed"
	if strings.EqualFold(header, "Idempotency-Key") {
		want = "outcome-unknown"
	}
	check(t, "first", d.send(t, http.MethodPost, "/", body, with...), 502, want)
	wantActed(t, &commits, 1)
	if want == "outcome-unknown" {
		check(t, "retry", d.send(t, http.MethodPost, "/", body, with...), 409, want)
		wantActed(t, &commits, 1)
	}
}

// TestKeyReachesUpstream looks at the bytes on the wire: the disguise of the header is one for net/http alone.
func TestKeyReachesUpstream(t *testing.T) {
	t.Parallel()
	heads := make(chan string, 1)
	target := rawUpstream(t, func(conn net.Conn, br *bufio.Reader) {
		var head strings.Builder
		for {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			if line == "\r\n" {
				break
			}
			head.WriteString(line)
		}
		heads <- head.String()
		_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
	})
	d := open(t, target, nil)
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		check(t, name, d.send(t, http.MethodPost, "/", "", name, `"k 1"`), 201, "ok")
		head := receive(t, heads)
		if n := strings.Count(strings.ToLower(head), "\r\n"+strings.ToLower(name)+": \"k 1\"\r\n"); n != 1 {
			t.Errorf("%s appears %d times in %q", name, n, head)
		}
	}
}
