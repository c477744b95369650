package semelhttp

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
)

// panicNote is what operators read of a claim whose handler panicked.
const panicNote = "panic"

// execution is a handler's run under a claim. The handler can keep it alive
// through its request's context, so nothing of it is reused, and it lets go of
// the exchange when the handler has returned.
type execution struct {
	*exchange

	claim   claim
	tx      *txClaim // the claim, in transaction mode
	ctx     executionContext
	reader  bodyReader
	capture capture
	end     func() // of the claim's context, once it is detached
	note    outcomelog.Note
	release bool     // a stream whose claim is released when the handler returns
	said    disposal // what the handler said with Dispose
}

// claim is the right under which a handler runs: a [semel.Claim], or a
// [txClaim].
type claim interface {
	Context() context.Context
	Digest() semel.Digest
	Fence() semel.Fence
	Attempt() int
	Detach() (end func())
	Complete(outcome, summary []byte) error
	CompleteWithout(summary []byte) error
	Release(note string) error
	Unknown(note string) error
}

// disposal is what [Dispose] was given.
type disposal struct {
	state semel.State
	note  string
}

// executionContext is the context of the handler: the claim's, and knows the
// execution.
type executionContext struct {
	context.Context //nolint:containedctx // it is a context.
	run             *execution
}

type executionKey struct{}

// Value makes the execution reachable for [Dispose], and its note for guards in
// the database.
func (c *executionContext) Value(key any) any {
	switch key.(type) {
	case executionKey:
		return c.run
	case outcomelog.NoteKey:
		return &c.run.note
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
	run, ok := ctx.Value(executionKey{}).(*execution)
	if ok && (s == semel.StateCompleted || s == semel.StateReleased || s == semel.StateUnknown) {
		run.said = disposal{s, note}
	}
}

// execute runs the handler under the claim.
func (ex *exchange) execute(w http.ResponseWriter, next http.Handler, claim claim) {
	d := &ex.decision
	d.Executed, d.Fence, d.Attempt = true, claim.Fence(), claim.Attempt()
	for name, values := range w.Header() {
		ex.outer = append(ex.outer, field{name, values})
	}
	run := &execution{exchange: ex, claim: claim}
	ex.note = &run.note
	if tx, ok := claim.(*txClaim); ok {
		run.tx, tx.run = tx, run
	}
	run.capture = capture{under: w, run: run, declared: -1}
	run.ctx = executionContext{Context: claim.Context(), run: run}
	run.reader.body = &ex.body
	r := ex.request.WithContext(&run.ctx)
	r.Body = &run.reader
	returned := false
	defer func() { run.finish(r, returned) }()
	next.ServeHTTP(&run.capture, r)
	returned = true
}

// finish settles what is not settled yet and sends what was held back. Without
// returned, a panic (or runtime.Goexit) is on its way through, and stays so.
func (run *execution) finish(r *http.Request, returned bool) {
	c := &run.capture
	run.strayed = c.leave()
	defer run.close()
	_ = run.reader.Close()
	run.adopt(r)
	switch {
	case c.mode == buffering && returned:
		if c.status == 0 {
			c.writeHeader(http.StatusOK)
		}
		switch {
		case run.tx != nil:
			run.commit()
		case c.mode == buffering: // not 101, which streams
			c.send(run.settleAnswer())
		}
	case c.mode == buffering:
		if run.tx != nil {
			run.tx.panicked = true
		}
		c.Header()[StatusHeader] = run.settlePanic() // for a recovering outer handler
	case run.release:
		run.settleReleasedStream(returned)
	}
	if returned && c.status != 0 {
		run.decision.Status = c.status
	}
}

// close lets go of what later requests use again.
func (run *execution) close() {
	if run.end != nil {
		run.end()
	}
	if !run.strayed {
		run.exchange = nil
	}
}

// disposition says how the claim of an answer with this status ends.
func (run *execution) disposition(status int) disposal {
	if run.said.state != semel.StateAbsent {
		return run.said
	}
	failed := status >= http.StatusInternalServerError
	d := disposal{note: "answered " + strconv.Itoa(status)}
	switch on5xx := run.m.set.On5xx; {
	case !releases(status) && !failed, failed && on5xx == StoreOn5xx:
		return disposal{state: semel.StateCompleted}
	case failed && on5xx == UnknownOn5xx:
		d.state = semel.StateUnknown
	case run.tx == nil && run.claim.Context().Err() != nil: // it may have been cut off halfway
		d.state, d.note = semel.StateUnknown, d.note+" after the claim's time had ended"
	default:
		d.state = semel.StateReleased
	}
	return d
}

// settleAnswer records the complete answer and returns the word for it.
func (run *execution) settleAnswer() []string {
	c, w := &run.capture, &run.m.words
	d := run.disposition(c.status)
	if d.state != semel.StateCompleted {
		return run.settleOtherwise(d)
	}
	bodyLen := c.length()
	if bodyLen > run.m.set.MaxResponseBytes { // held back for the transaction's sake
		return run.noteCompleted(run.claim.CompleteWithout(run.summary()))
	}
	if c.declared > int64(bodyLen) && run.request.Method != http.MethodHead && bodyAllowed(c.status) {
		// Shorter than declared: the client meets a broken answer, and so
		// would every replay.
		return run.noteCompleted(run.claim.CompleteWithout(run.summary()))
	}
	envelope := run.envelope
	if c.hasTrailer() {
		c.trailer()
		envelope, run.envelope = run.envelope, run.envelope[:c.bodyAt+bodyLen]
	}
	patchPrefix(envelope, c.bodyAt, bodyLen)
	if err := run.claim.Complete(envelope, run.summary()); err != nil {
		return run.noteCompleted(err)
	}
	run.decision.Outcome = OutcomeExecuted
	return w.executed
}

// settleStream records an answer that goes out before it is complete. The
// claim's context lives on: the handler is still at work.
func (run *execution) settleStream() []string {
	run.end = run.claim.Detach()
	d := run.disposition(run.capture.status)
	if d.state == semel.StateReleased {
		// Not before the handler has returned: a retry must not run beside it.
		run.release = true
		run.decision.Outcome = OutcomeReleased
		return run.m.words.released
	}
	if d.state != semel.StateCompleted {
		return run.settleOtherwise(d)
	}
	return run.noteCompleted(run.claim.CompleteWithout(run.summary()))
}

// settleReleasedStream is the end of a stream that said that nothing happened.
func (run *execution) settleReleasedStream(returned bool) {
	status := run.capture.status
	if !returned {
		status = http.StatusInternalServerError
	}
	if d := run.disposition(status); d.state != semel.StateCompleted {
		run.settleOtherwise(d)
		return
	}
	run.noteCompleted(run.claim.CompleteWithout(run.summary()))
}

// settleHijack records that the connection was handed out.
func (run *execution) settleHijack() error {
	run.end = run.claim.Detach()
	run.capture.status = http.StatusSwitchingProtocols
	err := run.claim.CompleteWithout(run.summary())
	run.capture.status = 0
	run.noteCompleted(err)
	if run.decision.Outcome == OutcomeNotStored {
		return err
	}
	return nil
}

// settlePanic records that the handler did not return.
func (run *execution) settlePanic() []string {
	d := run.disposition(http.StatusInternalServerError)
	if d.state != semel.StateCompleted {
		d.note = panicNote
		if run.said.note != "" {
			d.note += " after: " + run.said.note
		}
		return run.settleOtherwise(d)
	}
	e := appendPrefix(run.envelope[:0], http.StatusInternalServerError, false)
	e = appendHeader(e, http.Header{"Content-Type": {"text/plain; charset=utf-8"}})
	bodyAt := len(e)
	e = append(e, http.StatusText(http.StatusInternalServerError)...)
	patchPrefix(e, bodyAt, len(e)-bodyAt)
	run.envelope = e
	return run.noteCompleted(run.claim.Complete(e, nil))
}

// settleOtherwise records a disposition that keeps no answer.
func (run *execution) settleOtherwise(d disposal) []string {
	if d.state == semel.StateUnknown {
		if !run.noteSettled(run.claim.Unknown(d.note)) {
			return run.m.words.notStored
		}
		run.decision.Outcome = OutcomeUnknown
		return run.m.words.unknown
	}
	if !run.noteSettled(run.claim.Release(d.note)) {
		return run.m.words.notStored
	}
	run.decision.Outcome = OutcomeReleased
	return run.m.words.released
}

// noteCompleted returns the word for a claim that was to be completed.
func (run *execution) noteCompleted(err error) []string {
	if !run.noteSettled(err) {
		return run.m.words.notStored
	}
	run.decision.Outcome = OutcomeExecuted
	return run.m.words.executed
}

// noteSettled reports whether the claim is settled: by us, or by the handler
// itself before.
func (run *execution) noteSettled(err error) bool {
	if err == nil || (errors.Is(err, semel.ErrSettled) && !errors.Is(err, semel.ErrNotStored)) {
		return true
	}
	run.decision.Outcome, run.decision.Err = OutcomeNotStored, err
	return false
}

// summary is the envelope of an answer whose body is not kept.
func (run *execution) summary() []byte {
	e := appendPrefix(run.short[:0], run.capture.status, true)
	e = append(e, 0, 0, 0, 0, 0)
	count := 0
	for _, f := range run.sent {
		if (f.name == "Location" || f.name == "Content-Type") && len(f.values) > 0 {
			e = appendField(e, f.name, f.values[:1])
			count++
		}
	}
	patchCount(e[envelopePrefix:], count)
	patchPrefix(e, len(e), 0)
	run.short = e
	return e
}
