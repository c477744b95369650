package semelhttp

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
)

// exchange is one request that carries a key, from the key to the last byte.
// A handler can keep it alive through its request's context; nothing of it
// is reused.
type exchange struct {
	m        *Middleware
	request  *http.Request // as it came in
	body     Body
	scratch  *scratch
	decision Decision
	began    time.Time

	// Of an execution alone:
	claim   *semel.Claim
	ctx     exchangeContext
	reader  bodyReader
	capture capture
	end     func()   // of the claim's context, once it is detached
	release bool     // a stream whose claim is released when the handler returns
	verdict disposal // what the handler said with Dispose
}

// disposal is what [Dispose] was given.
type disposal struct {
	state semel.State
	note  string
}

// exchangeContext is the context of the handler: the claim's, and knows the
// exchange.
type exchangeContext struct {
	context.Context //nolint:containedctx // it is a context.
	ex              *exchange
}

type exchangeKey struct{}

// Value makes the exchange reachable for [Dispose].
func (c *exchangeContext) Value(key any) any {
	if key == (exchangeKey{}) {
		return c.ex
	}
	return c.Context.Value(key)
}

// Dispose lets a handler say how its claim ends, where the status of its answer
// would say something else: [semel.StateCompleted] (the answer is the outcome),
// [semel.StateReleased] (nothing happened; a retry runs) or
// [semel.StateUnknown] (nobody can tell). note is for operators. The last call
// before the answer is complete, or before its stream starts, counts. It does
// nothing without a claim, and is to be called from the handler's goroutine.
func Dispose(ctx context.Context, s semel.State, note string) {
	ex, ok := ctx.Value(exchangeKey{}).(*exchange)
	if ok && (s == semel.StateCompleted || s == semel.StateReleased || s == semel.StateUnknown) {
		ex.verdict = disposal{s, note}
	}
}

// execute runs the handler under the claim.
func (ex *exchange) execute(w http.ResponseWriter, next http.Handler) {
	d := &ex.decision
	d.Executed, d.Fence, d.Attempt = true, ex.claim.Fence(), ex.claim.Attempt()
	for name, values := range w.Header() {
		ex.scratch.outer = append(ex.scratch.outer, field{name, values})
	}
	ex.capture = capture{
		under: w, scratch: ex.scratch, ex: ex, max: ex.m.set.MaxResponseBytes, flushes: !ex.m.set.BufferFlush, declared: -1,
	}
	ex.ctx = exchangeContext{Context: ex.claim.Context(), ex: ex}
	ex.reader.body = &ex.body
	r := ex.request.WithContext(&ex.ctx)
	r.Body = &ex.reader
	returned := false
	defer func() { ex.finish(r, returned) }()
	next.ServeHTTP(&ex.capture, r)
	returned = true
}

// finish settles what is not settled yet and sends what was held back. Without
// returned, a panic (or runtime.Goexit) is on its way through, and stays so.
func (ex *exchange) finish(r *http.Request, returned bool) {
	c := &ex.capture
	_ = ex.reader.Close()
	ex.adopt(r)
	switch {
	case c.mode == buffering && returned:
		if c.status == 0 {
			c.WriteHeader(http.StatusOK)
		}
		if c.mode == buffering { // not 101, which streams
			c.send(ex.settleAnswer())
		}
	case c.mode == buffering:
		c.Header()[StatusHeader] = ex.settlePanic() // for a recovering outer handler
	case ex.release:
		ex.settleReleasedStream(returned)
	}
	c.mode = closed
	if ex.end != nil {
		ex.end()
	}
	if returned {
		ex.decision.Status = c.status
	}
}

// adopt leaves on the original request what servers and outer handlers look
// for there: net/http removes the form's temporary files when it is done.
func (ex *exchange) adopt(r *http.Request) {
	if ex.request.MultipartForm == nil {
		ex.request.MultipartForm = r.MultipartForm
	}
	if ex.request.Pattern == "" {
		ex.request.Pattern = r.Pattern
	}
}

// disposition says how the claim of an answer with this status ends.
func (ex *exchange) disposition(status int) disposal {
	if ex.verdict.state != semel.StateAbsent {
		return ex.verdict
	}
	failed := status >= http.StatusInternalServerError
	d := disposal{note: "answered " + strconv.Itoa(status)}
	switch on5xx := ex.m.set.On5xx; {
	case !releases(status) && !failed, failed && on5xx == StoreOn5xx:
		return disposal{state: semel.StateCompleted}
	case failed && on5xx == UnknownOn5xx:
		d.state = semel.StateUnknown
	case ex.claim.Context().Err() != nil: // it may have been cut off halfway
		d.state, d.note = semel.StateUnknown, d.note+" after the claim's time had ended"
	default:
		d.state = semel.StateReleased
	}
	return d
}

// settleAnswer records the complete answer and returns the word for it.
func (ex *exchange) settleAnswer() []string {
	c, w := &ex.capture, &ex.m.words
	d := ex.disposition(c.status)
	if d.state != semel.StateCompleted {
		return ex.settleOtherwise(d)
	}
	bodyLen := c.length()
	if c.declared > int64(bodyLen) && ex.request.Method != http.MethodHead && bodyAllowed(c.status) {
		// Shorter than declared: the client meets a broken answer, and so
		// would every replay.
		return ex.noteCompleted(ex.claim.CompleteWithout(ex.summary()))
	}
	envelope := ex.scratch.envelope
	if c.hasTrailer() {
		c.trailer()
		envelope, ex.scratch.envelope = ex.scratch.envelope, ex.scratch.envelope[:c.bodyAt+bodyLen]
	}
	patchPrefix(envelope, c.bodyAt, bodyLen)
	if err := ex.claim.Complete(envelope, ex.summary()); err != nil {
		return ex.noteCompleted(err)
	}
	ex.decision.Outcome = OutcomeExecuted
	return w.executed
}

// settleStream records an answer that goes out before it is complete. The
// claim's context lives on: the handler is still at work.
func (ex *exchange) settleStream() []string {
	ex.end = ex.claim.Detach()
	d := ex.disposition(ex.capture.status)
	switch d.state {
	case semel.StateReleased:
		// Not before the handler has returned: a retry must not run beside it.
		ex.release = true
		ex.decision.Outcome = OutcomeReleased
		return ex.m.words.released
	case semel.StateUnknown:
		return ex.settleOtherwise(d)
	}
	return ex.noteCompleted(ex.claim.CompleteWithout(ex.summary()))
}

// settleReleasedStream is the end of a stream that said that nothing happened.
func (ex *exchange) settleReleasedStream(returned bool) {
	status := ex.capture.status
	if !returned {
		status = http.StatusInternalServerError
	}
	if d := ex.disposition(status); d.state != semel.StateCompleted {
		ex.settleOtherwise(d)
		return
	}
	ex.noteCompleted(ex.claim.CompleteWithout(ex.summary()))
}

// settleHijack records that the connection was handed out.
func (ex *exchange) settleHijack() error {
	ex.end = ex.claim.Detach()
	ex.capture.status = http.StatusSwitchingProtocols
	err := ex.claim.CompleteWithout(ex.summary())
	ex.capture.status = 0
	ex.noteCompleted(err)
	if ex.decision.Outcome == OutcomeNotStored {
		return err
	}
	return nil
}

// settlePanic records that the handler did not return.
func (ex *exchange) settlePanic() []string {
	d := ex.disposition(http.StatusInternalServerError)
	if d.state != semel.StateCompleted {
		d.note = "panic"
		return ex.settleOtherwise(d)
	}
	e := appendPrefix(ex.scratch.envelope[:0], http.StatusInternalServerError, false)
	e = appendHeader(e, http.Header{"Content-Type": {"text/plain; charset=utf-8"}})
	bodyAt := len(e)
	e = append(e, http.StatusText(http.StatusInternalServerError)...)
	patchPrefix(e, bodyAt, len(e)-bodyAt)
	ex.scratch.envelope = e
	return ex.noteCompleted(ex.claim.Complete(e, nil))
}

// settleOtherwise records a disposition that keeps no answer.
func (ex *exchange) settleOtherwise(d disposal) []string {
	if d.state == semel.StateUnknown {
		if !ex.noteSettled(ex.claim.Unknown(d.note)) {
			return ex.m.words.notStored
		}
		ex.decision.Outcome = OutcomeUnknown
		return ex.m.words.unknown
	}
	if !ex.noteSettled(ex.claim.Release(d.note)) {
		return ex.m.words.notStored
	}
	ex.decision.Outcome = OutcomeReleased
	return ex.m.words.released
}

// noteCompleted returns the word for a claim that was to be completed.
func (ex *exchange) noteCompleted(err error) []string {
	if !ex.noteSettled(err) {
		return ex.m.words.notStored
	}
	ex.decision.Outcome = OutcomeExecuted
	return ex.m.words.executed
}

// noteSettled reports whether the claim is settled: by us, or by the handler
// itself before.
func (ex *exchange) noteSettled(err error) bool {
	if err == nil || (errors.Is(err, semel.ErrSettled) && !errors.Is(err, semel.ErrNotStored)) {
		return true
	}
	ex.decision.Outcome, ex.decision.Err = OutcomeNotStored, err
	return false
}

// summary is the envelope of an answer whose body is not kept.
func (ex *exchange) summary() []byte {
	e := appendPrefix(ex.scratch.summary[:0], ex.capture.status, true)
	e = append(e, 0, 0, 0, 0, 0)
	count := 0
	for _, f := range ex.scratch.sent {
		if (f.name == "Location" || f.name == "Content-Type") && len(f.values) > 0 {
			e = appendField(e, f.name, f.values[:1])
			count++
		}
	}
	patchCount(e[envelopePrefix:], count)
	patchPrefix(e, len(e), 0)
	ex.scratch.summary = e
	return e
}
