package semelgrpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/mark"
)

// Stream is a [grpc.StreamServerInterceptor]. Chain it as [Interceptor.Unary].
//
// A stream with a key is claimed when its handler receives the first message, or the end of a stream without any; the
// fingerprint is that of the first message. Its outcome is recorded, without its messages, before the status is sent: a
// later attempt does not run, and gets FAILED_PRECONDITION with RESPONSE_NOT_KEPT. A key on a stream in both directions is
// refused with UNIMPLEMENTED.
func (i *Interceptor) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	policy := i.methods.policy(info.FullMethod, i.set.decide)
	if policy == KeyIgnored {
		return handler(srv, ss)
	}
	bothWays := info.IsClientStream && info.IsServerStream
	if bothWays {
		policy = KeyOptional // a key could only be refused
	}
	name, found, err := i.set.keyIn(ss.Context())
	if err == nil && !found && len(i.set.path) == 0 && policy == KeyOptional {
		return handler(srv, ss)
	}
	s := &stream{ServerStream: ss, c: i.newCall(ss.Context(), info.FullMethod, policy), name: name, found: found, answers: info.IsServerStream}
	switch {
	case bothWays:
		s.c.unfit = errBothWays
	case info.IsServerStream && i.set.Transactor != nil:
		s.c.unfit = errBeforeEnd
	}
	if err == nil && found {
		err = s.c.unfit
	}
	if err != nil {
		return s.c.refuse(err)
	}
	s.ctx = newStreamContext(ss.Context())
	defer s.ctx.end()
	return s.serve(srv, handler)
}

// stream is a stream that may carry a key, as its handler sees it.
type stream struct {
	grpc.ServerStream
	c       *call
	ctx     *streamContext
	name    string // of the key in the metadata
	found   bool
	answers bool // it sends many messages

	mu      sync.Mutex // guards the fields below
	entered bool       // the guard was asked, or did not have to be
	run     *execution // under a claim
	refused error      // what the caller gets instead
	held    any        // the one answer, until it is recorded
	sent    bool       // a message
}

// Context implements [grpc.ServerStream]. It is the claim's from the first message on.
func (s *stream) Context() context.Context { return s.ctx }

// RecvMsg implements [grpc.ServerStream].
func (s *stream) RecvMsg(m any) error {
	if _, refused := s.state(); refused != nil {
		return refused
	}
	err := s.ServerStream.RecvMsg(m)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		m = nil
	default:
		return err
	}
	if refused := s.enter(m); refused != nil {
		return refused
	}
	return err
}

// SendMsg implements [grpc.ServerStream]. The answer to a stream of messages is held back until it is recorded.
func (s *stream) SendMsg(m any) error {
	_, refused := s.state()
	if s.c.unfit == nil { // else the first message may still bring the key that is to be refused
		refused = s.enter(nil)
	}
	if refused != nil {
		return refused
	}
	s.mu.Lock()
	s.sent = true
	hold := s.run != nil && !s.answers
	if hold {
		s.held = m
	}
	s.mu.Unlock()
	if hold {
		return nil
	}
	return s.ServerStream.SendMsg(m)
}

// SendHeader implements [grpc.ServerStream]. In a transaction the header goes out with the answer.
func (s *stream) SendHeader(md metadata.MD) error {
	if s.c.i.set.Transactor != nil {
		return s.SetHeader(md)
	}
	return s.ServerStream.SendHeader(md)
}

// enter asks the guard with the first message, once. The error is the refusal.
func (s *stream) enter(m any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entered {
		return s.refused
	}
	s.entered = true
	got, rec, err := s.c.begin(m, s.name, s.found, nil)
	if rec != nil { // an operator has completed it with an answer
		err = &semel.Error{Op: "replay", Digest: rec.Digest, Err: semel.ErrNotKept, Record: rec}
	}
	if err != nil {
		s.refused = s.c.refuse(err)
		return s.refused
	}
	if got != nil {
		s.run = newExecution(s.c, got)
		s.ctx.claimed(&s.run.ctx)
	}
	return nil
}

// serve runs the handler, and settles what was claimed before its status goes out.
func (s *stream) serve(srv any, handler grpc.StreamHandler) (err error) {
	returned := false
	defer func() {
		if run, _ := s.state(); !returned && run != nil {
			run.settlePanic()
			run.tell(codes.Internal)
		}
	}()
	err = handler(srv, s)
	run, refused := s.state()
	switch {
	case refused != nil: // whatever the handler makes of it
		return refused
	case run == nil:
		returned = true
		return err
	}
	failure := statusOf(err)
	refused = s.settle(run, failure.Code(), err)
	returned = true // the error's own methods can panic as well
	if refused != nil {
		return s.c.refuse(refused)
	}
	return s.finish(run, failure, err)
}

func (s *stream) state() (*execution, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run, s.refused
}

// finish sends what was held back.
func (s *stream) finish(run *execution, failure *status.Status, err error) error {
	run.tell(failure.Code())
	s.SetTrailer(metadata.MD{StatusTrailer: {string(run.outcome)}})
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	switch {
	case err != nil:
		return failure.Err()
	case held != nil:
		return s.ServerStream.SendMsg(held)
	}
	return nil
}

// settle records the outcome, without an answer.
func (s *stream) settle(run *execution, code codes.Code, err error) error {
	state, note := run.disposition(code, err)
	if run.tx != nil {
		run.tx.failed = err != nil
	}
	s.mu.Lock()
	sent := s.sent
	s.mu.Unlock()
	if state == semel.StateReleased && sent && run.tx == nil && mark.Of[semel.State](err) == semel.StateAbsent {
		state, note = semel.StateUnknown, note+" after messages had been sent"
	}
	if state != semel.StateCompleted {
		run.settleOtherwise(state, note)
		return nil
	}
	return run.completed(run.claim.CompleteWithout(appendSummary(nil, code)))
}

// streamContext is the context of a stream's handler: the caller's until there is a claim, and the claim's from then on.
type streamContext struct {
	context.Context //nolint:containedctx // it is a context.
	cancel          context.CancelCauseFunc
	values          *lateValues

	mu      sync.Mutex // guards the field below
	unwatch func() bool
}

// lateValues are the values of a stream's context.
type lateValues struct {
	context.Context //nolint:containedctx // the caller's.

	mu   sync.Mutex      // guards the field below
	work context.Context //nolint:containedctx // the claim's, once there is one.
}

// Value implements [context.Context].
func (v *lateValues) Value(key any) any {
	v.mu.Lock()
	work := v.work
	v.mu.Unlock()
	if work != nil {
		return work.Value(key)
	}
	return v.Context.Value(key)
}

func newStreamContext(outer context.Context) *streamContext {
	c := &streamContext{values: &lateValues{Context: context.WithoutCancel(outer)}}
	c.Context, c.cancel = context.WithCancelCause(c.values)
	c.unwatch = context.AfterFunc(outer, func() { c.cancel(context.Cause(outer)) })
	return c
}

// claimed says under which context the handler works from now on.
func (c *streamContext) claimed(work context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unwatch()
	c.unwatch = context.AfterFunc(work, func() { c.cancel(context.Cause(work)) })
	c.values.mu.Lock()
	defer c.values.mu.Unlock()
	c.values.work = work
}

func (c *streamContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unwatch()
	c.cancel(context.Canceled)
}
