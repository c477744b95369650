package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/internal/forms"
	"github.com/semel-dev/semel/gateway/internal/scope"
	"github.com/semel-dev/semel/gateway/watch"
	"github.com/semel-dev/semel/internal/crossorigin"
	"github.com/semel-dev/semel/internal/recent"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/outcomelog"
)

// policyPath serves the policy that callers may rely on.
const policyPath = "/.well-known/idempotency"

// statusPath answers callers that ask for the outcome of a request.
const statusPath = policyPath + "/status"

// Gateway is a reverse proxy that makes requests to an application happen
// once. Make one with [New]; end it with [Gateway.Close], unless Run or Serve
// did. It is safe for concurrent use.
type Gateway struct {
	config   *Config
	target   *url.URL
	guard    *semel.Guard
	upstream *upstream
	metrics  *metrics
	ready    *readiness
	captured waiting.Bytes // of the answers of all routes
	log      *slog.Logger
	router   *router
	policy   http.Handler
	notices  *scope.Notices
	forms    *forms.Forms // nil when no rule has form or page
	// judged and keyHeaders are the headers that the rules look at.
	judged, keyHeaders []string
	draining           atomic.Bool
	// failed are intents that were released after a failure; nil before the first.
	failed    atomic.Pointer[recent.Set]
	pages     crossorigin.Memory
	operators Operators
	repeats   *outcomelog.Repeats // nil without operators
	busy      busyness
	// unknown watches for the oldest unknown outcome; nil where the store cannot show its records.
	unknown      *watch.Unknown
	certificates *certificates // nil without TLS
	// streams ends with the answers to operators that have no end of their own.
	streams    <-chan struct{}
	endStreams func()
}

// New returns a gateway. The error says everything that is wrong with the
// config.
func New(c *Config) (*Gateway, error) {
	config, target, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &Gateway{config: config, target: target, log: config.Logger, upstream: newUpstream(config)}
	if g.certificates, err = openCertificates(config); err != nil {
		return nil, err
	}
	g.metrics, g.ready, g.notices = newMetrics(g), newReadiness(), &scope.Notices{Log: config.Logger}
	g.pages.Tenant = scope.Tenant
	if target != nil && config.Next == nil {
		g.pages.Ask = g.askPreflight
	}
	g.captured.Most, g.captured.Bodies = waiting.MostCaptured, &waiting.Bytes{Most: waiting.MostCaptured}
	g.busy.rate, g.busy.window = busyRate, busyWindow
	streams := make(chan struct{})
	g.streams, g.endStreams = streams, sync.OnceFunc(func() { close(streams) })
	g.judged, g.keyHeaders = judgedHeaders(config.Rules)
	options := config.Guard
	options.Trace = g.metrics.trace(options.Trace, g.ready.notes)
	if g.guard, err = semel.New(config.Store, &options); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if g.unknown, _ = watch.New(g.guard); g.unknown != nil { // its error is that the store cannot show its records
		g.metrics.registry.MustRegister(g.unknown.Gauges()...)
	}
	if g.certificates != nil {
		g.metrics.registry.MustRegister(g.certificates.gauges()...)
	}
	if g.forms, err = forms.New(formsView{g}, g.formsConfig()); err == nil {
		g.router, err = g.newRouter(g.forwarder())
	}
	if err == nil {
		g.policy, err = g.newPolicyHandler()
	}
	if err == nil {
		err = g.makeOperators()
	}
	if err == nil {
		err = g.reconcileInBackground()
	}
	if err != nil {
		return nil, errors.Join(err, g.guard.Close())
	}
	return g, nil
}

// Handler serves callers. It cuts off those that hold a connection and stall.
func (g *Gateway) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PRI" { // the preface of HTTP/2, which is not spoken in the clear
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusHTTPVersionNotSupported)
			return
		}
		if g.config.Next != nil { // the server around it deals with slow callers
			if !g.settleHeader(r) {
				g.refuseAmbiguous(w, r, g.router.fallback, ambiguousHeader, nil)
				return
			}
			g.serve(w, r)
			return
		}
		answer := newUnhurriedAnswer(w, r, g.config.BodyIdleTimeout)
		defer answer.done()
		w = answer
		if r.Body != nil && r.Body != http.NoBody {
			body := &unhurriedBody{ReadCloser: r.Body, control: http.NewResponseController(w), idle: g.config.BodyIdleTimeout}
			defer body.done()
			if r.ProtoMajor == 1 { // over HTTP/2 the server reads nothing on its own
				body.unread()
			}
			r.Body = body
		}
		if !g.settleHeader(r) {
			answer.last = r.ProtoMajor == 1 // the next request may be part of this one
			g.refuseAmbiguous(w, r, g.router.fallback, ambiguousHeader, nil)
			return
		}
		r, end := g.watchCaller(r)
		defer end()
		g.serve(w, r)
	})
}

// forwarder returns what handles the requests.
func (g *Gateway) forwarder() http.Handler {
	if g.config.Next != nil {
		return g.newNext()
	}
	return g.newProxy(g.target, g.upstream)
}

// serve answers what callers ask the gateway itself, and gives everything else
// to its route.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) {
	ctx := g.captured.With(r.Context())
	if page := g.pages.Of(r); page != nil {
		ctx = page.With(ctx)
	}
	r = r.WithContext(ctx)
	asks := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case asks && r.URL.Path == policyPath:
		g.policy.ServeHTTP(w, r)
	case asks && r.URL.Path == statusPath:
		g.status(w, r)
	case g.forms != nil && strings.HasPrefix(r.URL.Path, forms.Path):
		g.forms.ServeOwn(w, r)
	default:
		g.choose(w, r, g.router.group(r))
	}
}

// route gives a request to its route, unless it may slip past another one.
func (g *Gateway) route(w http.ResponseWriter, r *http.Request, found *route) {
	if !found.met.Load() {
		found.met.Store(true)
	}
	reason := g.router.lenient.slips(r, found)
	switch {
	case reason != "":
		crossorigin.From(r.Context()).Allow(w.Header())
		g.refuseAmbiguous(w, r, found, reason, nil)
	case g.forms != nil:
		g.forms.Serve(w, r, &found.form) //nolint:contextcheck // the request brings its context.
	default:
		found.handler.ServeHTTP(w, r)
	}
}

// Close stops the gateway without patience: requests still running under a
// claim lose it, and their outcome is unknown. It does not close the store.
func (g *Gateway) Close() error {
	g.draining.Store(true)
	g.endStreams()
	defer g.upstream.closeIdle()
	if err := g.guard.Close(); err != nil {
		return fmt.Errorf("gateway: close: %w", err)
	}
	return nil
}
