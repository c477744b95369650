package gateway_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
)

// renewal is a gateway whose certificate a test replaces.
type renewal struct {
	*door
	dir    string
	asked  chan struct{}
	log    *safeBuffer
	served tls.Certificate // the one that new connections must get
}

func openRenewal(t *testing.T) *renewal {
	t.Helper()
	target, _ := counting(t)
	r := &renewal{dir: t.TempDir(), asked: make(chan struct{}), log: new(safeBuffer)}
	r.served = certificate(t, r.dir, "server")
	certificate(t, r.dir, "clients")
	r.door = open(t, target, func(c *gateway.Config) {
		c.CertFile, c.KeyFile, c.ClientCAFile = r.file("server.pem"), r.file("server.key"), r.file("clients.pem")
		c.Reload, c.Logger = r.asked, slog.New(slog.NewTextHandler(r.log, nil))
	})
	return r
}

func (r *renewal) file(name string) string { return filepath.Join(r.dir, name) }

// look waits until the gateway has looked at its files: it takes the second question after it has answered the first.
func (r *renewal) look() {
	r.asked <- struct{}{}
	r.asked <- struct{}{}
}

func (r *renewal) dial(t *testing.T, c *tls.Config) *tls.Conn {
	t.Helper()
	c.InsecureSkipVerify = true // the leaf is compared
	conn := must.Get((&tls.Dialer{Config: c}).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.url, "http://"))).(*tls.Conn)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// wantServed checks the certificate of a new connection, and the report to operators.
func (r *renewal) wantServed(t *testing.T, what string, stale bool) {
	t.Helper()
	conn := r.dial(t, &tls.Config{NextProtos: []string{"h2"}})
	if got := conn.ConnectionState(); !got.PeerCertificates[0].Equal(r.served.Leaf) || got.NegotiatedProtocol != "h2" {
		t.Errorf("%s: another certificate is served, or %q is spoken", what, got.NegotiatedProtocol)
	}
	gauge, ready := "semel_certificate_stale 0", "ready\n"
	if stale {
		gauge, ready = "semel_certificate_stale 1", "ready, with the former certificate"
	}
	if text := r.metrics(t); !strings.Contains(text, gauge+"\n") {
		t.Errorf("%s: no %q in the metrics", what, gauge)
	}
	if answer := r.operate(t, http.MethodGet, "/readyz"); answer.status != http.StatusOK || !strings.HasPrefix(answer.body, ready) {
		t.Errorf("%s: /readyz answers %d %q, want %q", what, answer.status, answer.body, ready)
	}
}

// get sends a request on the connection, and reads its answer.
func get(t *testing.T, conn *tls.Conn) int {
	t.Helper()
	_ = must.Get(io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	answer := must.Get(http.ReadResponse(bufio.NewReader(conn), nil)) //nolint:bodyclose // it ends with the connection.
	return answer.StatusCode
}

// TestCertificateIsRenewed: new connections get a new certificate, and open ones stay.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	r := openRenewal(t)
	conns := make([]*tls.Conn, 100)
	for i := range conns {
		conns[i] = r.dial(t, new(tls.Config))
	}
	r.served = certificate(t, r.dir, "server")
	r.look()
	r.wantServed(t, "renewed", false)
	for _, conn := range conns {
		if got := get(t, conn); got >= 500 {
			t.Fatalf("an open connection answers %d", got)
		}
	}
	if n := strings.Count(r.log.String(), "certificate was renewed"); n != 1 {
		t.Errorf("the log says %d times that it was renewed:\n%s", n, r.log)
	}
}

// TestCertificateOfKubernetes: the files are links through a folder that is replaced by one rename.
func TestCertificateOfKubernetes(t *testing.T) {
	t.Parallel()
	target, _ := counting(t)
	r := &renewal{dir: t.TempDir(), asked: make(chan struct{}), log: new(safeBuffer)}
	volume := func(name string) {
		noError(t, os.Mkdir(r.file(name), 0o700))
		r.served = certificate(t, r.file(name), "tls")
		noError(t, os.Symlink(name, r.file("..next")))
		noError(t, os.Rename(r.file("..next"), r.file("..data")))
	}
	volume("..1")
	for _, name := range []string{"tls.pem", "tls.key"} {
		noError(t, os.Symlink(filepath.Join("..data", name), r.file(name)))
	}
	r.door = open(t, target, func(c *gateway.Config) {
		c.CertFile, c.KeyFile, c.Reload = r.file("tls.pem"), r.file("tls.key"), r.asked
	})
	volume("..2")
	noError(t, os.RemoveAll(r.file("..1")))
	r.look()
	r.wantServed(t, "renewed", false)
}

// TestCertificateThatCannotBeServed: the former certificate is served until they can be served as a whole.
func TestCertificateThatCannotBeServed(t *testing.T) {
	t.Parallel()
	r := openRenewal(t)
	other := t.TempDir()
	next := certificate(t, other, "server")
	put := func(name string) { // from there
		noError(t, os.WriteFile(r.file(name), must.Get(os.ReadFile(filepath.Join(other, name))), 0o600))
	}
	steps := []struct {
		name string
		do   func()
	}{
		{"expired", func() { certificateUntil(t, r.dir, "server", time.Now().Add(-time.Minute)) }},
		{"half replaced", func() { put("server.pem") }},
		{"cut off", func() { noError(t, os.Truncate(r.file("server.key"), 40)) }},
		{"gone", func() { noError(t, os.Remove(r.file("server.key"))) }},
		{"a folder", func() { noError(t, os.Mkdir(r.file("server.key"), 0o700)) }},
		{"invalid authorities", func() {
			noError(t, os.Remove(r.file("server.key")))
			put("server.key")
			noError(t, os.WriteFile(r.file("clients.pem"), []byte("none"), 0o600))
		}},
	}
	for i, s := range steps {
		s.do()
		r.look()
		r.wantServed(t, s.name, true)
		if n := strings.Count(r.log.String(), "certificate was not renewed"); n != i+1 {
			t.Errorf("%s: the log says so %d times, want %d:\n%s", s.name, n, i+1, r.log)
		}
	}
	certificate(t, r.dir, "clients")
	r.served = next
	r.look()
	r.wantServed(t, "whole", false)
}

// TestClientAuthoritiesAreRenewed: new authorities let in who they know, and no caller of the former ones.
func TestClientAuthoritiesAreRenewed(t *testing.T) {
	t.Parallel()
	r := openRenewal(t)
	alice := certificate(t, r.dir, "alice")
	known := func() bool {
		conn := r.dial(t, &tls.Config{
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &alice, nil }, // even where it is not asked for
		})
		_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		return err == nil
	}
	if known() {
		t.Error("alice is let in by another authority")
	}
	text := must.Get(os.ReadFile(r.file("alice.pem")))
	noError(t, os.WriteFile(r.file("clients.pem"), text, 0o600))
	r.look()
	if !known() {
		t.Error("alice is not let in by her own authority")
	}
	certificate(t, r.dir, "clients")
	r.look()
	if known() {
		t.Error("alice is let in after her authority has gone")
	}
}
