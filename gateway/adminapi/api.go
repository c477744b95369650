package adminapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/ratelimit"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelhttp"
)

const (
	// callTimeout bounds one call, from the moment when it is let in.
	callTimeout = 30 * time.Second
	// maxAddresses bounds the addresses that are remembered for their failures.
	maxAddresses = 4096
)

// Rate allows Burst at once, then one every Every. Zero means the default of
// its field.
type Rate struct {
	Every time.Duration
	Burst int
}

// Defaults of [Options].
const (
	DefaultFailuresEvery    = 6 * time.Second
	DefaultFailuresBurst    = 10
	DefaultAllFailuresEvery = 600 * time.Millisecond
	DefaultAllFailuresBurst = 100
	DefaultCallsEvery       = 50 * time.Millisecond
	DefaultCallsBurst       = 100
)

// Options are the settings of an [API]. Nil turns the API off.
type Options struct {
	// Tokens let operators in; at most MaxTokens. Without any the API is off:
	// every call is answered with 404 and a sentence.
	Tokens []Token
	// Failures bounds the wrong tokens from one address, an IPv6 address counting
	// as its network of 64 bits. Beyond it the address is refused (429), even with
	// the right token. Default ten at once, then one every six seconds.
	Failures Rate
	// AllFailures is the same for all addresses together. Default a hundred at
	// once, then one every 0.6 seconds.
	AllFailures Rate
	// Calls bounds the calls of one token. Default a hundred at once, then
	// twenty a second.
	Calls Rate
	// AuditRetention is the time for which verdicts are remembered. Default 365
	// days.
	AuditRetention time.Duration
	// Repeats has the repetitions that this process has met, which are shown with a record. Default: none.
	Repeats *outcomelog.Repeats
	// Logger gets a line for every verdict and for every wrong token. Default:
	// none.
	Logger *slog.Logger
}

// Check reports what [New] would refuse for a guard over this store.
func (o *Options) Check(store semel.Store) error {
	if o == nil || len(o.Tokens) == 0 {
		return nil
	}
	if _, ok := semel.StoreAs[semel.Lister](store); !ok {
		return errors.New("adminapi: this store cannot show its records")
	}
	for _, r := range []Rate{o.Failures, o.AllFailures, o.Calls} {
		if r.Every < 0 || r.Burst < 0 {
			return fmt.Errorf("adminapi: a rate of one every %v, %d at once, is negative (leave it out for the default)", r.Every, r.Burst)
		}
	}
	return checkTokens(o.Tokens)
}

func checkTokens(all []Token) error {
	if len(all) > MaxTokens {
		return fmt.Errorf("adminapi: there are %d tokens, at most %d are allowed", len(all), MaxTokens)
	}
	for i := range all {
		if all[i].hash == (Token{}).hash {
			return errors.New("adminapi: a token is empty (make it with NewToken or LoadTokens)")
		}
		for j := range i {
			if what := clash(&all[j], &all[i]); what != "" {
				return fmt.Errorf("adminapi: two tokens have the same %s", what)
			}
		}
	}
	return nil
}

// API is an [http.Handler] for paths that begin with /v1/. It is safe for
// concurrent use and needs no closing. It does not bound how slowly a request is
// sent or an answer read: give the server a ReadTimeout, and a WriteTimeout of more
// than 30 s. Make one with [New].
type API struct {
	guard   *semel.Guard
	records *operator.Records
	tokens  atomic.Pointer[[]Token] // what it points to does not change
	log     *slog.Logger
	repeats *outcomelog.Repeats // may be nil

	letIn       sync.Mutex // held from the look at the bounds to the count of a failure
	failures    *ratelimit.Limiter
	allFailures *ratelimit.Limiter
	calls       *ratelimit.Limiter
}

var _ http.Handler = (*API)(nil)

// New returns the API over the guard's records: use the guard of the service
// itself, because keys are found with its secret only. The error is that of
// [Options.Check].
func New(guard *semel.Guard, opts *Options) (*API, error) {
	if guard == nil {
		return nil, errors.New("adminapi: guard is nil")
	}
	if opts == nil {
		opts = &Options{}
	}
	if err := opts.Check(guard.Store()); err != nil {
		return nil, err
	}
	records, err := operator.New(guard, &operator.Options{AuditRetention: opts.AuditRetention})
	if err != nil {
		return nil, err
	}
	a := &API{
		guard: guard, records: records, log: opts.Logger, repeats: opts.Repeats,
		failures:    newLimiter(opts.Failures, Rate{DefaultFailuresEvery, DefaultFailuresBurst}, maxAddresses),
		allFailures: newLimiter(opts.AllFailures, Rate{DefaultAllFailuresEvery, DefaultAllFailuresBurst}, 1),
		calls:       newLimiter(opts.Calls, Rate{DefaultCallsEvery, DefaultCallsBurst}, MaxTokens),
	}
	a.log = cmp.Or(a.log, slog.New(slog.DiscardHandler))
	tokens := slices.Clone(opts.Tokens)
	a.tokens.Store(&tokens)
	return a, nil
}

func newLimiter(r, def Rate, keys int) *ratelimit.Limiter {
	return ratelimit.New(cmp.Or(r.Every, def.Every), cmp.Or(r.Burst, def.Burst), keys) // neither is negative, see Check
}

// call is one request that was let in.
type call struct {
	*http.Request

	by     operator.Identity
	digest string // from the path, or of the record that was cancelled
	as     string // the verdict, once it is understood
	look   look   // the record that it is about
	etag   string // of the record in the answer
	query  map[string]string
	states []string // the query's, which can be repeated
}

// ServeHTTP implements [http.Handler].
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{Request: r}
	status, body, err := a.contain(r.Context(), c)
	if err != nil {
		p := a.problemOf(r.Context(), c, err)
		status = p.Status
		for name, value := range p.header {
			w.Header().Set(name, value)
		}
		semelhttp.WriteProblem(w, &http.Request{}, p.Problem) // as JSON, whatever the caller accepts
	} else {
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		if c.etag != "" {
			h.Set(headerETag, c.etag)
		}
		w.WriteHeader(status)
		_, _ = w.Write(body) // the caller may have gone
	}
	if c.by.Name != "" && !reads(r.Method) {
		a.log.LogAttrs(r.Context(), slog.LevelInfo, "call of an operator", slog.String("operator", c.by.Name), slog.String("via", c.by.Via),
			slog.String("method", r.Method), slog.String("record", fmt.Sprintf("%.12s", c.digest)), slog.String("as", c.as), slog.Int("status", status))
	}
}

// contain answers the call, and turns a panic into an error that reveals
// nothing to the caller.
func (a *API) contain(ctx context.Context, c *call) (status int, body []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			a.log.LogAttrs(ctx, slog.LevelError, "a call of the admin API panicked",
				slog.String("panic", fmt.Sprint(dialect.DiscreetPanic(cause))), slog.String("stack", string(debug.Stack())))
			err = errPanicked
		}
	}()
	answer, err := a.serve(ctx, c)
	if err != nil {
		return 0, nil, err
	}
	if rec, ok := answer.(operatorview.Record); ok {
		c.etag = etag(&rec)
	}
	if body, err = json.Marshal(answer); err != nil {
		return 0, nil, fmt.Errorf("write the answer: %w", err)
	}
	return http.StatusOK, append(body, '\n'), nil
}

// serve lets the call in, finds its endpoint, and runs it.
func (a *API) serve(ctx context.Context, c *call) (any, error) {
	if err := a.admit(c); err != nil {
		return nil, err
	}
	end, err := a.find(c)
	if err != nil {
		return nil, err
	}
	if err := c.readQuery(end.query); err != nil {
		return nil, err
	}
	if !reads(c.Method) {
		ctx = context.WithoutCancel(ctx) // a verdict is given in full although its operator hangs up
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return end.work(ctx, c)
}

// reads reports whether a method changes nothing.
func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }
