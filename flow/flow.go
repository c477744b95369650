package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
)

const (
	// DefaultMaxAge is Options.MaxAge unless set.
	DefaultMaxAge = 72 * time.Hour
	// maxSteps bounds the steps of one flow.
	maxSteps = 256
	// maxNameBytes bounds the name of a flow or a step.
	maxNameBytes = 64

	// maxMaxAge bounds Options.MaxAge: twice of it is a duration.
	maxMaxAge = 10 * 365 * 24 * time.Hour
	// envelopeBytes bounds what a record holds besides a step's result, or a final error.
	envelopeBytes = 8 << 10
)

// Definition is a named operation; [Define] makes one.
type Definition[In, Out any] struct {
	name string
	body func(*Run, In) (Out, error)
}

// Define names an operation. In and Out must survive encoding/json both ways; a number in an
// interface within them arrives as a json.Number.
// body runs anew for every attempt and must be deterministic apart from its
// steps. The name is part of the identity of each flow: changing it makes every
// unfinished one begin anew.
func Define[In, Out any](name string, body func(r *Run, in In) (Out, error)) *Definition[In, Out] {
	return &Definition[In, Out]{name: name, body: body}
}

// Defined is any [Definition].
type Defined interface {
	flowName() string
	// execute runs the body, and returns the answer in its envelope.
	execute(r *Run, input json.RawMessage) (outcome json.RawMessage, err error)
}

func (d *Definition[In, Out]) flowName() string {
	if d == nil || d.body == nil {
		return ""
	}
	return d.name
}

func nameOf(def Defined) string {
	if def == nil {
		return ""
	}
	return def.flowName()
}

// Options are the settings of New. A nil *Options is complete.
type Options struct {
	// Transactor opens transactions of the database of the guard's store, for [Tx]
	// steps without [On].
	Transactor semel.Transactor
	// MaxAge bounds the time from the first attempt in which a flow may go on. An
	// older one is undone. Steps are remembered for twice as long. Default
	// [DefaultMaxAge].
	MaxAge time.Duration
	// Background, when set, goes on with flows that no caller retries, in this
	// process, whichever process began them; see [operator.Unattended], whose Policy is
	// ours. The input of every flow is then kept in the store; one of more than
	// semel.Policy.MaxOutcomeBytes is refused. The guard must not hide keys, and its store must be a [semel.Lister].
	Background *operator.Unattended
}

// Flows runs operations of several steps, each once. Its methods and those
// functions that take it are safe for concurrent use. Make one with New.
type Flows struct {
	guard      *semel.Guard // for the flows
	firsts     *semel.Guard // for their first attempts: it takes over nothing
	accepts    *semel.Guard // for those of Accept: nor does it wait
	steps      *semel.Guard // for their steps
	origins    *semel.Guard // for what is remembered besides: writing it twice does no harm
	transactor semel.Transactor
	policy     semel.Policy // of a step
	maxBytes   int          // of a step's result
	maxAge     time.Duration
	background bool
	defs       map[string]Defined
	places     places
}

// New returns what runs the definitions over the guard, whose policy applies to the
// flows: its Wait, Lease and MaxRun, and its Retention where that is longer than twice
// Options.MaxAge, because a flow is remembered for longer than its steps. opts may be
// nil. The guard's store remembers flows and steps.
func New(guard *semel.Guard, opts *Options, defs ...Defined) (*Flows, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	f := &Flows{transactor: o.Transactor, maxAge: o.MaxAge, background: o.Background != nil, defs: map[string]Defined{}}
	if f.maxAge == 0 {
		f.maxAge = DefaultMaxAge
	}
	switch {
	case guard == nil:
		return nil, errors.New("flow: New needs a guard")
	case f.maxAge < 0 || f.maxAge > maxMaxAge:
		return nil, fmt.Errorf("flow: MaxAge %v is not between 0 and %v (leave it out for %v)", f.maxAge, maxMaxAge, DefaultMaxAge)
	case f.background && guard.HidesKeys():
		return nil, errors.New("flow: Options.Background finds flows by their scope, but the guard hides keys")
	case len(defs) == 0:
		return nil, errors.New("flow: New needs the definitions that it runs")
	}
	if f.transactor != nil {
		if err := guard.CheckTx(); err != nil {
			return nil, fmt.Errorf("flow: Options.Transactor: %w", err)
		}
	}
	if f.background && o.Background.Policy != nil {
		return nil, errors.New("flow: Options.Background: its Policy is set by the flows, leave it out")
	}
	for _, def := range defs {
		if err := f.add(def); err != nil {
			return nil, err
		}
	}
	return f, f.makeGuards(guard, o.Background)
}

func (f *Flows) add(def Defined) error {
	name := nameOf(def)
	if err := checkName("flow", name); err != nil {
		return err
	}
	if f.defs[name] != nil {
		return fmt.Errorf("flow: two definitions are named %q", name)
	}
	f.defs[name] = def
	return nil
}

func checkName(what, name string) error {
	if name == "" || len(name) > maxNameBytes || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c > '~' || c == ':' }) {
		return fmt.Errorf("flow: the name of a %s needs 1 to %d printable ASCII characters without a colon, not %q", what, maxNameBytes, name)
	}
	return nil
}

// makeGuards makes the guards of flows and steps.
func (f *Flows) makeGuards(guard *semel.Guard, background *operator.Unattended) error {
	flows := guard.Policy()
	if flows.MaxRun > maxMaxAge || flows.Lease > maxMaxAge {
		return fmt.Errorf("flow: the guard's MaxRun or Lease is longer than %v", maxMaxAge)
	}
	if guard.HidesKeys() && flows.OnUnknown == semel.Reconcile {
		return errors.New("flow: the guard's policy reconciles, and the guard hides keys: it would take steps for its own intents")
	}
	if flows.Dedup {
		return errors.New("flow: the guard's policy is Dedup, but a flow has an answer")
	}
	// Steps outlive the last look at their age, and a flow outlives its steps, before
	// which it is never settled.
	keep := max(2*f.maxAge+flows.MaxRun+flows.Lease, flows.Retention, flows.UnknownRetention)
	flows.Retention, flows.UnknownRetention = keep, keep
	var err error
	flows.OnUnknown, flows.Reconcile = semel.Refuse, nil
	if f.firsts, err = guard.With(flows); err != nil {
		return err
	}
	at := flows
	at.Wait = semel.NoWait
	if f.accepts, err = guard.With(at); err != nil {
		return err
	}
	flows.OnUnknown, flows.Reconcile = semel.Reconcile, goOn
	f.maxBytes = flows.MaxOutcomeBytes
	// A step waits for a process that died with it, so that a takeover needs no second attempt.
	f.policy = semel.Policy{
		Lease: flows.Lease, MaxRun: flows.MaxRun, Wait: max(flows.Wait, flows.Lease+flows.Lease/3), Retention: keep, UnknownRetention: keep,
		MaxOutcomeBytes: flows.MaxOutcomeBytes + envelopeBytes, ReconcileTimeout: flows.ReconcileTimeout,
	}
	if f.guard, err = guard.With(flows); err != nil {
		return err
	}
	if f.steps, err = guard.With(f.policy); err != nil {
		return err
	}
	origins := f.policy
	origins.OnUnknown = semel.Rerun
	if f.origins, err = guard.With(origins); err != nil || background == nil {
		return err
	}
	records, err := operator.New(f.guard, nil)
	if err != nil {
		return err
	}
	return records.ReconcileInBackground(f.unattended(*background, flows))
}

// goOn is the policy's answer about a flow that ended without an answer: it may go
// on, because its steps happen once, in whichever process.
func goOn(ctx context.Context, before semel.Record) (semel.Reconciliation, error) {
	a, ok := ctx.Value(attemptKey{}).(*attempt)
	if !ok {
		return semel.Reconciliation{}, errors.New("only flow.Start and flow.Accept can go on with it")
	}
	return semel.Reconciliation{Verdict: semel.NotHappened}, a.see(&before)
}
