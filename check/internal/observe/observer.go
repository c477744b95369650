package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel/check"
)

// Bounds of an [Observer].
const (
	callTimeout   = 30 * time.Second
	maxBodyBytes  = 256 << 20 // of a call
	maxHeadBytes  = 64 << 10
	headerTimeout = 10 * time.Second
	drainTimeout  = 5 * time.Second
)

// Observer is a server in front of a service's dependency. [Open] makes it; it is safe for concurrent use. It counts
// POST, PUT, PATCH and DELETE as effects, and can make them fail on demand: it is both a [check.Counter] and a
// [check.Dependency].
type Observer struct {
	upstream *url.URL // nil for none
	proxy    *httputil.ReverseProxy
	listener net.Listener
	server   *http.Server
	served   chan struct{} // closed when the server has ended

	mu      sync.Mutex // guards the fields below
	count   int64
	failing int // calls that are still to fail
	status  int // with which
}

var (
	_ check.Counter    = (*Observer)(nil)
	_ check.Dependency = (*Observer)(nil)
)

// Open listens at the address, such as 127.0.0.1:9000, and forwards calls to the upstream, such as
// http://127.0.0.1:9001. Without an upstream, the Observer answers them itself. Close the Observer.
func Open(ctx context.Context, address, upstream string) (*Observer, error) {
	s := &Observer{served: make(chan struct{})}
	if upstream != "" {
		at, err := url.Parse(upstream)
		if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
			return nil, errors.New("the address of the dependency cannot be read: write it as http://host:port")
		}
		s.upstream, s.proxy = at, passTo(at)
	}
	var err error
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
		return nil, fmt.Errorf("listen for the service's calls (write the address as 127.0.0.1:9000): %w", err)
	}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeadBytes, ErrorLog: log.New(io.Discard, "", 0)}
	go func() {
		defer close(s.served)
		_ = s.server.Serve(s.listener) // ends with Close
	}()
	return s, nil
}

// Split reads LISTEN=UPSTREAM, or LISTEN alone.
func Split(text string) (listen, upstream string) {
	listen, upstream, _ = strings.Cut(text, "=")
	return listen, upstream
}

func counts(r *http.Request) bool {
	return slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, r.Method)
}

// passTo forwards calls unchanged, each over a connection of its own.
func passTo(upstream *url.URL) *httputil.ReverseProxy {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if lines, ok := r.In.Header[name]; ok {
					r.Out.Header[name] = lines
				}
			}
		},
		Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true, Protocols: protocols},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			problem(w, http.StatusBadGateway, "the upstream gave no answer")
		},
	}
}

// Address returns the Observer's host:port.
func (s *Observer) Address() string { return s.listener.Addr().String() }

// Close stops listening and waits up to five seconds for running calls; then it cuts them.
func (s *Observer) Close() error {
	within, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	err := s.server.Shutdown(within)
	if err != nil {
		err = s.server.Close()
	}
	<-s.served
	return err
}

// Name implements [check.Counter].
func (s *Observer) Name() string {
	if s.upstream == nil {
		return "calls to " + s.Address()
	}
	return "calls to " + s.upstream.Host
}

// PerIntent implements [check.Counter]: all calls are counted together.
func (s *Observer) PerIntent() bool { return false }

// Count implements [check.Counter]. It returns the number of calls that were forwarded, or answered here without an
// upstream, whatever their outcome.
func (s *Observer) Count(context.Context, func(string) string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count, nil
}

// FailNext implements [check.Dependency]. A status below 400 is replaced by 503.
func (s *Observer) FailNext(n, status int) {
	if status < 400 || status > 599 {
		status = http.StatusServiceUnavailable
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing, s.status = max(0, n), status
}

// Pending returns how many calls are still to fail.
func (s *Observer) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing
}

// ServeHTTP implements [http.Handler].
func (s *Observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
	if !counts(r) {
		s.pass(w, r, func() {})
		return
	}
	if status, fails := s.fails(); fails {
		problem(w, status, "this call fails on purpose")
		return
	}
	s.pass(w, r, s.arrived)
}

// pass forwards the call. It calls arrived once there is a connection, since nothing can happen before.
func (s *Observer) pass(w http.ResponseWriter, r *http.Request, arrived func()) {
	if s.proxy != nil {
		trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { arrived() }}
		s.proxy.ServeHTTP(w, r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		problem(w, http.StatusBadRequest, "the call was incomplete")
		return
	}
	arrived()
	status := http.StatusOK
	if counts(r) {
		status = http.StatusCreated
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	n, _ := s.Count(r.Context(), nil)
	_, _ = io.WriteString(w, `{"id":`+strconv.FormatInt(n, 10)+"}\n") // the client may be gone
}

func (s *Observer) fails() (status int, fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing == 0 {
		return 0, false
	}
	s.failing--
	return s.status, true
}

func (s *Observer) arrived() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
}

func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"status":%d,"detail":%q}`+"\n", status, detail) // the client may be gone
}
