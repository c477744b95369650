package semelhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/crossorigin"
	"github.com/semel-dev/semel/internal/disclosure"
	"github.com/semel-dev/semel/internal/ratelimit"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/outcomelog"
)

// Middleware makes requests that carry a key happen once. It is the door of HTTP: key, bounded body, fingerprint, then
// [semel.Guard]. Make one with [New]. It is safe for concurrent use.
type Middleware struct {
	guard     *semel.Guard
	scope     ScopeFunc
	set       settings
	words     words
	exchanges sync.Pool // of *exchange, between requests
	scratches sync.Pool // of *scratch
	chunks    sync.Pool // of *chunk
	large     sync.Pool // of *[]byte, for long bodies: clearing a new one costs more than reading the body
	pages     crossorigin.Memory
	// statusLimit bounds how often a scope asks for the outcome of its requests.
	statusLimit *ratelimit.Limiter
}

// New returns a middleware over the guard, whose policy says how long outcomes are kept, how long a duplicate waits, and what
// happens with unknown ones. opts may be nil.
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
		guard: g, scope: scope, set: set, words: newWords(), statusLimit: ratelimit.New(time.Second/statusRate, 2*statusRate, statusScopes),
		scratches: sync.Pool{New: func() any { return &scratch{envelope: make([]byte, 0, firstBufferBytes)} }},
		chunks:    sync.Pool{New: func() any { return new(chunk) }},
	}, nil
}

// Handler wraps next. Mount it inside of what authenticates and authorises the caller, so that replays are authorised too, and
// inside of what recovers panics, retries, or answers when a time is up.
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
	ex := m.newExchange(r)
	defer ex.free()
	s := &m.set
	key, found, err := ex.key()
	switch {
	case err != nil && s.FailOpen && unreachable(err):
		ex.failOpen(w, next, err)
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

// learn remembers what the handler answered to a page of another origin. A gateway around it learns on its own.
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
		ex.failOpen(w, next, err)
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

// execute runs the handler under the claim, and has the outcome settled before the first byte of the answer goes out.
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

const (
	// firstBufferBytes is the room a new buffer starts with.
	firstBufferBytes = 4 << 10
	// maxBufferBytes is the largest buffer that is kept for the next request.
	maxBufferBytes = 1 << 20
)

// exchange is one request that may carry a key, until its decision is reported.
// Later requests use it again, so nothing that a handler can keep points to it.
type exchange struct {
	m        *Middleware
	request  *http.Request // as it came in
	body     Body
	decision Decision
	run      *execution // of the handler under a claim
	began    time.Time  // zero when there is nothing to report

	hasher semel.Hasher
	memory []byte  // for the body
	fields []field // of the answer that is replayed
}

func (m *Middleware) newExchange(r *http.Request) *exchange {
	ex, ok := m.exchanges.Get().(*exchange)
	if !ok {
		ex = &exchange{m: m, memory: make([]byte, 0, firstBufferBytes)}
	}
	ex.request = r
	if m.set.OnDecision != nil {
		ex.began = time.Now()
	}
	ex.body = Body{
		from: r.Body, declared: r.ContentLength,
		max: m.set.MaxBodyBytes, inMemory: m.set.SpoolBytes, dir: m.set.SpoolDir, mem: ex.memory, in: ex,
	}
	return ex
}

// free reports the decision and gives the memory back.
func (ex *exchange) free() {
	ex.tell()
	ex.body.close()
	ex.memory = reuse(ex.body.mem)
	clear(ex.fields)
	ex.request, ex.body, ex.decision, ex.run = nil, Body{}, Decision{}, nil
	ex.m.exchanges.Put(ex)
}

func reuse(b []byte) []byte {
	if cap(b) > maxBufferBytes {
		return nil
	}
	return b[:0]
}

// key finds the key and the scope it belongs to.
func (ex *exchange) key() (semel.Key, bool, error) {
	name, found, err := ex.m.set.Key.Key(ex.request, &ex.body)
	if err != nil || !found {
		return semel.Key{}, found, err
	}
	key := semel.Key{Scope: semel.ScopeGlobal, Name: name}
	if source := ex.m.set.source; source == nil || source.literal { // else it was parsed, and is good
		if err := key.Validate(); err != nil {
			return semel.Key{}, true, err
		}
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
	return key, true, nil
}

// digest identifies the record of the key that was met; while a secret of the guard is replaced it may have one of two.
func (m *Middleware) digest(key semel.Key, claim claim, rec *semel.Record, err error) semel.Digest {
	if claim != nil {
		return claim.Digest()
	}
	if rec != nil {
		return rec.Digest
	}
	if e, ok := errors.AsType[*semel.Error](err); ok && e.Digest != (semel.Digest{}) {
		return e.Digest
	}
	return m.guard.Digest(key)
}

// unreachable reports whether the store could not be asked. Where it reported a record first, a running twin or an unknown
// outcome, or has one that this program cannot read, executing could be a duplicate; and so it could where the guard is only
// full, which callers can bring about.
func unreachable(err error) bool {
	e, ok := errors.AsType[*semel.Error](err)
	return ok && errors.Is(err, semel.ErrUnavailable) && !errors.Is(err, semel.ErrFull) &&
		!errors.Is(err, semel.ErrNewerRecord) && !errors.Is(err, semel.ErrBusy) && e.Record == nil
}

// failOpen runs the handler although the store could not be asked, and says so.
func (ex *exchange) failOpen(w http.ResponseWriter, next http.Handler, err error) {
	ex.decision.Outcome, ex.decision.Executed, ex.decision.Err = outcomelog.Unprotected, true, err
	w.Header()[StatusHeader] = ex.m.words.unprotected
	ex.pass(w, next)
}

// pass runs the handler without a claim, on the body as far as it was read.
func (ex *exchange) pass(w http.ResponseWriter, next http.Handler) {
	if !ex.body.ready {
		next.ServeHTTP(w, ex.request)
		return
	}
	reader := &bodyReader{body: &ex.body}
	defer func() { _ = reader.Close() }()
	r := ex.request.WithContext(ex.request.Context())
	r.Body = reader
	defer ex.adopt(r)
	next.ServeHTTP(w, r)
}

// replay writes the recorded answer. Headers of outer handlers stay, unless the recorded answer sets or removes them.
func (ex *exchange) replay(w http.ResponseWriter, rec *semel.Record) {
	ex.decision.Fence, ex.decision.Attempt = rec.Fence, rec.Attempt
	e, err := openEnvelope(rec.Outcome, ex.fields[:0])
	ex.fields = e.head
	if err == nil {
		err = e.sendable(ex.request.Method)
	}
	if err != nil {
		ex.refuse(w, &semel.Error{Op: "replay", Digest: rec.Digest, Err: errors.Join(semel.ErrNotKept, err)})
		return
	}
	header := w.Header()
	set(header, e.head)
	for _, f := range e.trailer {
		header.Add("Trailer", f.name)
	}
	header[StatusHeader] = ex.m.words.replayed
	header[ReplayedHeader] = ex.m.words.yes
	setAge(header, rec, e.spare)
	ex.m.vary(header)
	ex.m.page(ex.request).Allow(header, StatusHeader, ReplayedHeader)
	if len(header["Content-Encoding"]) > 0 {
		crossorigin.AddVary(header, "Accept-Encoding")
	}
	decoded, length := e.decodes(header, ex.request.Header["Accept-Encoding"])
	if decoded != nil {
		plain(header, length)
	}
	w.WriteHeader(e.status)
	switch { // the client may have gone
	case decoded != nil:
		_, _ = io.Copy(w, decoded)
	case len(e.body) > 0:
		_, _ = w.Write(e.body)
	}
	set(header, e.trailer)
	ex.decision.Outcome, ex.decision.Status, ex.decision.Waited = outcomelog.Replayed, e.status, rec.Waited
}

// refuse answers with the problem for the error.
func (ex *exchange) refuse(w http.ResponseWriter, err error) {
	p, outcome := problemOf(err)
	p.PolicyURL = ex.m.set.PolicyURL
	if outcome == outcomelog.KeyMissing {
		p.Extra = map[string]any{"reason": "this service reads the key from: " + ex.m.set.Key.String()}
	}
	if outcome == outcomelog.InFlight && !refusal.PrefersHTML(ex.request) {
		p.Status = ex.m.set.InFlightStatus
	}
	ex.decision.Outcome, ex.decision.Status, ex.decision.Err = outcome, p.Status, err
	if e, ok := errors.AsType[*semel.Error](err); ok && e.Record != nil {
		ex.decision.Fence, ex.decision.Attempt = e.Record.Fence, e.Record.Attempt
	}
	ex.m.vary(w.Header())
	ex.m.page(ex.request).Allow(w.Header(), "Retry-After")
	if p.Status == http.StatusMethodNotAllowed { // a source of signed keys takes no other
		w.Header().Set("Allow", http.MethodPost)
	}
	ex.m.writeProblem(w, ex.request, p)
}

// adopt copies MultipartForm and Pattern back to the original request: net/http
// removes the form's temporary files when it is done, outer handlers read the route.
func (ex *exchange) adopt(r *http.Request) {
	ex.request.MultipartForm = cmp.Or(ex.request.MultipartForm, r.MultipartForm)
	ex.request.Pattern = cmp.Or(ex.request.Pattern, r.Pattern)
}

// tell reports the decision.
func (ex *exchange) tell() {
	if ex.began.IsZero() {
		return
	}
	d := &ex.decision
	if ex.run != nil {
		d.Said, d.Rule, d.Fields = ex.run.note.Said()
		d.Location = ex.run.location
	}
	d.Took, d.Method, d.Pattern = time.Since(ex.began), ex.request.Method, ex.request.Pattern
	ex.m.set.OnDecision(ex.request.Context(), *d)
}

// Event is the decision in the one shape that all doors log creates in. What a guard in the database noted under the handler's
// context is part of it: the rule and its fields, and that an answer below 400 returned what was there already. An answer from 400 on is failed, not
// rejected, where work under the handler ended with a final error ([semel.MarkFinal], a flow that failed). To be called from
// OnDecision:
//
//	OnDecision: func(ctx context.Context, d semelhttp.Decision) { sink(ctx, d.Event()) }
func (d *Decision) Event() outcomelog.Event {
	e := outcomelog.Event{
		Door: outcomelog.Middleware, Outcome: d.Outcome, Route: d.Pattern, Status: d.Status, Rule: d.Rule, Fields: d.Fields,
	}
	if d.Digest != (semel.Digest{}) {
		e.Key = d.Digest.String()
	}
	ran := d.Outcome == outcomelog.Executed || d.Outcome == outcomelog.NotStored
	switch {
	case d.Outcome == outcomelog.Replayed && d.Waited > 0:
		e.Outcome = outcomelog.Merged
	case ran && d.Status >= http.StatusBadRequest && d.Said == outcomelog.Failed:
		e.Outcome = outcomelog.Failed
	case ran && d.Status >= http.StatusBadRequest:
		e.Outcome = outcomelog.Rejected
	case ran && d.Said == outcomelog.ReturnedExisting:
		e.Outcome = outcomelog.ReturnedExisting
	case ran:
		e.Outcome = outcomelog.Created
	}
	if d.Status < http.StatusBadRequest {
		e.Made = pathOf(d.Location)
	}
	return e
}

// pathOf returns the path of a location, without a host, a query and a fragment, which can hold what others must not see.
func pathOf(location string) string {
	if i := strings.IndexAny(location, "?#"); i >= 0 {
		location = location[:i]
	}
	scheme, rest, found := strings.Cut(location, "//")
	if absolute := found && (scheme == "" || strings.HasSuffix(scheme, ":")); !absolute {
		return location
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return ""
}
