package semelhttp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
)

// countingBase counts what a transport considers one attempt.
type countingBase struct {
	http.RoundTripper
	n atomic.Int32
}

func (c *countingBase) RoundTrip(req *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(req)
}

// commitServer is a server without any protection: it commits every request
// that it has read in full, and sometimes closes the connection instead of
// answering.
type commitServer struct {
	listener net.Listener
	answers  func(commit int) bool // count from 1; false: hang up

	mu      sync.Mutex // guards the fields below
	commits []string   // the key's header line, as it came over the wire
	conns   []net.Conn
}

// seen returns what was committed.
func (s *commitServer) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commits)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func startCommitServer(t *testing.T, answers func(commit int) bool) *commitServer {
	t.Helper()
	listener := listen(t)
	s := &commitServer{listener: listener, answers: answers}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			serving.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		s.mu.Lock()
		for _, conn := range s.conns {
			conn.Close()
		}
		s.mu.Unlock()
		serving.Wait()
	})
	return s
}

func (s *commitServer) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		key, err := readCommit(in)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.commits = append(s.commits, key)
		n := len(s.commits)
		s.mu.Unlock()
		if !s.answers(n) {
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n%02d", n%100)
	}
}

// readCommit reads one request byte by byte as it comes and returns the line
// that carries the key.
func readCommit(in *bufio.Reader) (key string, err error) {
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		switch name, value, _ := strings.Cut(line, ":"); {
		case line == "\r\n":
			_, err = io.CopyN(io.Discard, in, int64(length))
			return key, err
		case strings.EqualFold(name, "Content-Length"):
			fmt.Sscan(value, &length)
		case strings.EqualFold(name, "Idempotency-Key"):
			key += strings.TrimSpace(line) + ";"
		}
	}
}

// Every commit on the server is an attempt that we counted, even when a reused
// connection dies after the server committed: net/http resends nothing that we
// do not know of.
func TestTransportCountsEveryCommit(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "amount=5"} {
		t.Run("body "+body, func(t *testing.T) {
			t.Parallel()
			s := startCommitServer(t, func(commit int) bool { return commit == 1 || commit >= 4 })
			base := &countingBase{RoundTripper: &http.Transport{}}
			tr := &semelhttp.Transport{Base: base, Backoff: -1}
			t.Cleanup(tr.CloseIdleConnections)
			send := func(key string) {
				ctx := semelhttp.WithIntent(t.Context(), key)
				req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.listener.Addr().String()+"/", strings.NewReader(body)))
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			send("warm up") // leaves a connection to be reused
			send("one intent")
			want := []string{`idempotency-key: "warm up";`}
			for range base.n.Load() - 1 {
				want = append(want, `idempotency-key: "one intent";`)
			}
			if diff := cmp.Diff(want, s.seen()); diff != "" {
				t.Errorf("commits on the server: -attempts +commits\n%s", diff)
			}
			if n := base.n.Load(); n != 4 {
				t.Errorf("%d attempts, want 4", n)
			}
		})
	}
}

// The bound on attempts is a bound on commits.
func TestTransportSendsOnceWhenToldSo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startCommitServer(t, func(commit int) bool { return commit == 1 })
			tr := &semelhttp.Transport{Base: &http.Transport{}, MaxAttempts: 1}
			t.Cleanup(tr.CloseIdleConnections)
			for i := range 2 {
				req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.listener.Addr().String()+"/", nil))
				req.Header.Set(name, "mine")
				resp, err := tr.RoundTrip(req)
				if i == 0 {
					if err != nil {
						t.Fatal(err)
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				} else if !errors.Is(err, semel.ErrUnknown) {
					t.Errorf("got %v, want %v", err, semel.ErrUnknown)
				}
			}
			if n := len(s.seen()); n != 2 {
				t.Errorf("%d commits for two attempts", n)
			}
		})
	}
}

func TestTransportOverHTTP2(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var keys []string
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		keys = append(keys, fmt.Sprintf("%d %s %s", r.ProtoMajor, r.Header["Idempotency-Key"], body))
		if len(keys) == 1 {
			panic(http.ErrAbortHandler) // resets the stream
		}
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	base := &countingBase{RoundTripper: srv.Client().Transport}
	tr := &semelhttp.Transport{Base: base, Backoff: -1}
	ctx := semelhttp.WithIntent(t.Context(), "k")
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, strings.NewReader("x")))
	sent(t, tr.RoundTrip, req)
	if diff := cmp.Diff([]string{`2 ["k"] x`, `2 ["k"] x`}, keys); diff != "" || base.n.Load() != 2 {
		t.Errorf("%d attempts: -want +got\n%s", base.n.Load(), diff)
	}
}

// What was certainly not sent does not have an unknown outcome.
func TestTransportNothingSent(t *testing.T) {
	t.Parallel()
	listener := listen(t)
	refused := "http://" + listener.Addr().String()
	listener.Close()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = nil
	t.Cleanup(untrusted.Close)
	tests := []struct {
		name, url string
		bare      bool // the transport's own base
		attempts  string
	}{
		{"refused", refused, false, "in 3 attempts"},
		{"refused, own base", refused, true, "in 3 attempts"},
		{"untrusted certificate", untrusted.URL, false, "in 1 attempts"},
		{"unknown scheme", "gopher://127.0.0.1/", true, "in 1 attempts"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr := &semelhttp.Transport{Backoff: -1, MaxAttempts: 3}
			if !tt.bare {
				tr.Base = &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
			}
			req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, tt.url, strings.NewReader("x")))
			_, err := tr.RoundTrip(req) //nolint:bodyclose // an error has none.
			if err == nil || errors.Is(err, semel.ErrUnknown) || !strings.Contains(err.Error(), "nothing was sent "+tt.attempts) {
				t.Errorf("got %v, want a plain error after %q", err, tt.attempts)
			}
		})
	}
}

// A context that ends while connecting leaves nothing unknown either.
func TestTransportCancelledWhileDialling(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	ctx, cancel := context.WithCancel(t.Context())
	tr := &semelhttp.Transport{Base: &http.Transport{
		DialContext: func(_ context.Context, _, _ string) (net.Conn, error) {
			cancel()
			<-hang
			return nil, io.ErrClosedPipe
		},
	}}
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, "http://shop.test/", nil))
	_, err := tr.RoundTrip(req) //nolint:bodyclose // an error has none.
	if !errors.Is(err, context.Canceled) || errors.Is(err, semel.ErrUnknown) {
		t.Errorf("got %v, want %v and not unknown", err, context.Canceled)
	}
}

// http.Client follows 307 and 308 with the same intent, so with the same key.
func TestTransportKeepsTheKeyOverRedirects(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect, http.StatusSeeOther} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var seen []string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				seen = append(seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("Idempotency-Key"))
				mu.Unlock()
				if r.URL.Path == "/a" {
					http.Redirect(w, r, "/b", status)
				}
			}))
			t.Cleanup(srv.Close)
			client := &http.Client{Transport: &semelhttp.Transport{Base: srv.Client().Transport}}
			req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/a", strings.NewReader("x")))
			sent(t, client.Do, req)
			key := strings.TrimPrefix(seen[0], "POST /a ")
			want := []string{"POST /a " + key, "POST /b " + key}
			if status == http.StatusSeeOther {
				want[1] = "GET /b "
			}
			if diff := cmp.Diff(want, seen); diff != "" || key == "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
