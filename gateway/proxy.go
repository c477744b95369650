package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/internal/forms"
	"github.com/semel-dev/semel/internal/crossorigin"
	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

const (
	copyBufferBytes = 32 << 10
	retryUpstream   = time.Second
	// statusCallerGone is logged for a caller that went away, which does not read it.
	statusCallerGone = 499
)

// newProxy returns the handler that passes a request on to the upstream and
// its answer back. Under a claim it says with semelhttp.Dispose what a missing
// answer means.
func (g *Gateway) newProxy(target *url.URL, transport http.RoundTripper) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			host := pr.Out.Host
			pr.SetURL(target)
			pr.Out.URL.RawQuery = pr.In.URL.RawQuery // as it came; nothing here looks into it
			if !g.config.RewriteHost {
				pr.Out.Host = host
			}
			addHop(pr.Out.Header, pr.In)
			refuseTunnel(pr.Out.Header)
			if semel.ClaimFrom(pr.In.Context()) != nil {
				acceptDecodable(pr.Out.Header, readsBody(pr.In.Context()))
			}
			_, here := pr.In.Body.(io.Seeker)
			if here || semel.ClaimFrom(pr.In.Context()) != nil {
				delete(pr.Out.Header, "Expect") // the body is here: there is nothing to wait for
			}
			if here && pr.Out.Body != nil {
				pr.Out.Body = pr.In.Body // ReverseProxy wraps it, and inHand would not see what it is
			}
		},
		Transport:    transport,
		BufferPool:   &bufferPool{},
		ErrorHandler: g.fail,
		ErrorLog:     newErrorLog(g.log),

		ModifyResponse: func(res *http.Response) error { // it changes nothing
			upgraded(res)
			release(res, wholeBody(res))
			crossorigin.From(res.Request.Context()).Learn(res.StatusCode, res.Header)
			return nil
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(&informedAnswer{ResponseWriter: w, outer: maps.Clone(w.Header())}, r)
	})
}

// acceptDecodable asks only for codings that Semel can remove: the caller of a replay may accept fewer than this one.
func acceptDecodable(header http.Header, plain bool) {
	if plain { // a rule looks into it
		delete(header, "Accept-Encoding")
	}
	var kept []string
	for item := range strings.SplitSeq(strings.Join(header["Accept-Encoding"], ","), ",") {
		switch name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(item)), ";"); strings.TrimSpace(name) {
		case "gzip", "deflate", "identity":
			kept = append(kept, strings.TrimSpace(item))
		}
	}
	if len(kept) == 0 {
		kept = []string{"identity"}
	}
	header["Accept-Encoding"] = []string{strings.Join(kept, ", ")}
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
		forms.Refuse(w, r)
		return
	}
	claim := semel.ClaimFrom(ctx)
	claimed := claim != nil
	if !claimed && ctx.Err() != nil {
		w.WriteHeader(statusCallerGone)
		return
	}
	g.metrics.upstreamFailures.WithLabelValues(f.class).Inc()
	g.log.LogAttrs(ctx, slog.LevelWarn, "upstream failed",
		slog.String("class", f.class), slog.Bool("sent", f.sent), slog.Bool("claimed", claimed), slog.String("error", quietly(f.err)))
	problem := semelhttp.Problem{
		Name: "upstream-unreachable", Page: "upstream-unreachable", Title: "The service cannot be reached", Status: http.StatusBadGateway,
		Detail:    "Nothing was done. Wait a moment, then send the same request again.",
		Retryable: true, RetryAfter: retryUpstream,
	}
	switch {
	case !f.sent:
		semelhttp.Dispose(ctx, semel.StateReleased, f.Error())
		if errors.Is(f.err, syscall.EMFILE) || errors.Is(f.err, syscall.ENFILE) { // no descriptor is left here, which says nothing about the upstream
			problem.Name, problem.Page = "overloaded", "overloaded"
			problem.Title, problem.Status = "Too much is going on", http.StatusServiceUnavailable
		}
	case claimed:
		semelhttp.Dispose(ctx, semel.StateUnknown, f.Error())
		problem = semelhttp.Problem{
			Name: "outcome-unknown", Page: "no-answer", Title: "The outcome is unknown", Status: http.StatusBadGateway,
			Detail: "The service took the request and did not answer. Sent again with the same key it is not carried out again; with another key it may happen twice. Look it up; an operator can resolve it.",
			Extra:  map[string]any{"reference": refusal.Reference(claim.Digest().String())},
		}
		if a, ok := ctx.Value(attemptKey{}).(*attempt); ok && a.reconcile != nil {
			problem.Retryable, problem.RetryAfter = true, max(retryUpstream, a.reconcile.AbsentAfter)
			problem.Detail = "The service took the request and did not answer. Whether it happened is looked up with each repetition: wait as long as Retry-After says, then send the same request again with the same key. With another key it may happen twice."
		}
	default:
		problem = semelhttp.Problem{
			Name: "upstream-failed", Page: "upstream-failed", Title: "The service did not answer", Status: http.StatusBadGateway,
			Detail: "The request may have been passed on; no complete answer came back.",
		}
	}
	if f.class == failureTimeout {
		problem.Status = http.StatusGatewayTimeout
	}
	crossorigin.From(ctx).Allow(w.Header(), "Retry-After")
	semelhttp.WriteProblem(w, r, problem)
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

// releasing holds the conditions under which an answer means that nothing happened.
type releasing struct {
	when *rules.ReleasedWhen
	path string // of the request as the caller sent it
}

type releasingKey struct{}

// rememberReleasing lets [release] judge the upstream's answers by the rule.
func rememberReleasing(when *rules.ReleasedWhen, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), releasingKey{}, releasing{when, r.URL.Path})
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// readsBody reports whether the rule of the request looks into the body of the answer.
func readsBody(ctx context.Context) bool {
	rule, ok := ctx.Value(releasingKey{}).(releasing)
	return ok && rule.when.Pointer != ""
}

// says reports whether the body has what the rule looks for; body is nil if it is not known.
func (r *releasing) says(body []byte) bool {
	if r.when.Pointer == "" {
		return true
	}
	found, ok := lookUp(parseJSON(body), r.when.Pointer)
	switch {
	case !ok:
		return false
	case len(r.when.Equals) == 0:
		return !saysNothing(found)
	}
	return slices.ContainsFunc(r.when.Equals, func(want any) bool { return equals(found, want) })
}

// saysNothing reports whether applications say by this value that all went well.
func saysNothing(value any) bool {
	switch v := value.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case json.Number:
		return equals(v, 0.0)
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return value == nil
}

// release disposes of a claim whose rule has released_when. body is the answer's, or nil
// if it is too long or the rule does not look at it.
func release(res *http.Response, body []byte) {
	ctx := res.Request.Context()
	rule, ok := ctx.Value(releasingKey{}).(releasing)
	if !ok {
		return
	}
	switch location := res.Header.Get("Location"); {
	case rule.when.Holds(rule.path, res.StatusCode, res.Header) && rule.says(body):
		semelhttp.Dispose(ctx, semel.StateReleased, "released_when of the rule holds for "+res.Status)
	case rule.when.None && location != "" && res.StatusCode >= 300 && res.StatusCode < 400:
		semelhttp.Dispose(ctx, semel.StateCompleted, "")
	}
}
