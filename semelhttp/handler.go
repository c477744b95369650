package semelhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/crossorigin"
	"github.com/semel-dev/semel/internal/disclosure"
	"github.com/semel-dev/semel/internal/ratelimit"
)

// Middleware makes requests that carry a key happen once. It is the door of
// HTTP: key, bounded body, fingerprint, then [semel.Guard]. Make one with
// [New]. It is safe for concurrent use.
type Middleware struct {
	guard     *semel.Guard
	scope     ScopeFunc
	set       settings
	words     words
	exchanges sync.Pool // of *exchange, between requests
	scratches sync.Pool // of *scratch
	chunks    sync.Pool // of *chunk
	pages     crossorigin.Memory
	// statusLimit bounds how often a scope asks for the outcome of its requests.
	statusLimit *ratelimit.Limiter
}

// New returns a middleware over the guard, whose policy says how long outcomes
// are kept, how long a duplicate waits, and what happens with unknown ones.
// opts may be nil.
func New(g *semel.Guard, scope ScopeFunc, opts *Options) (*Middleware, error) {
	if g == nil {
		return nil, errors.New("semelhttp: new middleware: guard is nil")
	}
	if scope == nil {
		return nil, errors.New("semelhttp: new middleware: scope is nil (say whose keys these are, for example with ScopeBy)")
	}
	policy := g.Policy()
	set, err := opts.withDefaults(&policy)
	if err != nil {
		return nil, err
	}
	if set.Transactor != nil {
		if err := g.CheckTx(); err != nil {
			return nil, fmt.Errorf("semelhttp: new middleware: %w", err)
		}
	}
	return &Middleware{
		guard: g, scope: scope, set: set, words: newWords(), statusLimit: newStatusLimit(),
		scratches: sync.Pool{New: newScratch},
		chunks:    sync.Pool{New: newChunk},
	}, nil
}

// Handler wraps next. Mount it inside of what authenticates and authorises the
// caller, so that replays are authorised too, and inside of what recovers panics,
// retries, or answers when a time is up.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.serve(w, r, next) //nolint:contextcheck // the request brings its context.
	})
}

// serve finds the key and its scope. Requests that carry none pass untouched.
func (m *Middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !slices.Contains(m.set.Methods, r.Method) {
		m.forward(w, r, next)
		return
	}
	if source := m.set.source; source != nil && len(r.Header[source.name]) == 0 && !m.set.Required && !source.elsewhere(r) {
		m.forward(w, r, next)
		return
	}
	ex := m.open(r)
	defer ex.free()
	s := &m.set
	key, found, err := ex.key()
	switch {
	case err != nil && s.FailOpen && unreachable(err):
		ex.unprotected(w, next, err)
	case err != nil:
		ex.refuse(tellStale(w, r, err), err)
	case !found && s.Required:
		ex.refuse(w, errKeyMissing)
	case !found:
		ex.began = time.Time{} // nothing to tell
		ex.pass(w, next)
	case s.formField:
		ex.begin(tellOutcome(w, r, key.Name), next, key)
	case s.formToken:
		id, _, _ := strings.Cut(key.Name, ":")
		ex.begin(tellOutcome(w, r, id), next, key)
	default:
		ex.begin(w, next, key)
	}
}

// forward gives next a request that carries no key.
func (m *Middleware) forward(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(w, r)
	m.learn(r, 0, w.Header())
}

// page returns the page of another origin that sent the request, or nil.
func (m *Middleware) page(r *http.Request) *crossorigin.Page {
	if len(r.Header["Origin"]) == 0 {
		return nil
	}
	if page := crossorigin.From(r.Context()); page != nil {
		return page.About(r)
	}
	return m.pages.Of(r)
}

// learn remembers what the handler answered to a page of another origin. A gateway
// around it learns on its own.
func (m *Middleware) learn(r *http.Request, status int, header http.Header) {
	if len(r.Header["Origin"]) > 0 && crossorigin.From(r.Context()) == nil {
		m.pages.Of(r).Learn(status, header)
	}
}

// begin reads the body, asks the guard, and does what it says.
func (ex *exchange) begin(w http.ResponseWriter, next http.Handler, key semel.Key) {
	m := ex.m
	ctx := ex.request.Context()
	if m.guard.Holds(ctx, key) {
		ex.began = time.Time{}
		ex.pass(w, next) // mounted twice
		return
	}
	fp, err := m.fingerprint(ex.request, &ex.body, &ex.hasher)
	if err != nil {
		ex.refuse(w, err)
		return
	}
	var asked time.Time
	if m.set.OnDecision != nil {
		asked = time.Now()
	}
	claim, rec, err := m.claim(ctx, key, fp)
	if m.set.OnDecision != nil {
		ex.decision.Digest, ex.decision.Begin = m.digest(key, claim, rec, err), time.Since(asked)
	}
	switch {
	case claim != nil:
		ex.execute(w, next, claim)
	case rec != nil:
		if ex.mayTell(w, rec) {
			ex.replay(w, rec)
		}
	case errors.Is(err, semel.ErrKeyInvalid): // the name is good
		ex.refuse(w, &optionError{"scope", err})
	case m.set.FailOpen && unreachable(err):
		ex.unprotected(w, next, err)
	default:
		if record, reveals := disclosure.Of(err); !reveals || ex.mayTell(w, record) {
			ex.refuse(w, err)
		}
	}
}

// claim asks the guard, for a claim with a transaction if the options say so.
func (m *Middleware) claim(ctx context.Context, key semel.Key, fp semel.Fingerprint) (claim, *semel.Record, error) {
	if m.set.Transactor == nil {
		c, rec, err := m.guard.Begin(ctx, key, fp)
		if c == nil { // else the interface would not be nil
			return nil, rec, err
		}
		return c, nil, nil
	}
	c, rec, err := m.guard.BeginTx(ctx, m.set.Transactor, key, fp)
	if c == nil {
		return nil, rec, err
	}
	return &txClaim{TxClaim: c}, nil, nil
}

// execute runs the handler under the claim, and has the outcome settled before
// the first byte of the answer goes out.
func (ex *exchange) execute(w http.ResponseWriter, next http.Handler, claim claim) {
	d := &ex.decision
	d.Executed, d.Fence, d.Attempt = true, claim.Fence(), claim.Attempt()
	run := ex.m.newExecution(w, ex.request, &ex.body, claim)
	ex.run = run
	r := ex.request.WithContext(&run.ctx)
	r.Body = &run.reader
	returned := false
	defer func() {
		ex.adopt(r)
		err := run.finish(returned)
		d.Outcome, d.Err = run.outcome, run.err
		if returned {
			d.Status = run.capture.status
			ex.m.learn(ex.request, d.Status, w.Header())
		}
		if err != nil {
			ex.refuse(w, err)
		}
	}()
	next.ServeHTTP(&run.capture, r)
	returned = true
}
