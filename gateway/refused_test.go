package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/memstore"
)

// refusals are the ways in which an upstream says over HTTP/2 that it did not process a request.
func refusals() map[string]func(f *http2.Framer, stream uint32) {
	reset := func(code http2.ErrCode) func(f *http2.Framer, stream uint32) {
		return func(f *http2.Framer, stream uint32) { _ = f.WriteRSTStream(stream, code) }
	}
	return map[string]func(f *http2.Framer, stream uint32){
		"refused":   reset(http2.ErrCodeRefusedStream),
		"malformed": reset(http2.ErrCodeProtocol),
		"goes away": func(f *http2.Framer, _ uint32) { _ = f.WriteGoAway(0, http2.ErrCodeNo, nil) },
	}
}

// TestOneCommitOnRefusedStream (promises 1 and 3): an upstream that says that it refused a request, as a proxy does when the
// application behind it gave no answer, may have committed. net/http would send a request without a body again.
func TestOneCommitOnRefusedStream(t *testing.T) {
	t.Parallel()
	for name, refuse := range refusals() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commits, d := refusing(t, refuse)
			check(t, "without a key", d.send(t, http.MethodPost, "/", ""), 502, "upstream-failed")
			wantActed(t, commits, 1)
			commits.Store(0)
			check(t, "first", d.send(t, http.MethodPost, "/", "", canonicalKey, "k-1"), 502, "outcome-unknown")
			check(t, "retry", d.send(t, http.MethodPost, "/", "", canonicalKey, "k-1"), 409, "outcome-unknown")
			wantActed(t, commits, 1)
			commits.Store(0)
			check(t, "a read, which may be repeated", d.send(t, http.MethodGet, "/", ""), 200, "")
			wantActed(t, commits, 2)
		})
	}
}

// TestRefusedAndDown (promise 3): nor does it help that such an upstream takes no new connection: net/http then fails to dial, after
// it had sent the request.
func TestRefusedAndDown(t *testing.T) {
	t.Parallel()
	for name, refuse := range refusals() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var front net.Listener
			commits, target, secure := refuser(t, func(f *http2.Framer, stream uint32) {
				_ = front.Close() // as a proxy does that restarts
				refuse(f, stream)
			})
			front = listen(t)
			go relay(t.Context(), front, strings.TrimPrefix(target, "https://"))
			d := open(t, "https://"+front.Addr().String(), func(c *gateway.Config) { c.UpstreamTLS = secure })
			check(t, "first", d.send(t, http.MethodPost, "/", "", canonicalKey, "k-1"), 502, "outcome-unknown")
			check(t, "retry", d.send(t, http.MethodPost, "/", "", canonicalKey, "k-1"), 409, "outcome-unknown")
			wantActed(t, commits, 1)
		})
	}
}

const canonicalKey = "Idempotency-Key"

// TestNextOnRefusedStream: nor does the transport of a server around the gateway send it again, such as Caddy's.
func TestNextOnRefusedStream(t *testing.T) {
	t.Parallel()
	for name, refuse := range refusals() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commits, target, secure := refuser(t, refuse)
			transport := &http.Transport{TLSClientConfig: secure, ForceAttemptHTTP2: true}
			t.Cleanup(transport.CloseIdleConnections)
			send := func(r *http.Request) (int, error) {
				out, err := http.NewRequestWithContext(r.Context(), r.Method, target, http.NoBody)
				if err != nil {
					return 0, err
				}
				res, err := transport.RoundTrip(out)
				if err != nil {
					return 0, err
				}
				return res.StatusCode, res.Body.Close()
			}
			asksFirst := true
			g, err := gateway.New(&gateway.Config{Store: memstore.New(nil), Next: func(w http.ResponseWriter, r *http.Request) error {
				status, err := send(r)
				if err == nil && asksFirst { // as one does that authenticates
					asksFirst = false
					status, err = send(r)
				}
				if err != nil {
					return err
				}
				w.WriteHeader(status)
				return nil
			}})
			claimtest.NoError(t, err)
			t.Cleanup(func() { _ = g.Close() })
			post := func(key string) int {
				w := httptest.NewRecorder()
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
				r.Header.Set(canonicalKey, key)
				g.Handler().ServeHTTP(w, r)
				return w.Code
			}
			if first, again := post("k-1"), post("k-1"); first != http.StatusBadGateway || again != http.StatusConflict {
				t.Errorf("refused: got %d, and then %d", first, again)
			}
			wantActed(t, commits, 1)
			if got := post("k-2"); got != http.StatusOK {
				t.Errorf("answered twice: got %d", got)
			}
			wantActed(t, commits, 3)
		})
	}
}

// relay takes one connection, and passes on what it carries until both sides have ended.
func relay(ctx context.Context, from net.Listener, to string) {
	near, err := from.Accept()
	if err != nil {
		return
	}
	defer near.Close()
	far, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer far.Close()
	go func() { _, _ = io.Copy(far, near) }()
	_, _ = io.Copy(near, far)
}

// refusing is a gateway before an upstream that commits every request, and refuses each that comes first.
func refusing(t *testing.T, refuse func(f *http2.Framer, stream uint32)) (*atomic.Int32, *door) {
	t.Helper()
	commits, target, secure := refuser(t, refuse)
	return commits, open(t, target, func(c *gateway.Config) { c.UpstreamTLS = secure })
}

// refuser returns the effects and the address of such an upstream, and what its clients need for TLS.
func refuser(t *testing.T, refuse func(f *http2.Framer, stream uint32)) (effects *atomic.Int32, url string, trust *tls.Config) {
	t.Helper()
	var commits atomic.Int32
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(certified.Close)
	secure := &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{http2.NextProtoTLS}, MinVersion: tls.VersionTLS12}
	target := rawUpstream(t, func(conn net.Conn, _ *bufio.Reader) {
		over := tls.Server(conn, secure)
		if _, err := io.ReadFull(over, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := http2.NewFramer(over, over)
		_ = f.WriteSettings()
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			header, ok := frame.(*http2.HeadersFrame)
			switch {
			case ok && commits.Add(1) == 1:
				refuse(f, header.StreamID)
			case ok:
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: header.StreamID, BlockFragment: accepted(), EndHeaders: true, EndStream: true})
			}
		}
	})
	roots := certified.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs //nolint:forcetypeassert // httptest makes one
	return &commits, "https" + target[len("http"):], &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// accepted is the header of an answer.
func accepted() []byte {
	var block bytes.Buffer
	_ = hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	return block.Bytes()
}
