package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/ids"
)

// Run is one attempt of a flow. It is used by one goroutine at a time: steps have an
// order.
type Run struct {
	flows  *Flows
	flow   string
	ctx    context.Context //nolint:containedctx // a run is one call, this is its context.
	claim  *semel.Claim
	scope  string // of the steps
	input  json.RawMessage
	begun  time.Time    // the store's clock in the first attempt; zero if this is it
	late   bool         // no further step may begin
	policy semel.Policy // of the steps

	mu      sync.Mutex // guards the fields below
	running bool       // a step is
	names   map[string]bool
	number  int                          // of the last step that was begun
	behind  semel.Key                    // of the record that was settled before the present step began
	done    []*runStep                   // in their order
	open    error                        // the first step that did not end: *Unfinished or *Parked
	sealing bool                         // undoing may have begun
	undoing bool                         // an attempt before has begun to undo
	stopped bool                         // a step was not begun and has a tombstone, because the flow is late or undone
	replays bool                         // a step was recorded before
	result  json.RawMessage              // of the step that ended the flow
	settled json.RawMessage              // the flow's answer, which was committed with that step
	failed  map[*semel.FinalError]string // the names of the steps that failed

	returns reflect.Type // the flow's result
}

func (f *Flows) newRun(claim *semel.Claim, flow, scope string, input json.RawMessage) *Run {
	return &Run{policy: f.policy, flows: f, flow: flow, ctx: claim.Context(), claim: claim, scope: scope, input: input, names: map[string]bool{}}
}

// Context ends when the flow is lost to another attempt, or exceeds
// [semel.Policy].MaxRun.
func (r *Run) Context() context.Context { return r.ctx }

// Key returns the key of a step for a service that deduplicates: the same in all
// attempts, and different for every flow. In a step, [KeyFrom] returns it.
func (r *Run) Key(step string) string { return ids.Derive(nil, r.scope, step) }

type keyKey struct{}

// KeyFrom returns the [Run.Key] of the step under which ctx works; empty outside of
// one. Send it through a semelhttp.Transport whose MaxAttempts is 1: http.Transport
// resends a request with an Idempotency-Key on its own when a reused connection breaks,
// which is a second effect where the service does not deduplicate.
func KeyFrom(ctx context.Context) string {
	key, _ := ctx.Value(keyKey{}).(string)
	return key
}

// untouched reports whether nothing is recorded of the flow but its claim.
func (r *Run) untouched() bool {
	return r.number == 0 && !r.sealing && r.claim.Attempt() == 1 && !r.flows.background
}

// runStep is one step of a run.
type runStep struct {
	settings

	name   string
	input  json.RawMessage
	key    semel.Key
	value  json.RawMessage // its result
	work   func(context.Context) (json.RawMessage, error)
	decode func(json.RawMessage) error
	unkept error  // why the result that Ask found was not kept
	place  string // the database that a marker names
}

// kept is the result of a step, as its record keeps it.
type kept struct {
	Step  string          `json:"step"`
	Value json.RawMessage `json:"value"`
	Place string          `json:"place,omitempty"` // of a marker
}

// do runs the step, or replays it, or refuses it.
func (r *Run) do(s *runStep) error {
	if err := r.enter(s); err != nil {
		return err
	}
	s.key = semel.Key{Scope: r.scope, Name: strconv.Itoa(r.number)}
	late := r.late || r.stopped
	end := ending{}
	if s.on {
		end = r.mark(s, late)
		s.key.Name = onPrefix + s.key.Name
	}
	switch {
	case end != (ending{}):
	case s.last && !late:
		end = r.conclude(s)
	default:
		end = r.once(s, late)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = false
	if !r.stopped { // then it is the seal
		r.behind = semel.Key{Scope: r.scope, Name: strconv.Itoa(r.number)}
	}
	switch {
	case end.open != nil:
		if r.open == nil {
			r.open = end.open
		}
		return r.open
	case end.final != nil:
		r.stopped = r.stopped || end.late
		if r.failed == nil {
			r.failed = map[*semel.FinalError]string{}
		}
		r.failed[end.final] = s.name
		return end.final
	}
	r.done = append(r.done, s)
	if s.last {
		r.result = s.value
	}
	return nil
}

// ending tells how a step ended; the zero ending is a result.
type ending struct {
	final     *semel.FinalError // it failed, or was cancelled, and that is recorded
	cancelled bool              // by an operator, or by the flow
	late      bool              // by the flow, because of its age
	open      error             // *Unfinished or *Parked
}

// enter takes the turn of the next step.
func (r *Run) enter(s *runStep) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running && r.open == nil {
		r.open = &Unfinished{Flow: r.flow, Step: s.name, RetryAfter: retryUnfinished, Err: errors.New("it began while another step ran: steps run one at a time")}
	}
	if r.open != nil {
		return r.open
	}
	if err := r.admit(s); err != nil {
		return semel.MarkFinal(fmt.Errorf("flow %s: %w", r.flow, err))
	}
	if err := s.ready(); err != nil { // another process may be set up for it
		r.open = r.unfinished(s, err).open
		return r.open
	}
	r.running = true
	return nil
}

// admit checks the step against the bounds and those before it.
func (r *Run) admit(s *runStep) error {
	switch {
	case r.names[s.name]:
		return fmt.Errorf("two steps are named %q: use Each, or another name", s.name)
	case r.number == maxSteps:
		return fmt.Errorf("step %q is one more than the %d that a flow may have", s.name, maxSteps)
	case r.result != nil:
		return fmt.Errorf("step %q follows Finish, which ends the flow", s.name)
	case s.last && s.returns != r.returns:
		return fmt.Errorf("step %q finishes the flow with %v, and its result is %v", s.name, s.returns, r.returns)
	case strings.HasPrefix(s.name, undoPrefix):
		return fmt.Errorf("step %q has the name of an Undo: begin it with another word", s.name)
	}
	if err := checkName("step", s.name); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("step %q: %w", s.name, err)
	}
	r.names[s.name] = true
	r.number++
	return nil
}

// once runs the step as an intent of its own, or replays it. late steps are not
// begun.
func (r *Run) once(s *runStep, late bool) ending {
	guard, err := r.guard(s, late)
	if err != nil {
		return r.unfinished(s, err)
	}
	ctx := context.WithValue(r.ctx, keyKey{}, r.Key(s.name))
	fp := semel.FingerprintOf(s.name, string(s.input))
	w := &work{step: s, most: r.flows.maxBytes, note: errLate.Error()}
	var result kept
	switch {
	case late:
		result, err = r.stop(ctx, guard, s, fp, w)
	case s.tx:
		result, err = semel.DoTx(ctx, guard, s.transactor, s.key, fp, w.doStep)
	default:
		result, err = semel.Do(ctx, guard, s.key, fp, w.doStep)
	}
	r.replays = r.replays || !w.ran
	if err != nil {
		return r.end(s, w, err)
	}
	if len(result.Value) > r.flows.maxBytes {
		return r.parked(s, fmt.Errorf("%w: its result has %d bytes, and %d can be kept", semel.ErrNotKept, len(result.Value), r.flows.maxBytes))
	}
	if err := s.decode(result.Value); err != nil {
		return r.parked(s, fmt.Errorf("%w: its recorded result does not fit: %w", semel.ErrNotKept, err))
	}
	s.value, s.place = result.Value, result.Place
	return ending{}
}

// guard returns the guard for the step: its database, and what it does with an
// unknown outcome.
func (r *Run) guard(s *runStep, late bool) (*semel.Guard, error) {
	p := r.policy
	p.UnknownOnError = !s.tx
	if s.ask != nil || s.dedupes > 0 {
		p.OnUnknown = semel.Reconcile
		p.Reconcile = func(ctx context.Context, before semel.Record) (semel.Reconciliation, error) {
			return r.reconcile(ctx, s, &before, late)
		}
	}
	return s.base.With(p)
}

// stop leaves a tombstone for a step that must not begin any more, and deals with one that began as
// any attempt does.
func (r *Run) stop(ctx context.Context, guard *semel.Guard, s *runStep, fp semel.Fingerprint, w *work) (result kept, err error) {
	rec, err := s.base.Lookup(ctx, s.key)
	switch {
	case errors.Is(err, semel.ErrNotFound), err == nil && rec.Fingerprint == semel.Fingerprint{}:
		err = r.bury(ctx, s, w)
		if w.ran || err != nil && !errors.Is(err, semel.ErrMismatch) {
			return result, err
		}
	case err != nil && !errors.Is(err, semel.ErrUnreadable):
		return result, &semel.Error{Op: "look up", Digest: s.base.Digest(s.key), Err: fmt.Errorf("%w: %w", semel.ErrUnavailable, err)}
	}
	return semel.Do(ctx, guard, s.key, fp, w.stop)
}

// bury leaves a tombstone. Its claim has no fingerprint, by which the next attempt knows that a
// process which died with it did nothing else.
func (r *Run) bury(ctx context.Context, s *runStep, w *work) error {
	p := r.policy
	p.OnUnknown, p.Reconcile = semel.Reconcile, func(context.Context, semel.Record) (semel.Reconciliation, error) {
		return semel.Reconciliation{Verdict: semel.NotHappened}, nil
	}
	guard, err := s.base.With(p)
	if err != nil {
		return err
	}
	_, err = semel.Do(ctx, guard, s.key, semel.Fingerprint{}, w.stop)
	return err
}

// reconcile finds out about a call whose attempt ended without an answer.
func (r *Run) reconcile(ctx context.Context, s *runStep, before *semel.Record, late bool) (semel.Reconciliation, error) {
	var found semel.Reconciliation
	if s.ask != nil {
		value, verdict, err := s.ask(ctx)
		lost, ok := err.(*unkept) //nolint:errorlint // Ask returns it as it is.
		switch {
		case ok:
			s.unkept = lost.error
			return semel.Reconciliation{Verdict: semel.Happened}, nil
		case err != nil:
			return found, err
		}
		found.Verdict = verdict
		if verdict == semel.Happened {
			found.Kept = true
			found.Outcome, err = semel.OutcomeOf(kept{Step: s.name, Value: value})
		}
		if err != nil || verdict != semel.StillUnknown {
			return found, err
		}
	}
	if s.dedupes == 0 {
		return found, nil
	}
	since, err := r.since(ctx, before)
	if err != nil {
		return found, err
	}
	switch age := before.ReadAt.Sub(since); {
	case late:
		found.Note = "the flow is undone, and it cannot be told whether the call happened"
	case since.IsZero():
		found.Note = "it is not known when the call was first made"
	case age > s.dedupes:
		found.Note = fmt.Sprintf("the call was first made up to %v ago, and the callee deduplicates for %v only", age.Round(time.Second), s.dedupes)
	default:
		found.Verdict = semel.NotHappened // so it is made again, with the same key
	}
	return found, nil
}

// since returns a time before which the call was not made: its own claim's in the first attempt,
// which a takeover overwrites, else that at which the record before it was settled, or the flow began.
func (r *Run) since(ctx context.Context, before *semel.Record) (time.Time, error) {
	if before.Attempt == 1 {
		return before.ClaimedAt, nil
	}
	if r.behind == (semel.Key{}) {
		return r.begun, nil
	}
	rec, err := r.flows.steps.Lookup(ctx, r.behind)
	switch {
	case errors.Is(err, semel.ErrNotFound):
		return r.begun, nil
	case errors.Is(err, semel.ErrUnreadable):
		err = nil
	}
	return rec.SettledAt, err
}

// end says what the error of a step means for the flow. Only what is recorded is
// final: whatever else happened, another attempt may find it otherwise.
func (r *Run) end(s *runStep, w *work, err error) ending {
	switch {
	case w.stopped:
		return ending{final: &semel.FinalError{Message: w.note}, cancelled: true, late: true}
	case w.unkept != nil:
		return r.parked(s, fmt.Errorf("%w: %w", semel.ErrNotKept, w.unkept))
	case w.failed != nil && err == error(w.failed): //nolint:errorlint // joined with another, it is not recorded.
		switch {
		case w.failed.state == semel.StateCompleted:
			return ending{final: &semel.FinalError{Message: w.failed.Error()}}
		case w.failed.state == semel.StateUnknown && s.ask == nil && s.dedupes == 0:
			return r.parked(s, fmt.Errorf("%w: %w", semel.ErrUnknown, w.failed.err))
		}
		return r.unfinished(s, w.failed.err)
	case w.ran:
		return r.unfinished(s, err)
	}
	return r.refused(s, err)
}

// refused says what it means that the guard neither ran the step nor replayed a
// result.
func (r *Run) refused(s *runStep, err error) ending {
	if final, ok := errors.AsType[*semel.FinalError](err); ok {
		return ending{final: final}
	}
	refusal, ok := errors.AsType[*semel.Error](err)
	switch {
	case !ok:
		return r.parked(s, fmt.Errorf("%w: %w", semel.ErrNotKept, err))
	case errors.Is(err, semel.ErrCancelled):
		late := refusal.Record != nil && (refusal.Record.Note == errLate.Error() || refusal.Record.Note == sealNote)
		return ending{final: &semel.FinalError{Message: fmt.Sprintf("step %q was cancelled", s.name)}, cancelled: true, late: late}
	case errors.Is(err, semel.ErrNotKept) && s.unkept != nil:
		return r.parked(s, fmt.Errorf("%w: %w", err, s.unkept))
	case errors.Is(err, semel.ErrMismatch), errors.Is(err, semel.ErrNotKept), errors.Is(err, semel.ErrUnreadable),
		errors.Is(err, semel.ErrUnknown) && s.ask == nil && (s.dedupes > 0 || !refusal.Retryable()):
		return r.parked(s, err)
	}
	return r.unfinished(s, err)
}

func (r *Run) unfinished(s *runStep, err error) ending {
	after := retryUnfinished
	if e, ok := errors.AsType[*semel.Error](err); ok && e.RetryAfter > 0 {
		after = e.RetryAfter
	}
	return ending{open: &Unfinished{Flow: r.flow, Step: s.name, RetryAfter: after, Err: err}}
}

// parked names the record that an operator resolves: that of the step, or that of
// the flow where the step's is settled.
func (r *Run) parked(s *runStep, err error) ending {
	digest := s.base.Digest(s.key)
	if refusal, ok := errors.AsType[*semel.Error](err); ok {
		digest = refusal.Digest
	}
	if !errors.Is(err, semel.ErrUnknown) {
		digest = r.claim.Digest()
	}
	return ending{open: &Parked{Flow: r.flow, Step: s.name, Digest: digest, Err: err}}
}
