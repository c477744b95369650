package wire_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check/wire"
)

// gathering answers after that many requests have arrived.
func gathering(n int32) http.HandlerFunc {
	var came atomic.Int32
	all := make(chan struct{})
	return func(w http.ResponseWriter, r *http.Request) {
		if came.Add(1) == n {
			close(all)
		}
		select {
		case <-all:
			io.WriteString(w, r.Proto+" "+r.RemoteAddr)
		case <-r.Context().Done():
		}
	}
}

func TestStreamsRunAtOnceOnOneConnection(t *testing.T) {
	t.Parallel()
	const streams = 10
	plain := httptest.NewUnstartedServer(gathering(streams))
	plain.Config.Protocols = new(http.Protocols)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Start()
	t.Cleanup(plain.Close)
	secure, trust := tlsServer(t, gathering(streams))
	for name, at := range map[string]string{"h2c": plain.URL, "h2": secure.String()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := openH2(t, parse(t, at), trust)
			bodies := make([]string, streams)
			var all sync.WaitGroup
			for i := range bodies {
				all.Go(func() {
					got, err := conn.Do(t.Context(), post(parse(t, at), "body"))
					if err != nil {
						t.Errorf("stream: %v", err)
						return
					}
					bodies[i] = string(got.Body)
				})
			}
			all.Wait()
			for _, body := range bodies { // the same connection
				if body != bodies[0] || body == "" {
					t.Errorf("answered %q and %q", body, bodies[0])
				}
			}
		})
	}
}

func openH2(t *testing.T, at *url.URL, trust *tls.Config) *wire.H2 {
	t.Helper()
	conn, err := wire.OpenH2(t.Context(), at, trust)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestH2SendsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	type seen struct {
		Host, Path, Body string
		Header           http.Header
	}
	kept := make(chan seen, 1)
	at, trust := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		kept <- seen{r.Host, r.RequestURI, string(body), r.Header}
		w.WriteHeader(http.StatusCreated)
	})
	conn := openH2(t, at, trust)
	at.Path, at.RawQuery = "/things", "a=b"
	request := post(at, "body")
	request.Header = []wire.Field{{"Host", "other"}, {"idempotency-KEY", `"1"`}, {"Idempotency-Key", "2"}, {"Connection", "close"}}
	got, err := conn.Do(t.Context(), request)
	if err != nil || got.Status != http.StatusCreated || got.Proto != "HTTP/2.0" {
		t.Errorf("got %+v, %v", got, err)
	}
	want := seen{"other", "/things?a=b", "body", http.Header{"Idempotency-Key": {`"1"`, "2"}, "Content-Length": {"4"}}}
	if diff := cmp.Diff(want, <-kept); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
}

func TestOpenH2TellsThatThereIsNone(t *testing.T) {
	t.Parallel()
	plain := server(t, func(http.ResponseWriter, *http.Request) {})
	only1 := httptest.NewUnstartedServer(http.NotFoundHandler())
	only1.StartTLS()
	t.Cleanup(only1.Close)
	trust := only1.Client().Transport.(*http.Transport).TLSClientConfig
	closes := service(t, func(net.Conn) {})
	gone := *plain
	gone.Host = "127.0.0.1:1"
	for name, test := range map[string]struct {
		at   string
		want error
	}{
		"HTTP/1.1 only":           {plain.String(), wire.ErrNoH2},
		"HTTP/1.1 only, with TLS": {only1.URL, wire.ErrNoH2},
		"one that hangs up":       {closes.String(), wire.ErrNoH2},
		"nobody":                  {gone.String(), wire.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := wire.OpenH2(t.Context(), parse(t, test.at), trust)
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if err == nil {
				conn.Close()
			}
		})
	}
}

// TestH2NeverSendsTwice: a lost connection ends its streams, and nothing repeats them.
func TestH2NeverSendsTwice(t *testing.T) {
	t.Parallel()
	var came atomic.Int32
	at, trust := tlsServer(t, func(http.ResponseWriter, *http.Request) {
		came.Add(1)
		panic(http.ErrAbortHandler)
	})
	conn := openH2(t, at, trust)
	request := post(at, "")
	request.Set("Idempotency-Key", "1")
	if _, err := conn.Do(t.Context(), request); !errors.Is(err, wire.ErrCut) {
		t.Errorf("error %v, want a cut", err)
	}
	conn.Close()
	if _, err := conn.Do(t.Context(), request); !errors.Is(err, wire.ErrCut) {
		t.Errorf("error %v after Close, want a cut", err)
	}
	if n := came.Load(); n != 1 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestH2EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	at, trust := tlsServer(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	conn := openH2(t, at, trust)
	if _, err := conn.Do(ctx, post(at, "body")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
