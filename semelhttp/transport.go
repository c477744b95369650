package semelhttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/waiting"
)

// Defaults of a [Transport].
const (
	defaultMaxAttempts     = 5
	defaultMaxElapsed      = time.Minute
	defaultBackoff         = 200 * time.Millisecond
	defaultMaxBackoff      = 10 * time.Second
	defaultMaxRetryAfter   = 30 * time.Second
	defaultMaxBufferedBody = 1 << 20
)

// Transport is an [http.RoundTripper] that makes a request safe to repeat, and
// repeats it until it has a definitive answer. Every attempt of one request
// carries the same key, so a server that knows the header executes it once.
//
// The key is, in this order: the header that the request has already; the
// intent in its context ([WithIntent], [NewIntent]); that of the request it was
// redirected from (307, 308); or a fresh one, minted for this RoundTrip alone.
// Only a key from the context survives into a later retry of the operation, so
// callers that retry should mint it themselves.
//
// A definitive answer is any but these: 408, 421, 425, 429, every status from 500
// on, and the problem type in-flight. A replayed answer is definitive, and so is
// the problem outcome-unknown under any of these statuses, unless it says
// retryable: then the next attempt finds out. What is not definitive, and an
// error of the network, lead to another attempt. If the attempts end
// without a definitive answer, the error is an [*UnknownError] when an attempt
// may have reached the server, and a plain error when none did.
//
// An answer that breaks off counts as lost. Answers of up to 1 MiB are therefore read
// within their attempt, and RoundTrip returns them whole. The caller reads the rest of a
// longer one, or of a stream ([Streams]): io.EOF says that it was whole. Any other error
// is an [*UnknownError], after which the same request under the same key is safe. A
// caller that closes the body early does not know whether the answer was whole.
//
// A redirect is a definitive answer of the request that was sent. An
// [http.Client] follows 301, 302 and 303 by a GET, whose answer says nothing of
// the request: the redirect may have led to a sign-in page. A caller that expects
// redirects looks at them itself (http.Client.CheckRedirect).
//
// The caller's request is not changed. The header goes out under a lower-case
// name: net/http resends on its own what carries the canonical one, and such a
// resend would not be counted.
//
// The zero Transport works; a Transport must not be copied or changed after
// first use, and is safe for concurrent use.
type Transport struct {
	// Base makes one attempt. It must not repeat a request that it has begun
	// to send. Default: a private clone of [http.DefaultTransport]. An attempt
	// has no time limit of its own: where a server may hang, set
	// ResponseHeaderTimeout in the base, and a deadline in the request's context
	// for an answer that stops on its way.
	Base http.RoundTripper
	// Methods get a key and are repeated; other methods pass untouched.
	// Default POST and PATCH.
	Methods []string
	// Header carries the key. Default Idempotency-Key.
	Header string
	// MaxAttempts bounds the attempts of one RoundTrip. Default
	// 5; 1 for no repetition.
	MaxAttempts int
	// MaxElapsed bounds when the last attempt may begin, counted from the first.
	// Default one minute; negative for no bound.
	MaxElapsed time.Duration
	// Backoff and MaxBackoff bound the pause before an attempt: it is random
	// between 0 and Backoff, doubled with every attempt up to MaxBackoff.
	// Defaults 200 ms, 10 s.
	Backoff, MaxBackoff time.Duration
	// MaxRetryAfter is the longest Retry-After that is honoured in full; a
	// longer one counts as this. Default 30 s.
	MaxRetryAfter time.Duration
	// MaxBufferedBody limits how much of a body without GetBody is read into
	// memory before the first attempt, so that it can be repeated. A longer
	// body is sent once and not repeated. Default 1 MiB;
	// negative for none, which streams such bodies as they are written.
	MaxBufferedBody int64

	once sync.Once
	own  *http.Transport // when Base is nil
}

var _ http.RoundTripper = (*Transport)(nil)

// RoundTrip sends the request, as often as it takes; see [Transport].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.base()
	if !t.covers(req.Method) {
		return base.RoundTrip(req)
	}
	run, err := t.begin(base, req)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // nothing was sent
		}
		return nil, fmt.Errorf("semelhttp: nothing was sent: %w", err)
	}
	return run.do()
}

// CloseIdleConnections closes the idle connections of the base, if it can.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base != nil {
		return t.Base
	}
	t.once.Do(func() {
		if std, ok := http.DefaultTransport.(*http.Transport); ok {
			t.own = std.Clone()
			return
		}
		t.own = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	})
	return t.own
}

func (t *Transport) covers(method string) bool {
	if len(t.Methods) == 0 {
		return method == http.MethodPost || method == http.MethodPatch
	}
	return slices.ContainsFunc(t.Methods, func(name string) bool { return strings.EqualFold(name, cmp.Or(method, http.MethodGet)) })
}

// begin finds the key and the body of a request. On an error the caller closes
// the body.
func (t *Transport) begin(base http.RoundTripper, req *http.Request) (*transportRun, error) {
	r := &transportRun{t: t, base: base, req: req, started: time.Now()}
	if err := context.Cause(req.Context()); err != nil {
		return nil, err
	}
	header, key, err := t.keyed(req)
	if err != nil {
		return nil, err
	}
	r.header, r.key = header, key
	r.ctx = WithIntent(req.Context(), key)
	r.body, err = newTransportBody(req, cmp.Or(t.MaxBufferedBody, defaultMaxBufferedBody))
	return r, err
}

// keyed returns the header to send, with the key under its lower-case name.
func (t *Transport) keyed(req *http.Request) (header http.Header, key string, err error) {
	name := cmp.Or(t.Header, DefaultHeader)
	header = make(http.Header, len(req.Header)+1)
	for k, v := range req.Header {
		switch lower := strings.ToLower(k); lower {
		case strings.ToLower(name), "idempotency-key", "x-idempotency-key":
			k = lower
		}
		header[k] = append(header[k], v...)
	}
	name = strings.ToLower(name)
	if given := header[name]; len(given) > 0 {
		return header, givenIntentKey(given[0]), nil
	}
	key = intentOf(req)
	wire, err := quoteIntentKey(key)
	header[name] = []string{wire}
	return header, key, err
}

// intentOf returns the key of a request that has no header with one.
func intentOf(req *http.Request) string {
	if key, ok := IntentFrom(req.Context()); ok {
		return key
	}
	if from := req.Response; from != nil && from.Request != nil && from.Request.Method == req.Method {
		if key, ok := IntentFrom(from.Request.Context()); ok { //nolint:contextcheck // of the request before the redirect.
			return key
		}
	}
	return newIntentKey()
}

// givenIntentKey returns the name in a header that the caller set; a value
// that is not a key is left to the server to refuse.
func givenIntentKey(wire string) string {
	k, err := semel.ParseKey(semel.ScopeGlobal, wire)
	if err != nil {
		return wire
	}
	return k.Name
}

// transportRun is one RoundTrip, with all its attempts.
type transportRun struct {
	t       *Transport
	base    http.RoundTripper
	req     *http.Request   // the caller's, not changed
	ctx     context.Context //nolint:containedctx // the request's, with the key.
	header  http.Header     // what is sent; read only
	body    *transportBody
	key     string
	started time.Time

	attempts int
	reached  bool  // an attempt may have reached the server
	last     error // what the last attempt came to
}

// do makes attempts until one has a definitive answer or a bound is reached.
func (r *transportRun) do() (*http.Response, error) {
	for {
		resp, v := r.attempt()
		if resp != nil {
			return resp, nil
		}
		if v.final {
			return nil, r.fail("")
		}
		if reason := r.pause(v.retryAfter); reason != "" {
			return nil, r.fail(reason)
		}
	}
}

// attemptVerdict says how to go on after an attempt without an answer.
type attemptVerdict struct {
	final      bool // another attempt would come to the same
	retryAfter time.Duration
}

// attempt sends the request once. It returns the response when it is
// definitive.
func (r *transportRun) attempt() (*http.Response, attemptVerdict) {
	var trail connTrail
	out := r.req.WithContext(httptrace.WithClientTrace(r.ctx, trail.hooks()))
	out.Header = r.header.Clone()
	if err := r.body.attach(out); err != nil {
		r.last = fmt.Errorf("get the body again: %w", err)
		return nil, attemptVerdict{final: true}
	}
	r.attempts++
	resp, err := r.base.RoundTrip(out)
	if err != nil {
		r.last = err
		if trail.unsent(err) {
			_, hopeless := errors.AsType[*tls.CertificateVerificationError](err)
			return nil, attemptVerdict{final: hopeless}
		}
		if r.t.own != nil && !trail.asked.Load() && r.ctx.Err() == nil {
			return nil, attemptVerdict{final: true} // net/http refused it as it is
		}
		r.reached = true
		return nil, attemptVerdict{}
	}
	r.reached = true
	again, err := judgeResponse(resp)
	switch {
	case err != nil:
		r.last = err
		return nil, attemptVerdict{}
	case again != nil:
		r.last = again
		return nil, attemptVerdict{retryAfter: again.RetryAfter}
	}
	resp.Request = r.req.WithContext(r.ctx)
	if rest, ok := resp.Body.(*unfinishedBody); ok {
		rest.brokeOff = func(err error) error {
			return &UnknownError{Key: r.key, Attempts: r.attempts, Reason: "the answer broke off", Err: err}
		}
	}
	return resp, attemptVerdict{}
}

// pause waits for the next attempt, or says why there is none.
func (r *transportRun) pause(retryAfter time.Duration) (reason string) {
	t := r.t
	if most := cmp.Or(t.MaxAttempts, defaultMaxAttempts); r.attempts >= most {
		return fmt.Sprintf("at most %d are made", most)
	}
	if r.body.once != "" {
		return r.body.once
	}
	wait := jitter(r.attempts, cmp.Or(t.Backoff, defaultBackoff), cmp.Or(t.MaxBackoff, defaultMaxBackoff))
	wait = max(wait, min(retryAfter, cmp.Or(t.MaxRetryAfter, defaultMaxRetryAfter)))
	if most := cmp.Or(t.MaxElapsed, defaultMaxElapsed); most > 0 && time.Since(r.started)+wait > most {
		return fmt.Sprintf("the next would begin later than %v after the first", most)
	}
	if end, ok := r.ctx.Deadline(); ok && time.Until(end) < wait {
		return "the context would end before the next"
	}
	if !waiting.Sleep(r.ctx, wait) {
		r.last = fmt.Errorf("%w; before that: %w", context.Cause(r.ctx), r.last)
		return "the context ended"
	}
	return ""
}

// fail is the error of a run without a definitive answer.
func (r *transportRun) fail(reason string) error {
	if r.reached {
		return &UnknownError{Key: r.key, Attempts: r.attempts, Reason: reason, Err: r.last}
	}
	if reason != "" {
		reason = " (" + reason + ")"
	}
	return fmt.Errorf("semelhttp: nothing was sent in %d attempts%s: %w", r.attempts, reason, r.last)
}
