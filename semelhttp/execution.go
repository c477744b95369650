package semelhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/outcomelog"
)

// panicNote is the note of a claim whose handler panicked, for operators.
const panicNote = "panic"

// execution is a handler's run under a claim, and the settlement of it. It knows
// nothing of the exchange that started it, which reads outcome, err and note when
// the handler has returned. The handler can keep it alive through its request's
// context, so it is not reused.
type execution struct {
	m       *Middleware
	claim   claim
	tx      *txClaim // the claim, in transaction mode
	request *http.Request
	ctx     executionContext
	reader  bodyReader
	capture capture
	note    outcomelog.Note
	release bool     // a stream whose claim is released when the handler returns
	asked   disposal // by the handler, with Dispose

	outcome  outcomelog.Outcome
	err      error  // of the settlement
	location string // of the answer, for the decision
}

// claim is the right under which a handler runs: a [semel.Claim], or a
// [txClaim].
type claim interface {
	Context() context.Context
	Digest() semel.Digest
	Fence() semel.Fence
	Attempt() int
	Detach() *semel.Detached
	Complete(outcome, summary []byte) error
	CompleteWithout(summary []byte) error
	Release(note string) error
	Unknown(note string) error
}

// disposal holds the arguments of [Dispose].
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

// Dispose lets a handler say how its claim ends, where the status of its answer,
// or a redirect to what looks like a sign-in page, would say something else:
// [semel.StateCompleted] (the answer is the outcome),
// [semel.StateReleased] (nothing happened; a retry runs) or
// [semel.StateUnknown] (not known). note is for operators. The last call
// before the answer is complete, or before its stream starts, counts. It does
// nothing without a claim, and is to be called from the handler's goroutine.
func Dispose(ctx context.Context, s semel.State, note string) {
	run, ok := ctx.Value(executionKey{}).(*execution)
	if ok && (s == semel.StateCompleted || s == semel.StateReleased || s == semel.StateUnknown) {
		run.asked = disposal{s, note}
	}
}

// newExecution prepares the run of a handler that answers to w.
func (m *Middleware) newExecution(w http.ResponseWriter, r *http.Request, body *Body, claim claim) *execution {
	run := &execution{m: m, claim: claim, request: r}
	run.tx, _ = claim.(*txClaim)
	ctx := claim.Context()
	if m.set.StripeErrors {
		ctx = refusal.ForStripe(ctx)
	}
	run.ctx = executionContext{Context: ctx, run: run}
	run.reader.body = body
	mem, _ := m.scratches.Get().(*scratch)
	for name, values := range w.Header() {
		mem.outer = append(mem.outer, field{name, values})
	}
	run.capture = capture{under: w, m: m, mem: mem, settle: run, held: run.tx != nil, declared: -1, memory: m.memory(r)}
	return run
}

// finish settles what is not settled yet and sends what was held back. Without
// returned, a panic (or runtime.Goexit) is on its way through, and stays so. The
// error is that of a transaction that did not commit: nothing was sent.
func (run *execution) finish(returned bool) (err error) {
	c := &run.capture
	strayed := c.leave()
	defer run.close(strayed)
	_ = run.reader.Close()
	switch {
	case c.mode == buffering && returned:
		if c.status == 0 {
			c.writeHeader(http.StatusOK)
		}
		switch {
		case c.held:
			return run.commit()
		case c.mode == buffering: // not 101, which streams
			c.send(run.settleAnswer())
		}
	case c.mode == buffering:
		if run.tx != nil {
			run.tx.failed = true
		}
		c.Header()[StatusHeader] = run.settlePanic() // for a recovering outer handler
	case run.release:
		run.settleReleasedStream(returned)
	}
	return nil
}

// commit ends the transaction as the answer says, and sends the answer; or
// discards it and returns why the transaction did not commit.
func (run *execution) commit() error {
	c := &run.capture
	err := c.unfit
	var word []string
	run.tx.failed = c.status >= http.StatusInternalServerError || c.layer == layerRecovered
	if err != nil {
		_ = run.tx.Rollback(err.Error()) // nothing happened, whatever it returns
	} else if word = run.settleAnswer(); run.outcome == outcomelog.NotStored {
		err = run.err
	}
	if err == nil {
		c.send(word)
		return nil
	}
	if errors.Is(err, semel.ErrUnknown) {
		err = fmt.Errorf("%w: %w", errUncertain, err)
	}
	c.discard()
	return err
}

// close ends a stream, and lets go of what later requests use again, unless a
// goroutine that the handler left behind still uses it.
func (run *execution) close(strayed bool) {
	c := &run.capture
	if c.stream != nil {
		c.stream.end()
	}
	c.giveBack(strayed)
	if !strayed {
		run.location = c.location()
		c.mem.reset()
		c.m.scratches.Put(c.mem)
		c.mem, run.request = nil, nil
	}
}

// disposition says how the claim of an answer with this status ends.
func (run *execution) disposition(status int) disposal {
	if run.asked.state != semel.StateAbsent {
		return run.asked
	}
	signIn, elsewhere := run.signsIn(status)
	again, open := run.capture.semelSays(status)
	released := releases(status) || signIn || again
	failed := !released && (status >= http.StatusInternalServerError || run.tx != nil && run.capture.layer == layerRecovered)
	on5xx := run.m.set.On5xx
	open = open || elsewhere && on5xx == UnknownOn5xx // it may be a bank's, where a payment goes on
	if !open && (!released && !failed || failed && on5xx == StoreOn5xx) {
		return disposal{state: semel.StateCompleted}
	}
	d := disposal{note: "answered " + strconv.Itoa(status)}
	switch {
	case open:
		d.state = semel.StateUnknown
	case failed && on5xx == UnknownOn5xx, run.tx == nil && on5xx == ReleaseOn5xx && lostAnswer(status, run.capture.first(len(envoyLost))):
		d.state = semel.StateUnknown
	case failed && run.tx == nil && run.capture.layer != "":
		d.state, d.note = semel.StateUnknown, d.note+": "+run.capture.layer
	case run.tx == nil && run.claim.Context().Err() != nil: // it may have been cut off halfway
		d.state, d.note = semel.StateUnknown, d.note+" after the claim's time had ended"
	default:
		d.state = semel.StateReleased
	}
	return d
}

// settleAnswer records the complete answer and returns the word for it.
func (run *execution) settleAnswer() []string {
	c := &run.capture
	d := run.disposition(c.status)
	if d.state != semel.StateCompleted {
		return run.settleOtherwise(d)
	}
	bodyLen := c.length()
	short := c.declared > int64(bodyLen) && run.request.Method != http.MethodHead && bodyAllowed(c.status)
	// A body that is shorter than declared is a broken answer, and so would
	// every replay be. One that is too long was held back for the commit alone.
	if short || bodyLen > run.m.set.MaxResponseBytes {
		return run.noteCompleted(run.claim.CompleteWithout(run.summary()))
	}
	c.joined()
	envelope := c.mem.envelope
	if c.hasTrailer() {
		c.trailer()
		envelope, c.mem.envelope = c.mem.envelope, c.mem.envelope[:c.bodyAt+bodyLen]
	}
	patchPrefix(envelope, c.bodyAt, bodyLen)
	return run.noteCompleted(run.claim.Complete(envelope, run.summary()))
}

// settleStream records an answer that goes out before it is complete. The
// claim's context lives on: the handler is still at work.
func (run *execution) settleStream() []string {
	run.detach()
	d := run.disposition(run.capture.status)
	if d.state == semel.StateReleased {
		// Not before the handler has returned: a retry must not run next to it.
		run.release = true
		run.outcome = outcomelog.Released
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
	switch {
	case !returned:
		status, run.capture.layer = http.StatusInternalServerError, panicNote
	case run.capture.layer == layerRecovered:
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
	run.detach()
	run.capture.status = http.StatusSwitchingProtocols
	err := run.claim.CompleteWithout(run.summary())
	run.capture.status = 0
	run.noteCompleted(err)
	if run.outcome == outcomelog.NotStored {
		return err
	}
	return nil
}

// settlePanic records that the handler did not return.
func (run *execution) settlePanic() []string {
	run.capture.layer = panicNote
	d := run.disposition(http.StatusInternalServerError)
	if d.state != semel.StateCompleted {
		d.note = panicNote
		if run.asked.note != "" {
			d.note += " after: " + run.asked.note
		}
		return run.settleOtherwise(d)
	}
	mem := run.capture.mem
	e := appendPrefix(mem.envelope[:0], http.StatusInternalServerError, false)
	e = appendHeader(e, http.Header{"Content-Type": {"text/plain; charset=utf-8"}})
	bodyAt := len(e)
	e = append(e, http.StatusText(http.StatusInternalServerError)...)
	patchPrefix(e, bodyAt, len(e)-bodyAt)
	mem.envelope = e
	return run.noteCompleted(run.claim.Complete(e, nil))
}

// settleOtherwise records a disposition that keeps no answer.
func (run *execution) settleOtherwise(d disposal) []string {
	if d.state == semel.StateUnknown {
		if !run.noteSettled(run.claim.Unknown(d.note)) {
			return run.m.words.notStored
		}
		run.outcome = outcomelog.Unknown
		return run.m.words.unknown
	}
	if !run.noteSettled(run.claim.Release(d.note)) {
		return run.m.words.notStored
	}
	run.outcome = outcomelog.Released
	return run.m.words.released
}

// noteCompleted returns the word for a claim that was to be completed.
func (run *execution) noteCompleted(err error) []string {
	if !run.noteSettled(err) {
		return run.m.words.notStored
	}
	run.outcome = outcomelog.Executed
	return run.m.words.executed
}

// noteSettled reports whether the claim is settled: by us, or by the handler
// itself before. A settlement that failed stays so: a second one is refused as if
// the first had been recorded.
func (run *execution) noteSettled(err error) bool {
	if run.outcome == outcomelog.NotStored {
		return false
	}
	if err == nil || (errors.Is(err, semel.ErrSettled) && !errors.Is(err, semel.ErrNotStored)) {
		return true
	}
	run.outcome, run.err = outcomelog.NotStored, err
	return false
}

// summary is the envelope of an answer whose body is not kept.
func (run *execution) summary() []byte {
	e := appendPrefix(run.capture.mem.short[:0], run.capture.status, true)
	e = append(e, 0, 0, 0, 0, 0)
	count := 0
	for _, f := range run.capture.mem.sent {
		if (f.name == "Location" || f.name == "Content-Type") && len(f.values) > 0 {
			e = appendField(e, f.name, f.values[:1])
			count++
		}
	}
	patchCount(e[envelopePrefix:], count)
	patchPrefix(e, len(e), 0)
	run.capture.mem.short = e
	return e
}
