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

// Defaults and bounds of an [Observer].
const (
	DefaultTimeout = 30 * time.Second

	maxCalls      = 1000      // that are remembered
	maxNames      = 100_000   // that Options.Once distinguishes
	maxBodyBytes  = 256 << 20 // of a call
	maxHeadBytes  = 64 << 10
	headerTimeout = 10 * time.Second
	drainTimeout  = 5 * time.Second
)

// Options changes what an [Observer] counts. Nil is complete.
type Options struct {
	// Methods are those that count, and that fail on demand. Default POST, PUT, PATCH and DELETE.
	Methods []string
	// Prefix begins the paths that count, and that fail on demand. Default all paths.
	Prefix string
	// Once, when set, is a header that identifies a call, such as Idempotency-Key: calls with a known value are
	// forwarded but not counted, since a dependency with keys does nothing then.
	Once string
	// Status is the Observer's answer without an upstream. Default 201.
	Status int
	// Timeout bounds one call. Default DefaultTimeout.
	Timeout time.Duration
}

// Call is one request of the service, without values that may be secret.
type Call struct {
	Method string
	Path   string
	Status int  // of the answer; 502 if the upstream gave none
	Failed bool // on demand
	Began  time.Time
	Took   time.Duration // until the answer began
}

// Observer is a server in front of a service's dependency. [Open] makes it; it is safe for concurrent use. It counts
// effects and can fail on demand: it is both a [check.Counter] and a [check.Dependency].
type Observer struct {
	options  Options
	upstream *url.URL // nil for none
	proxy    *httputil.ReverseProxy
	listener net.Listener
	server   *http.Server
	served   chan struct{} // closed when the server has ended

	mu      sync.Mutex // guards the fields below
	count   int64
	names   map[string]bool // by Options.Once
	failing int             // calls that are still to fail
	status  int             // with which
	calls   []Call          // the latest
}

var (
	_ check.Counter    = (*Observer)(nil)
	_ check.Dependency = (*Observer)(nil)
)

// Open listens at the address, such as 127.0.0.1:9000, and forwards calls to the upstream, such as
// http://127.0.0.1:9001. Without an upstream, the Observer answers them itself. Close the Observer.
func Open(ctx context.Context, address, upstream string, o *Options) (*Observer, error) {
	s := &Observer{names: map[string]bool{}, served: make(chan struct{})}
	if o != nil {
		s.options = *o
	}
	s.options.complete()
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

func (o *Options) complete() {
	if len(o.Methods) == 0 {
		o.Methods = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	}
	if o.Status == 0 {
		o.Status = http.StatusCreated
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
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
		ErrorLog:      log.New(io.Discard, "", 0), // Calls reports errors
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

// Calls returns the latest calls that count or failed on demand; at most a thousand, in the order of their answers.
func (s *Observer) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// ServeHTTP implements [http.Handler].
func (s *Observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), s.options.Timeout)
	defer cancel()
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
	if !slices.Contains(s.options.Methods, r.Method) || !strings.HasPrefix(r.URL.Path, s.options.Prefix) {
		s.pass(w, r, func() {})
		return
	}
	kept := &keeper{ResponseWriter: w, observer: s, call: Call{Method: r.Method, Path: r.URL.Path, Began: time.Now()}}
	if status, fails := s.fails(); fails {
		kept.call.Failed = true
		problem(kept, status, "this call fails on purpose")
		return
	}
	s.pass(kept, r, func() { s.arrived(r) })
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
	if slices.Contains(s.options.Methods, r.Method) {
		status = s.options.Status
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	n, _ := s.Count(r.Context(), nil)
	_, _ = io.WriteString(w, `{"id":`+strconv.FormatInt(n, 10)+"}\n") // the client may be gone
}

// fails uses one of the requested failures up.
func (s *Observer) fails() (status int, fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing == 0 {
		return 0, false
	}
	s.failing--
	return s.status, true
}

// arrived counts a call, unless its name is known.
func (s *Observer) arrived(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name := r.Header.Get(s.options.Once); s.options.Once != "" && name != "" {
		if s.names[name] {
			return
		}
		if len(s.names) < maxNames {
			s.names[name] = true
		}
	}
	s.count++
}

func (s *Observer) keep(call *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) == maxCalls {
		s.calls = slices.Delete(s.calls, 0, 1)
	}
	s.calls = append(s.calls, *call)
}

func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"status":%d,"detail":%q}`+"\n", status, detail) // the client may be gone
}

// keeper records the call when its answer begins, before the service sees the answer.
type keeper struct {
	http.ResponseWriter

	observer *Observer
	call     Call
}

// WriteHeader implements [http.ResponseWriter].
func (k *keeper) WriteHeader(status int) {
	if status >= 200 { // 1xx are interim
		k.call.Status, k.call.Took = status, time.Since(k.call.Began)
		k.observer.keep(&k.call)
	}
	k.ResponseWriter.WriteHeader(status)
}

// Unwrap serves [http.ResponseController].
func (k *keeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }
