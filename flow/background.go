package flow

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/operator"
)

// lookupTimeout bounds the look for the input of a flow.
const lookupTimeout = 10 * time.Second

// unattended makes the background's settings: it sees only flows that this process
// has a definition of, and whose input was kept.
func (f *Flows) unattended(o operator.Unattended, flows semel.Policy) operator.Unattended {
	o.MaxAttempts = cmp.Or(o.MaxAttempts, math.MaxInt) // callers' retries count as well
	flows.Reconcile = f.resume
	flows.ReconcileTimeout = flows.MaxRun
	o.Policy = func(rec *semel.Record) (semel.Policy, bool) {
		if name, ok := flowOf(rec.Scope); !ok || f.defs[name] == nil {
			return flows, false
		}
		ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
		defer cancel()
		o, err := f.original(ctx, originOf(rec))
		return flows, err == nil && o.Input != nil // otherwise a retry by its caller goes on
	}
	return o
}

func originOf(flow *semel.Record) semel.Key {
	return originKey(semel.Key{Scope: flow.Scope, Name: flow.Name}, flow.Fingerprint)
}

// resume goes on with a flow without its caller: under the claim of the
// background, with the input that was kept.
func (f *Flows) resume(ctx context.Context, before semel.Record) (semel.Reconciliation, error) {
	name, _ := flowOf(before.Scope)
	a := &attempt{flows: f, origin: originOf(&before)}
	o, err := f.original(ctx, a.origin)
	if err != nil {
		return semel.Reconciliation{}, err
	}
	a.begun, a.maxAge = o.Begun, cmp.Or(o.MaxAge, f.maxAge)
	if err := a.see(&before); err != nil {
		return semel.Reconciliation{}, err
	}
	r := f.newRun(semel.ClaimFrom(ctx), name, a.origin.Scope, o.Input)
	r.ctx, r.begun, r.late = ctx, a.begun, a.age > f.maxAge
	left := min(r.policy.Retention, before.RetentionLeft()) // the background does not prolong that of the flow
	r.policy.Retention, r.policy.UnknownRetention = left, left
	outcome, err := f.defs[name].execute(r, o.Input)
	if err != nil {
		return semel.Reconciliation{Note: dialect.Discreet(err).Error()}, nil // it is still unknown, and the note says why
	}
	return semel.Reconciliation{Verdict: semel.Happened, Outcome: outcome, Kept: true}, nil
}
