package semelhttp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/semel-dev/semel"
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
	// statusLimit bounds how often a scope asks what became of its requests.
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
	return &Middleware{guard: g, scope: scope, set: set, words: newWords(), statusLimit: newStatusLimit()}, nil
}

// Handler wraps next. Mount it inside of what authenticates and authorises the
// caller, so that replays are authorised too.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.serve(w, r, next) //nolint:contextcheck // the request brings its context.
	})
}

// serve is the walk: method, key, scope, body and fingerprint, claim.
func (m *Middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !slices.Contains(m.set.Methods, r.Method) {
		next.ServeHTTP(w, r)
		return
	}
	if m.set.source != nil && len(r.Header[m.set.source.name]) == 0 && !m.set.Required {
		next.ServeHTTP(w, r)
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
		ex.refuse(w, err)
	case !found && s.Required:
		ex.refuse(w, errKeyMissing)
	case !found:
		ex.began = time.Time{} // nothing to tell
		ex.pass(w, next)
	default:
		ex.begin(w, next, key)
	}
}
