package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/envelope"
	"github.com/semel-dev/semel/internal/verdict"
)

// errInTransaction refuses a flow that could be recorded as done while its steps roll
// back with the transaction around it.
var errInTransaction = errors.New("a flow outlives its caller, and this context belongs to a transaction, which may be rolled back " +
	"(start the flow before or after it, or add an outbox message to it whose handler starts the flow)")

// retryUnfinished is the RetryAfter of an unfinished flow.
const retryUnfinished = time.Second

// Start runs a flow once for the key, and gives every later caller its result:
//
//   - the result, or [*Failed]: final, and the same for all attempts;
//   - [*Unfinished]: retry with the same key;
//   - [*Parked]: an operator has to decide;
//   - an error of [semel.Guard.Begin], such as ErrMismatch for another input, or
//     ErrInFlight.
//
// Start and Accept are refused in a transaction of any store ([semel.DoTx],
// semelhttp.Options.Transactor, inbox.HandleTx, a store's Join, a [Tx] step).
//
// A panic of the flow's function or of a step reaches the caller, as one of [semel.Do]
// does; the flow is open, and the next attempt goes on.
//
// ctx governs the wait for another attempt. The flow itself goes on when its
// caller goes away, until it ends or exceeds [semel.Policy].MaxRun.
func Start[In, Out any](ctx context.Context, f *Flows, def *Definition[In, Out], key semel.Key, in In) (Out, error) {
	var out Out
	run, _, outcome, err := f.begin(ctx, f.firsts, def, key, in)
	if run != nil {
		outcome, err = run.finish(def)
	}
	if err != nil {
		return out, err
	}
	return decodeAnswer[Out](outcome)
}

// Accept records the flow and its input, and returns before it has run: for
// callers that give up after seconds, such as payment gateways that call back. It
// runs in the background of this process, and of any other if this one dies, so
// [Options.Background] is required. A nil error means that the flow is recorded; it
// may have ended already. Start with the same key and input waits for its result.
func Accept[In, Out any](ctx context.Context, f *Flows, def *Definition[In, Out], key semel.Key, in In) error {
	if !f.background {
		return errors.New("flow: Accept needs Options.Background, which goes on when this process dies")
	}
	run, a, _, err := f.begin(ctx, f.accepts, def, key, in)
	if errors.Is(err, semel.ErrInFlight) {
		if o, err := f.original(ctx, a.origin); err == nil && o.Input != nil {
			return nil // another process accepted it
		}
		return err
	}
	if run == nil {
		return err
	}
	if a.unkept {
		return errors.Join(errors.New("flow: it was begun without a background, which did not keep its input: go on with Start"), run.claim.Unknown("not accepted"))
	}
	f.guard.Background(func(context.Context) {
		defer func() { _ = recover() }() // finish has recorded it, as the background does
		_, _ = run.finish(def)           // recorded; Trace tells
	})
	return nil
}

// attempt carries what Start knows of the flow to the policy's Reconcile, and back.
type attempt struct {
	flows  *Flows
	origin semel.Key // where the origin is remembered
	input  json.RawMessage
	begun  time.Time     // the store's clock when the flow began; zero in its first attempt
	age    time.Duration // when it was taken over
	unkept bool          // the origin has no input
	maxAge time.Duration // when the flow began
}

type attemptKey struct{}

// begin claims the flow, at first by the guard firsts. It returns the run, or the
// recorded answer, or an error.
func (f *Flows) begin(ctx context.Context, firsts *semel.Guard, def Defined, key semel.Key, in any) (*Run, *attempt, json.RawMessage, error) {
	name := nameOf(def)
	if name == "" || f.defs[name] != def {
		return nil, nil, nil, fmt.Errorf("flow: definition %q was not given to New", name)
	}
	if verdict.TransactionOf(ctx) != nil {
		return nil, nil, nil, fmt.Errorf("flow %s: %w", name, errInTransaction)
	}
	if key.Scope == "" {
		return nil, nil, nil, fmt.Errorf("flow %s: %w", name, semel.ErrScopeMissing)
	}
	input, err := json.Marshal(in)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("flow %s: the input cannot be kept: %w", name, err)
	}
	if f.background && len(input) > f.maxBytes {
		return nil, nil, nil, fmt.Errorf("flow %s: its input has %d bytes, and %d can be kept for the background", name, len(input), f.maxBytes)
	}
	whole := semel.Key{Scope: flowScope(name, key.Scope), Name: key.Name}
	fp := semel.FingerprintOf(name, string(input))
	a := &attempt{flows: f, origin: originKey(whole, fp), input: input}
	claim, rec, err := f.claim(ctx, firsts, a, whole, fp)
	switch {
	case err != nil:
		return nil, a, nil, err
	case rec != nil:
		return nil, a, rec.Outcome, nil
	}
	r := f.newRun(claim, name, a.origin.Scope, input)
	if claim.Attempt() > 1 {
		r.begun, r.late = a.begun, a.age > f.maxAge
	}
	if a.begun.IsZero() && (f.background || claim.Attempt() > 1) { // the second is a claim whose reply was lost
		if err := f.remember(claim.Context(), a.origin, origin{Input: input}); err != nil {
			return nil, a, nil, errors.Join(fmt.Errorf("flow %s: nothing ran: %w", name, err), claim.Unknown("the input could not be kept"))
		}
	}
	return r, a, nil, nil
}

// claim claims the flow. It remembers when the flow began before it takes it over,
// because a takeover overwrites that time.
func (f *Flows) claim(ctx context.Context, firsts *semel.Guard, a *attempt, whole semel.Key, fp semel.Fingerprint) (*semel.Claim, *semel.Record, error) {
	claim, rec, err := firsts.Begin(ctx, whole, fp)
	refused, ok := errors.AsType[*semel.Error](err)
	if !ok || refused.Record == nil || !errors.Is(err, semel.ErrUnknown) {
		return claim, rec, err
	}
	if err := a.recall(ctx, refused.Record); err != nil {
		return nil, nil, err
	}
	return f.guard.Begin(context.WithValue(ctx, attemptKey{}, a), whole, fp)
}

// finish runs the flow to its end, or as far as it gets, and settles its claim.
func (r *Run) finish(def Defined) (json.RawMessage, error) {
	returned := false
	defer func() {
		if !returned { // a panic or runtime.Goexit is on its way through
			_ = r.claim.Unknown("panic in the flow's function") // the panic is the news
		}
	}()
	outcome, err := def.execute(r, r.input)
	note := ""
	if err != nil {
		note = dialect.Discreet(err).Error() // the error's own methods can panic as well
	}
	returned = true
	switch {
	case r.settled != nil:
		return r.settled, nil // whatever the function did after it
	case err == nil:
		if err := r.claim.Complete(outcome, nil); err != nil {
			return nil, &Unfinished{Flow: r.flow, Step: "the answer", RetryAfter: retryUnfinished, Err: err}
		}
		return outcome, nil
	case r.untouched():
		return nil, errors.Join(err, r.claim.Release(note))
	}
	return nil, errors.Join(err, r.claim.Unknown(note))
}

// execute runs the body, undoes what it did if it failed, and returns the answer.
func (d *Definition[In, Out]) execute(r *Run, input json.RawMessage) (json.RawMessage, error) {
	var in In
	if err := envelope.Decode(input, &in); err != nil {
		return nil, &Parked{Flow: d.name, Step: "its input", Digest: r.claim.Digest(), Err: fmt.Errorf("what is recorded does not fit this program: %w", err)}
	}
	r.returns = reflect.TypeFor[Out]()
	out, err := d.body(r, in)
	r.mu.Lock()
	if r.running && r.open == nil {
		r.open = &Unfinished{Flow: d.name, RetryAfter: retryUnfinished, Err: errors.New("the function returned while a step ran, or after a panic of one")}
	}
	if r.open == nil {
		r.running = true // nothing begins behind the function
	}
	open := r.open
	r.mu.Unlock()
	if open != nil {
		return nil, open // whatever the function made of it
	}
	if r.result != nil {
		err = envelope.Decode(r.result, &out) // it has been read before
	}
	var outcome json.RawMessage
	if err == nil && !r.stopped {
		var open error
		if r.undoing, open = r.sealed(); open != nil {
			return nil, open
		}
	}
	if err == nil && !r.stopped && !r.undoing {
		if outcome, err = json.Marshal(recordedAnswer[Out]{Version: answerVersion, Value: &out}); err == nil {
			return outcome, nil
		}
		err = fmt.Errorf("%w: its result cannot be kept: %w", semel.ErrNotKept, err)
		if r.untouched() {
			return nil, fmt.Errorf("flow %s: %w", d.name, err)
		}
		return nil, &Parked{Flow: d.name, Step: "its result", Digest: r.claim.Digest(), Err: err}
	}
	failed := &Failed{Flow: d.name}
	switch {
	case r.undoing:
		failed.Reason = "an attempt before failed, and was being undone"
	case r.stopped:
		failed.Reason = errLate.Error()
	case markOf(err) == semel.StateCompleted:
		failed.Reason, failed.Step = cut(err), r.failedStep(err)
	case r.late:
		failed.Reason = fmt.Sprintf("%v, and it could not go on: %s", errLate, cut(err))
	case r.untouched():
		return nil, err
	default:
		return nil, &Unfinished{Flow: d.name, RetryAfter: retryUnfinished, Err: err}
	}
	if failed.Undone, err = r.undo(); err != nil {
		return nil, err
	}
	return json.Marshal(recordedAnswer[Out]{Version: answerVersion, Failed: failed})
}

// failedStep returns the name of the step whose final error it is; "" if it is the function's own.
func (r *Run) failedStep(err error) string {
	final, _ := errors.AsType[*semel.FinalError](err)
	return r.failed[final]
}

const answerVersion = 1

// recordedAnswer tells how a flow ended, as its record keeps it.
type recordedAnswer[Out any] struct {
	Version int     `json:"flow"`
	Value   *Out    `json:"value,omitempty"`
	Failed  *Failed `json:"failed,omitempty"`
}

func decodeAnswer[Out any](outcome json.RawMessage) (out Out, err error) {
	var a recordedAnswer[Out]
	if err := envelope.Decode(outcome, &a); err != nil {
		return out, fmt.Errorf("flow: decode the recorded answer: %w", err)
	}
	switch {
	case a.Version != answerVersion:
		return out, fmt.Errorf("flow: the recorded answer has version %d, this program knows %d", a.Version, answerVersion)
	case a.Failed != nil:
		return out, a.Failed
	case a.Value == nil:
		return out, nil // null
	}
	return *a.Value, nil
}
