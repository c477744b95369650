package semelhttp

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/crossorigin"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/outcomelog"
)

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
	memory []byte // for the body
}

func (m *Middleware) open(r *http.Request) *exchange {
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
		max: m.set.MaxBodyBytes, inMemory: m.set.SpoolBytes, dir: m.set.SpoolDir, mem: ex.memory,
	}
	return ex
}

// free reports the decision and gives the memory back.
func (ex *exchange) free() {
	ex.tell()
	ex.body.close()
	ex.memory = reuse(ex.body.mem)
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

// digest identifies the record of the key that was met; while a secret of the
// guard is replaced it may have one of two.
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

// unreachable reports whether the store could not be asked. Where it reported a
// record first, a running twin or an unknown outcome, or has one that this
// program cannot read, executing could be a duplicate; and so it could where the
// guard is only full, which callers can bring about.
func unreachable(err error) bool {
	e, ok := errors.AsType[*semel.Error](err)
	return ok && errors.Is(err, semel.ErrUnavailable) && !errors.Is(err, semel.ErrFull) &&
		!errors.Is(err, semel.ErrNewerRecord) && !errors.Is(err, semel.ErrBusy) && e.Record == nil
}

// unprotected runs the handler although the store could not be asked, and says so.
func (ex *exchange) unprotected(w http.ResponseWriter, next http.Handler, err error) {
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

// replay writes the recorded answer. Headers of outer handlers stay, unless
// the recorded answer sets or removes them.
func (ex *exchange) replay(w http.ResponseWriter, rec *semel.Record) {
	ex.decision.Fence, ex.decision.Attempt = rec.Fence, rec.Attempt
	e, err := openEnvelope(rec.Outcome)
	if err == nil {
		err = e.sendable(ex.request.Method)
	}
	header := w.Header()
	if err == nil {
		err = e.head.into(header)
	}
	var trailer http.Header
	if err == nil && e.trailer != "" {
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
	setAge(header, rec)
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
	maps.Copy(header, trailer)
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

// adopt leaves on the original request what servers and outer handlers look
// for there: net/http removes the form's temporary files when it is done.
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
