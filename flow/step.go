package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/envelope"
)

// Tx is a step whose effect lies in a database that keeps Semel's records too: fn works in
// the transaction that its context carries, and the effect is recorded with it or not
// at all, so the step is never unknown. fn may run several times, as for
// [semel.DoTx]. Without [On], the database is that of [Options.Transactor].
//
// The name is unique within the flow. in holds what the step depends on: another attempt
// that asks for something else is refused.
func Tx[In, Out any](r *Run, name string, in In, fn func(context.Context, In) (Out, error), opts ...Option) (Out, error) {
	s := runStep{settings: settings{base: r.flows.steps, transactor: r.flows.transactor, tx: true}}
	return perform(r, &s, name, in, fn, opts)
}

// Finish is a [Tx] step that ends the flow: its result is the flow's, whatever the
// function returns after it, and no step may follow. Where the store's transactions can
// (those of pgstore, mysqlstore and sqlitetx), the first attempt commits its effect together
// with the answer of the flow, without a record of its own: one record and one commit less.
// A fn that ends the transaction by SQL of its own parks the flow.
func Finish[In, Out any](r *Run, name string, in In, fn func(context.Context, In) (Out, error)) (Out, error) {
	s := runStep{settings: settings{base: r.flows.steps, transactor: r.flows.transactor, tx: true, last: true}}
	return perform(r, &s, name, in, fn, nil)
}

// Call is a step whose effect lies elsewhere, such as a request to a service. fn
// passes [KeyFrom] on as the idempotency key. When it returns an error, or its
// process dies, the effect may have happened: [CalleeDedupes] and [Ask] say how a
// later attempt finds out. Name and in are those of [Tx]. A call that happened, and whose
// result cannot be kept, parks the flow with [semel.ErrNotKept].
func Call[In, Out any](r *Run, name string, in In, fn func(context.Context, In) (Out, error), opts ...Option) (Out, error) {
	s := runStep{settings: settings{base: r.flows.steps}}
	return perform(r, &s, name, in, fn, opts)
}

// Each runs a step for each of the inputs, in their order, until one returns an
// error. step is given the name with the index of its input.
func Each[In, Out any](r *Run, name string, ins []In, step func(name string, in In) (Out, error)) ([]Out, error) {
	outs := make([]Out, 0, len(ins))
	for i, in := range ins {
		out, err := step(fmt.Sprintf("%s[%d]", name, i), in)
		if err != nil {
			return outs, err
		}
		outs = append(outs, out)
	}
	return outs, nil
}

func perform[In, Out any](r *Run, s *runStep, name string, in In, fn func(context.Context, In) (Out, error), opts []Option) (out Out, err error) {
	s.name = name
	if s.input, err = json.Marshal(in); err != nil {
		return out, semel.MarkFinal(fmt.Errorf("flow %s: the input of step %q cannot be kept: %w", r.flow, name, err))
	}
	s.returns = reflect.TypeFor[Out]()
	s.apply(opts)
	s.work = func(ctx context.Context) (json.RawMessage, error) {
		v, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return keep(v)
	}
	s.decode = func(value json.RawMessage) error {
		out = *new(Out)
		return envelope.Decode(value, &out)
	}
	err = r.do(s)
	return out, err
}

// Option is a setting of a step.
type Option func(*settings)

type settings struct {
	base       *semel.Guard     // remembers the step
	transactor semel.Transactor // of a transactional step
	tx         bool
	dedupes    time.Duration
	ask        func(context.Context) (json.RawMessage, semel.Verdict, error)
	undo       func(context.Context, json.RawMessage) error
	undoWith   []Option
	returns    reflect.Type   // the step's result; nil for that of an Undo
	wants      []reflect.Type // what undo and ask are for
	on         bool
	last       bool // it ends the flow
	missing    bool // an option has no function
}

func (s *settings) apply(opts []Option) {
	for _, opt := range opts {
		if opt != nil {
			opt(s)
		}
	}
}

// On runs a [Tx] step in another database than [Options.Transactor], which keeps the
// step's record: transactor opens its transactions, and guard uses its store. A flow that
// began in one database is parked by a release that names another one. Keep the guard:
// the name of its database is read once for each.
func On(guard *semel.Guard, transactor semel.Transactor) Option {
	return func(s *settings) { s.base, s.transactor, s.on = guard, transactor, true }
}

// CalleeDedupes says that the callee of a [Call] recognises [KeyFrom] for that long
// after it first saw it. A call without an answer is then made again with the same key,
// until that long after the step before it ended; after that it is parked. Give less than
// the callee promises.
func CalleeDedupes(d time.Duration) Option { return func(s *settings) { s.dedupes = d } }

// Ask says how to find out whether a [Call] without an answer happened: fn looks
// the effect up by [KeyFrom] and returns its result with [semel.Happened].
// [semel.NotHappened] must also mean that it can no longer arrive, and the call must not be
// resent below fn, as [KeyFrom] says of http.Transport.
func Ask[Out any](fn func(ctx context.Context) (Out, semel.Verdict, error)) Option {
	return func(s *settings) {
		s.expect(reflect.TypeFor[Out](), fn != nil)
		s.ask = func(ctx context.Context) (json.RawMessage, semel.Verdict, error) {
			out, verdict, err := fn(ctx)
			if err != nil || verdict != semel.Happened {
				return nil, verdict, err
			}
			value, err := keep(out)
			return value, verdict, err
		}
	}
}

// Undo says how a step is undone when the flow fails later: fn gets its result. It
// is a step of its own, of the same kind and with the same database, and happens once.
// opts say how a later attempt finds out about an Undo of a [Call] that got no
// answer; its [KeyFrom] is a key of its own.
func Undo[Out any](fn func(ctx context.Context, result Out) error, opts ...Option) Option {
	return func(s *settings) {
		s.expect(reflect.TypeFor[Out](), fn != nil)
		s.undoWith = opts
		s.undo = func(ctx context.Context, value json.RawMessage) error {
			var out Out
			if err := envelope.Decode(value, &out); err != nil {
				return semel.MarkFinal(fmt.Errorf("the recorded result does not fit this program: %w", err))
			}
			return fn(ctx, out)
		}
	}
}

func (s *settings) expect(t reflect.Type, given bool) {
	s.wants = append(s.wants, t)
	s.missing = s.missing || !given
}

// check reports settings that do not fit each other.
func (s *settings) check() error {
	switch {
	case s.on && !s.tx:
		return errors.New("On is for Tx steps: a Call has no transaction")
	case s.on && (s.base == nil || s.transactor == nil):
		return errors.New("On needs a guard and a transactor")
	case s.tx && (s.ask != nil || s.dedupes != 0):
		return errors.New("CalleeDedupes and Ask are for Calls: a Tx step is never unknown")
	case s.dedupes < 0:
		return fmt.Errorf("CalleeDedupes(%v) is negative", s.dedupes)
	case s.missing:
		return errors.New("Undo or Ask without a function")
	}
	for _, want := range s.wants {
		if s.returns != nil && want != s.returns {
			return fmt.Errorf("it returns %v, and its Undo or Ask is for %v", s.returns, want)
		}
	}
	return nil
}

// ready reports why this process cannot run the step.
func (s *settings) ready() error {
	switch {
	case s.tx && s.transactor == nil:
		return errors.New("a Tx step needs Options.Transactor, or On")
	case s.tx:
		return s.base.CheckTx()
	}
	return nil
}
