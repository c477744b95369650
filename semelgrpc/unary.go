package semelgrpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/disclosure"
	"github.com/semel-dev/semel/outcomelog"
)

// call is one call that may carry a key, until its decision is reported.
type call struct {
	i        *Interceptor
	ctx      context.Context //nolint:containedctx // that of the call.
	method   string
	required bool      // the key
	unfit    error     // why the call takes no key
	decision *Decision // nil when it is not reported
	began    time.Time
}

func (i *Interceptor) newCall(ctx context.Context, method string, policy KeyPolicy) *call {
	c := &call{i: i, ctx: ctx, method: method, required: policy == KeyRequired}
	if i.set.OnDecision != nil {
		c.decision, c.began = &Decision{Method: method}, time.Now()
	}
	return c
}

// Unary is a [grpc.UnaryServerInterceptor]. Chain it inside of what authenticates and authorises the caller, so that
// replays are authorised too, and inside of what recovers panics, retries, or answers when a time is up. An inner interceptor
// that turns a panic into an error may say that nothing happened when something did; one that retries repeats the handler
// within one claim.
func (i *Interceptor) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	policy := i.methods.policy(info.FullMethod, i.set.decide)
	if policy == KeyIgnored {
		return handler(ctx, req)
	}
	name, found, err := i.set.keyIn(ctx)
	if err == nil && !found && len(i.set.path) == 0 && policy == KeyOptional {
		return handler(ctx, req)
	}
	c := i.newCall(ctx, info.FullMethod, policy)
	claim, rec, err := c.begin(req, name, found, err)
	switch {
	case err != nil:
		return nil, c.refuse(err)
	case rec != nil:
		return c.replay(rec)
	case claim != nil:
		return c.execute(req, handler, claim) //nolint:contextcheck // the call has its context.
	}
	return handler(ctx, req)
}

// begin finds the key and its scope, and asks the guard. It returns exactly one of a claim, a record to replay and an
// error; or none of them for a call that passes untouched.
func (c *call) begin(req any, name string, found bool, err error) (claim, *semel.Record, error) {
	if err != nil {
		return nil, nil, err
	}
	m := messageOf(req)
	if name, found, err = c.i.set.key(m, name, found); err != nil {
		return nil, nil, err
	}
	switch {
	case !found && c.required:
		return nil, nil, fmt.Errorf("%w (in the metadata %s)", errKeyMissing, c.i.set.Metadata)
	case !found:
		return nil, nil, nil
	case c.unfit != nil:
		return nil, nil, c.unfit
	case m == nil && req != nil:
		return nil, nil, errNotProto
	}
	key := semel.Key{Name: name}
	if key.Scope, err = c.i.scope(c.ctx, c.method); err == nil {
		err = key.Validate()
	}
	switch {
	case errors.Is(err, semel.ErrScopeMissing):
		return nil, nil, err
	case err != nil: // the name is good
		return nil, nil, &optionError{err}
	case c.i.guard.Holds(c.ctx, key): // chained twice
		return nil, nil, nil
	}
	fp, err := c.fingerprint(m)
	if err != nil {
		return nil, nil, &optionError{err}
	}
	got, rec, err := c.ask(key, fp)
	known, reveals := rec, rec != nil
	if !reveals {
		known, reveals = disclosure.Of(err)
	}
	if reveals {
		if denied := c.denial(m, known); denied != nil {
			return nil, nil, denied
		}
	}
	return got, rec, err
}

func (c *call) fingerprint(m proto.Message) (semel.Fingerprint, error) {
	if custom := c.i.set.Fingerprint; custom != nil {
		return custom(c.method, m)
	}
	w, _ := c.i.writers.Get().(*writer)
	fp := w.fingerprint(c.method, m)
	if len(w.buf) <= maxBufferBytes {
		c.i.writers.Put(w)
	}
	return fp, nil
}

// ask asks the guard, for a claim with a transaction if the options say so.
func (c *call) ask(key semel.Key, fp semel.Fingerprint) (got claim, rec *semel.Record, err error) {
	var asked time.Time
	if c.decision != nil {
		asked = time.Now()
	}
	if c.i.set.Transactor == nil {
		var plain *semel.Claim
		if plain, rec, err = c.i.guard.Begin(c.ctx, key, fp); plain != nil { // else the interface would not be nil
			got = plain
		}
	} else {
		var tx *semel.TxClaim
		if tx, rec, err = c.i.guard.BeginTx(c.ctx, c.i.set.Transactor, key, fp); tx != nil {
			got = &txClaim{TxClaim: tx}
		}
	}
	if c.decision != nil {
		c.learn(key, got, rec, err)
		c.decision.Begin = time.Since(asked)
	}
	return got, rec, err
}

// learn notes which record was met.
func (c *call) learn(key semel.Key, got claim, rec *semel.Record, err error) {
	d := c.decision
	refused, _ := errors.AsType[*semel.Error](err)
	switch {
	case got != nil:
		d.Digest, d.Fence, d.Attempt, d.Executed = got.Digest(), got.Fence(), got.Attempt(), true
	case rec != nil:
		d.Digest, d.Fence, d.Attempt, d.Waited = rec.Digest, rec.Fence, rec.Attempt, rec.Waited
	case refused != nil:
		d.Digest = refused.Digest
		if refused.Record != nil {
			d.Fence, d.Attempt = refused.Record.Fence, refused.Record.Attempt
		}
	}
	if d.Digest == (semel.Digest{}) {
		d.Digest = c.i.guard.Digest(key)
	}
}

// execute runs the handler under the claim, and has the outcome settled before its answer goes out.
func (c *call) execute(req any, handler grpc.UnaryHandler, got claim) (resp any, err error) {
	run := newExecution(c, got)
	sent := &capture{under: grpc.ServerTransportStreamFromContext(c.ctx)}
	returned := false
	defer func() {
		if !returned { // a panic or runtime.Goexit is on its way through
			run.settlePanic()
			run.tell(codes.Internal)
		}
	}()
	resp, err = handler(grpc.NewContextWithServerTransportStream(&run.ctx, sent), req)
	failure := statusOf(err)
	header, trailer := sent.held()
	refused := run.settle(failure, err, resp, header, trailer)
	returned = true // the error's own methods can panic as well
	if refused != nil {
		return nil, c.refuse(refused)
	}
	run.tell(failure.Code())
	c.i.send(sent.under, header, trailer, run.outcome)
	if err != nil {
		return nil, failure.Err()
	}
	return resp, nil
}

// replay gives the recorded answer.
func (c *call) replay(rec *semel.Record) (any, error) {
	a, err := readAnswer(rec.Outcome)
	var response proto.Message
	var failure *status.Status
	switch {
	case err != nil:
	case a.code != codes.OK:
		failure, err = a.failure()
	default:
		response, err = a.response(c.i.set.Types, takesProtobuf(c.ctx))
	}
	if err != nil {
		return nil, c.refuse(&semel.Error{Op: "replay", Digest: rec.Digest, Err: errors.Join(semel.ErrUnreadable, err)})
	}
	c.tell(outcomelog.Replayed, a.code, nil)
	c.i.send(grpc.ServerTransportStreamFromContext(c.ctx), a.header, a.trailer, outcomelog.Replayed)
	if failure != nil {
		return nil, failure.Err()
	}
	return response, nil
}

// takesProtobuf reports whether the caller takes messages on the wire of protobuf.
func takesProtobuf(ctx context.Context) bool {
	for _, kind := range metadata.ValueFromIncomingContext(ctx, "content-type") {
		kind, _, _ = strings.Cut(kind, ";")
		if kind != "application/grpc" && kind != "application/grpc+proto" {
			return false
		}
	}
	return true
}

// refuse answers with the status for the error.
func (c *call) refuse(err error) error {
	s, outcome := refuse(c.ctx, err)
	c.tell(outcome, s.Code(), err)
	to := grpc.ServerTransportStreamFromContext(c.ctx)
	if outcome != outcomelog.Denied { // else it would say that there was something
		c.i.send(to, nil, nil, outcome)
	}
	pushBack(to, s)
	return s.Err()
}

// tell reports the decision, once.
func (c *call) tell(outcome outcomelog.Outcome, code codes.Code, err error) {
	d := c.decision
	if d == nil {
		return
	}
	d.Outcome, d.Code, d.Err, d.Took = outcome, code, err, time.Since(c.began)
	c.decision = nil
	c.i.set.OnDecision(c.ctx, *d)
}
