package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/formguard"
	"github.com/semel-dev/semel/semelhttp"
)

const (
	copyBufferBytes = 32 << 10
	retryUpstream   = time.Second
	// statusCallerGone is logged for a caller that went away; nobody reads it.
	statusCallerGone = 499
)

// newProxy returns the handler that passes a request on to the upstream and
// its answer back. Under a claim it says with semelhttp.Dispose what a missing
// answer means.
func (g *Gateway) newProxy(target *url.URL, transport http.RoundTripper) http.Handler {
	forward := &forwarding{trusted: g.config.TrustedProxies}
	return &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			host := pr.Out.Host
			pr.SetURL(target)
			pr.Out.URL.RawQuery = pr.In.URL.RawQuery // as it came; nothing here looks into it
			if !g.config.RewriteHost {
				pr.Out.Host = host
			}
			forward.apply(pr)
			refuseTunnel(pr.Out.Header)
		},
		Transport:    transport,
		BufferPool:   &bufferPool{},
		ErrorHandler: g.fail,
		ErrorLog:     newErrorLog(g.log),
	}
}

// fail answers in the upstream's place.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	f, ok := errors.AsType[*failure](err)
	if !ok { // ReverseProxy itself gave up, for example on an upgrade; conservatively
		f = &failure{class: failureNoAnswer, sent: true, err: err}
	}
	ctx := r.Context()
	if errors.Is(err, formguard.ErrAmbiguous) && (!f.sent || semel.ClaimFrom(ctx) == nil) {
		g.log.LogAttrs(ctx, slog.LevelInfo, "form refused", slog.String("error", quietly(f.err)))
		g.refuseForm(w, r)
		return
	}
	claimed := semel.ClaimFrom(ctx) != nil
	if !claimed && ctx.Err() != nil {
		w.WriteHeader(statusCallerGone)
		return
	}
	g.metrics.upstreamFailures.WithLabelValues(f.class).Inc()
	g.log.LogAttrs(ctx, slog.LevelWarn, "upstream failed",
		slog.String("class", f.class), slog.Bool("sent", f.sent), slog.Bool("claimed", claimed), slog.String("error", quietly(f.err)))
	problem := semelhttp.Problem{
		Name: "upstream-unreachable", Title: "The service cannot be reached", Status: http.StatusBadGateway,
		Detail:    "Nothing was done. Wait a moment, then send the same request again.",
		Retryable: true, RetryAfter: retryUpstream,
	}
	switch {
	case !f.sent:
		semelhttp.Dispose(ctx, semel.StateReleased, f.Error())
		if exhausted(f.err) {
			problem.Name, problem.Title, problem.Status = "overloaded", "Too much is going on", http.StatusServiceUnavailable
		}
	case claimed:
		semelhttp.Dispose(ctx, semel.StateUnknown, f.Error())
		problem = semelhttp.Problem{
			Name: "outcome-unknown", Title: "Nobody knows whether it happened", Status: http.StatusBadGateway,
			Detail: "The service took the request and did not answer. Sending it again with the same key is safe, and tells what is known by then; with another key it may happen twice.",
		}
	default:
		problem = semelhttp.Problem{
			Name: "upstream-failed", Title: "The service did not answer", Status: http.StatusBadGateway,
			Detail: "The request was passed on, and no complete answer came back.",
		}
	}
	if f.class == failureTimeout {
		problem.Status = http.StatusGatewayTimeout
	}
	semelhttp.WriteProblem(w, r, problem)
}

// exhausted reports whether this process, or the machine, has no file
// descriptor left, which says nothing about the upstream.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// bufferPool lends httputil.ReverseProxy the memory it copies bodies through.
type bufferPool struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (p *bufferPool) Get() []byte {
	if b, ok := p.pool.Get().(*[copyBufferBytes]byte); ok {
		return b[:]
	}
	return make([]byte, copyBufferBytes)
}

// Put implements httputil.BufferPool.
func (p *bufferPool) Put(b []byte) {
	if len(b) == copyBufferBytes {
		p.pool.Put((*[copyBufferBytes]byte)(b))
	}
}

// drainContext outlives ctx by d.
func drainContext(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}
