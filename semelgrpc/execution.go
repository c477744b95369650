package semelgrpc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/mark"
	"github.com/semel-dev/semel/outcomelog"
)

// panicNote is the note of a claim whose handler panicked, for operators.
const panicNote = "panic"

// claim is the right under which a handler runs: a [semel.Claim], or a [txClaim].
type claim interface {
	Context() context.Context
	Digest() semel.Digest
	Fence() semel.Fence
	Attempt() int
	Complete(outcome, summary []byte) error
	CompleteWithout(summary []byte) error
	Release(note string) error
	Unknown(note string) error
}

// execution is a handler's run under a claim, and the settlement of it.
type execution struct {
	c     *call
	claim claim
	tx    *txClaim // the claim, in transaction mode
	ctx   executionContext
	note  outcomelog.Note

	outcome outcomelog.Outcome
	err     error // of the settlement
}

// executionContext is the context of the handler: the claim's, with a note for guards in the database.
type executionContext struct {
	context.Context //nolint:containedctx // it is a context.
	run             *execution
}

// Value makes the note reachable.
func (c *executionContext) Value(key any) any {
	if _, ok := key.(outcomelog.NoteKey); ok {
		return &c.run.note
	}
	return c.Context.Value(key)
}

func newExecution(c *call, got claim) *execution {
	run := &execution{c: c, claim: got}
	run.tx, _ = got.(*txClaim)
	run.ctx = executionContext{got.Context(), run}
	return run
}

// statusOf returns what a handler's error says on the wire; nil of nil. A mark of package semel is for us alone, and an
// error that says OK is an error.
func statusOf(err error) *status.Status {
	if err == nil {
		return nil
	}
	if said := saidBy(err); said.Code() != codes.OK {
		return said
	}
	return status.New(codes.Unknown, err.Error())
}

// saidBy returns the status that an error carries, or the one for an error without.
func saidBy(err error) *status.Status {
	type sayer interface {
		error
		GRPCStatus() *status.Status
	}
	if mark.Of[semel.State](err) != semel.StateAbsent {
		if inner, ok := errors.AsType[sayer](err); ok {
			return inner.GRPCStatus()
		}
	}
	if s, ok := status.FromError(err); ok {
		return s
	}
	return status.FromContextError(err)
}

// keeps reports whether a code is the outcome of its request, whenever that is repeated.
func keeps(code codes.Code) bool {
	switch code { //nolint:exhaustive // the rest are about one attempt.
	case codes.OK, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented:
		return true
	}
	return false
}

// releases reports whether a code says that nothing happened: not signed in, not allowed, not now.
func releases(code codes.Code) bool {
	return code == codes.Unauthenticated || code == codes.PermissionDenied || code == codes.ResourceExhausted
}

// disposition says how the claim of an answer ends, and why.
func (run *execution) disposition(code codes.Code, err error) (semel.State, string) {
	if err == nil {
		return semel.StateCompleted, ""
	}
	note := "answered " + code.String()
	if marked := mark.Of[semel.State](err); marked != semel.StateAbsent {
		return marked, note
	}
	switch {
	case keeps(code) && ReasonOf(err) == ReasonOutcomeUnknown: // of a service behind this one
		return semel.StateUnknown, note
	case keeps(code):
		return semel.StateCompleted, ""
	case run.tx != nil: // it rolls back
		return semel.StateReleased, note
	case run.claim.Context().Err() != nil: // it may have been cut off halfway
		return semel.StateUnknown, note + " after the claim's time had ended"
	case mark.Open(err): // no answer came, a panic below us was recovered, or the work was cut off
		return semel.StateUnknown, note
	case releases(code):
		return semel.StateReleased, note
	case run.c.i.guard.Policy().UnknownOnError:
		return semel.StateUnknown, note
	}
	return semel.StateReleased, note
}

// settle records what a handler returned. The error is that of a transaction which did not commit: its answer must not be
// sent.
func (run *execution) settle(failure *status.Status, err error, resp any, header, trailer metadata.MD) error {
	state, note := run.disposition(failure.Code(), err)
	if run.tx != nil {
		run.tx.failed = err != nil
	}
	if state != semel.StateCompleted {
		run.settleOtherwise(state, note)
		return nil
	}
	var few [8]byte
	summary := appendSummary(few[:0], failure.Code())
	message := messageOf(resp)
	if err != nil {
		message = nil
	}
	buffer, _ := run.c.i.answers.Get().(*[]byte)
	defer run.c.i.answers.Put(buffer)
	var whole []byte
	unfit := errNotProto
	if err != nil || message != nil {
		whole, unfit = appendAnswer((*buffer)[:0], failure, message, header, trailer)
	}
	if unfit != nil { // gRPC will say so
		return run.completed(run.claim.CompleteWithout(summary))
	}
	if cap(whole) <= maxBufferBytes {
		*buffer = whole
	}
	return run.completed(run.claim.Complete(whole, summary))
}

// completed notes the end of a claim that was to be completed. The error is that of a transaction.
func (run *execution) completed(err error) error {
	if run.settled(err) {
		run.outcome = outcomelog.Executed
		return nil
	}
	switch {
	case run.tx == nil:
		return nil
	case errors.Is(err, semel.ErrUnknown):
		return fmt.Errorf("%w: %w", errCommitUnknown, err)
	}
	return err
}

// settleOtherwise records a disposition that keeps no answer.
func (run *execution) settleOtherwise(state semel.State, note string) {
	if state == semel.StateUnknown {
		if run.settled(run.claim.Unknown(note)) {
			run.outcome = outcomelog.Unknown
		}
		return
	}
	if run.settled(run.claim.Release(note)) {
		run.outcome = outcomelog.Released
	}
}

// settlePanic records that the handler did not return. A panic that no interceptor recovers ends the process, and leaves
// the outcome unknown, so one that is recovered outside of the door does as well. For one that is recovered inside, see
// disposition.
func (run *execution) settlePanic() {
	state := semel.StateUnknown
	if run.tx != nil { // it rolls back
		state = semel.StateReleased
	}
	run.settleOtherwise(state, panicNote)
}

// settled reports whether the claim is settled: by us, or by the handler itself before. A settlement that failed stays so.
func (run *execution) settled(err error) bool {
	if err == nil || (errors.Is(err, semel.ErrSettled) && !errors.Is(err, semel.ErrNotStored)) {
		return true
	}
	run.outcome, run.err = outcomelog.NotStored, err
	return false
}

// tell reports the decision about the run.
func (run *execution) tell(code codes.Code) {
	if d := run.c.decision; d != nil {
		d.Said, d.Rule, d.Fields = run.note.Said()
	}
	run.c.tell(run.outcome, code, run.err)
}
