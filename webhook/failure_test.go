package webhook_test

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/webhook"
)

// raw is a server that answers every connection with a text, whatever it is asked, and hangs up.
func raw(t *testing.T, text string) string {
	t.Helper()
	l := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

// TestErrorsNameNoEndpoint: whatever goes wrong, neither the error of a message nor the log has the host, the address, the port or the
// path of its endpoint, or what a stranger answered.
func TestErrorsNameNoEndpoint(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	gone := httptest.NewServer(status(410))
	t.Cleanup(gone.Close)
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, c := range map[string]struct{ url, want string }{
		"no such name":  {"https://tell-tale.invalid/tell-tale", "name cannot be resolved"},
		"refused":       {closed.URL + "/tell-tale", "connection refused"},
		"certificate":   {secure.URL + "/tell-tale", "not signed by a known authority"},
		"no TLS":        {"https://" + raw(t, "tell-tale\n") + "/tell-tale", "TLS handshake"},
		"no HTTP":       {"http://" + raw(t, "tell-tale\r\n\r\n") + "/tell-tale", "answer cannot be read"},
		"hangs up":      {"http://" + raw(t, "") + "/tell-tale", "closed the connection"},
		"in the middle": {"http://" + raw(t, "HTTP/1.1 200 tell-tale\r\nTell-Tale: ") + "/tell-tale", "closed the connection"},
		"no status":     {"http://" + raw(t, "HTTP/1.1 tell-tale\r\n\r\n") + "/tell-tale", "answer cannot be read"},
		"private":       {"http://127.0.0.2:1/tell-tale", "private or reserved"},
		"gone":          {gone.URL + "/tell-tale", "410"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines bytes.Buffer
			e := &endpoints{at: map[string]webhook.Endpoint{"a": {URL: c.url, Secrets: []string{whsec}}}}
			s := sender(t, e, func(o *webhook.SenderOptions) { o.Logger = slog.New(slog.NewTextHandler(&lines, nil)) })
			errs := s.Publish(t.Context(), []outbox.Message{message("a", "1", "")})
			if errs[0] == nil || !strings.Contains(errs[0].Error(), c.want) {
				t.Fatalf("got %v, want %q", errs[0], c.want)
			}
			_, host, _ := strings.Cut(c.url, "//")
			host, _, _ = strings.Cut(host, "/")
			_, port, _ := strings.Cut(host, ":")
			for _, secret := range []string{"tell", "127.0.0", host, port} {
				if text := errs[0].Error() + lines.String(); secret != "" && strings.Contains(text, secret) {
					t.Errorf("%q is in %s", secret, text)
				}
			}
		})
	}
}

// TestHeadersThatHTTPRefuses: such a message fails for good, and its endpoint does not rest.
func TestHeadersThatHTTPRefuses(t *testing.T) {
	t.Parallel()
	e := &endpoints{}
	e.serve(t, "a", status(200))
	s := sender(t, e, nil)
	for name, value := range map[string]string{"X-A": "1\r\nX-B: 2", "X A": "1", "": "1"} {
		m := message("a", "1", "")
		m.Header = map[string]string{name: value}
		wantErrors(t, s.Publish(t.Context(), []outbox.Message{m, message("a", "2", "")}), "permanent", "")
	}
	m := message("a", "3", "")
	m.Header = map[string]string{"Transfer-Encoding": "gzip", "Content-Length": "1", "Host": "other.test"}
	wantErrors(t, s.Publish(t.Context(), []outbox.Message{m}), "")
}
