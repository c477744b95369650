package semelhttp

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

// Middleware makes requests that carry a key happen once. It is the door of
// HTTP: key, bounded body, fingerprint, then [semel.Guard]. Make one with
// [New]. It is safe for concurrent use.
type Middleware struct {
	guard     *semel.Guard
	scope     ScopeFunc
	set       settings
	words     words
	scratches sync.Pool // of *scratch
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
	return &Middleware{guard: g, scope: scope, set: set, words: newWords()}, nil
}

// Handler wraps next. Mount it inside of what authenticates and authorises the
// caller, so that replays are authorised too.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
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
	ex := &exchange{m: m, request: r}
	if m.set.OnDecision != nil {
		ex.began = time.Now()
		defer ex.tell()
	}
	ex.scratch = m.takeScratch()
	defer ex.free()
	s := &m.set
	ex.body = Body{
		from: r.Body, declared: r.ContentLength, max: s.MaxBodyBytes, inMemory: s.SpoolBytes, dir: s.SpoolDir, mem: ex.scratch.body,
	}
	key, found, err := ex.key()
	switch {
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

// key finds the key and the scope it belongs to.
func (ex *exchange) key() (semel.Key, bool, error) {
	name, found, err := ex.m.set.Key.Key(ex.request, &ex.body)
	if err != nil || !found {
		return semel.Key{}, found, err
	}
	key := semel.Key{Scope: semel.ScopeGlobal, Name: name}
	if err := key.Validate(); err != nil {
		return semel.Key{}, true, err
	}
	key.Scope, err = ex.m.scope(ex.request)
	switch {
	case err != nil && !errors.Is(err, semel.ErrScopeMissing):
		return key, true, &optionError{"scope", err}
	case err != nil:
		return key, true, err
	case key.Scope == "":
		return key, true, semel.ErrScopeMissing
	}
	if err := key.Validate(); err != nil {
		return key, true, &optionError{"scope", err}
	}
	return key, true, nil
}

// begin asks the guard, and does what it says.
func (ex *exchange) begin(w http.ResponseWriter, next http.Handler, key semel.Key) {
	m := ex.m
	ctx := ex.request.Context()
	if outer := semel.ClaimFrom(ctx); outer != nil && outer.Digest() == m.guard.Digest(key) {
		ex.began = time.Time{}
		ex.pass(w, next) // mounted twice: this request holds the claim already
		return
	}
	fp, err := m.fingerprint(ex.request, &ex.body, &ex.scratch.hasher)
	if err != nil {
		ex.refuse(w, err)
		return
	}
	claim, rec, err := m.guard.Begin(ctx, key, fp)
	if m.set.OnDecision != nil {
		ex.decision.Digest, ex.decision.Waited = m.guard.Digest(key), time.Since(ex.began)
	}
	switch {
	case claim != nil:
		ex.claim = claim
		ex.execute(w, next)
	case rec != nil:
		ex.replay(w, rec)
	case m.set.FailOpen && unreachable(err):
		ex.decision.Outcome, ex.decision.Executed, ex.decision.Err = OutcomeUnprotected, true, err
		w.Header()[StatusHeader] = m.words.unprotected
		ex.pass(w, next)
	default:
		ex.refuse(w, err)
	}
}

// unreachable reports whether the store could not be asked. Where it told of a
// running twin first, executing would be a duplicate for sure.
func unreachable(err error) bool {
	e, ok := errors.AsType[*semel.Error](err)
	return ok && errors.Is(err, semel.ErrUnavailable) && !errors.Is(err, semel.ErrFull) && e.Record == nil
}

// pass runs the handler without a claim, on the body as far as it was read.
func (ex *exchange) pass(w http.ResponseWriter, next http.Handler) {
	if !ex.body.ready {
		next.ServeHTTP(w, ex.request)
		return
	}
	ex.reader.body = &ex.body
	r := ex.request.WithContext(ex.request.Context())
	r.Body = &ex.reader
	defer ex.adopt(r)
	defer ex.reader.Close()
	next.ServeHTTP(w, r)
}

// replay writes the recorded answer. Headers of outer handlers stay, unless
// the recorded answer sets or removes them.
func (ex *exchange) replay(w http.ResponseWriter, rec *semel.Record) {
	ex.decision.Fence, ex.decision.Attempt = rec.Fence, rec.Attempt
	e, err := openEnvelope(rec.Outcome)
	header := w.Header()
	if err == nil {
		err = e.head.into(header)
	}
	var trailer http.Header
	if err == nil && len(e.trailer) > 0 {
		trailer = http.Header{}
		err = e.trailer.into(trailer)
	}
	if err != nil {
		ex.refuse(w, &semel.Error{Op: "replay", Digest: rec.Digest, Err: errors.Join(semel.ErrNotKept, err)})
		return
	}
	for name := range trailer {
		header.Add("Trailer", name)
	}
	header[StatusHeader] = ex.m.words.replayed
	header[ReplayedHeader] = ex.m.words.yes
	w.WriteHeader(e.status)
	if len(e.body) > 0 {
		_, _ = w.Write(e.body) // the client may have gone
	}
	for name, values := range trailer {
		header[name] = values
	}
	ex.decision.Outcome, ex.decision.Status = OutcomeReplayed, e.status
}

// refuse answers with the problem that the error stands for.
func (ex *exchange) refuse(w http.ResponseWriter, err error) {
	p, outcome := problemOf(err)
	p.PolicyURL = ex.m.set.PolicyURL
	ex.decision.Outcome, ex.decision.Status, ex.decision.Err = outcome, p.Status, err
	if e, ok := errors.AsType[*semel.Error](err); ok && e.Record != nil {
		ex.decision.Fence, ex.decision.Attempt = e.Record.Fence, e.Record.Attempt
	}
	WriteProblem(w, ex.request, p)
}

// free gives back what the request held.
func (ex *exchange) free() {
	_ = ex.reader.Close()
	ex.body.close()
	s := ex.scratch
	if ex.body.mem != nil {
		s.body = ex.body.mem
	}
	ex.body.mem, ex.scratch, ex.capture.scratch = nil, nil, nil
	ex.m.giveScratch(s)
}

// tell reports the decision.
func (ex *exchange) tell() {
	if ex.began.IsZero() {
		return
	}
	d := &ex.decision
	d.Took, d.Method, d.Pattern = time.Since(ex.began), ex.request.Method, ex.request.Pattern
	ex.m.set.OnDecision(ex.request.Context(), *d)
}
