package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/verdict"
)

const (
	undoPrefix = "undo "
	onPrefix   = "on "
)

// flowScope is the scope of a flow's record: semel:flow:NAME:SCOPE.
func flowScope(name, scope string) string { return verdict.FlowScopes + name + ":" + scope }

// stepScope is the scope of the records of a flow's steps. It is made from the key
// and no secret, so that it stays when a secret is replaced.
func stepScope(flow semel.Key) string { return verdict.StepScopes + flow.Digest().String() }

// originKey names the origin of a flow with that input: the key of one that was
// released may come again with another.
func originKey(flow semel.Key, fp semel.Fingerprint) semel.Key {
	return semel.Key{Scope: stepScope(flow), Name: verdict.OriginName + fp.String()}
}

// flowOf returns the name of the flow whose record it is, if it is one.
func flowOf(scope string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(scope, verdict.FlowScopes)
	if !ok {
		return "", false
	}
	name, _, ok = strings.Cut(rest, ":")
	return name, ok
}

// origin holds what is remembered of a flow besides its steps. It is recorded in the
// first attempt where there is a background, and before the second otherwise; package operator
// records Begun before a verdict takes the first one over.
type origin struct {
	Begun time.Time       `json:"begun"`           // the store's clock in the first attempt; zero for the time of this record
	Input json.RawMessage `json:"input,omitempty"` // only with a background
	// MaxAge was in force when the flow began: its first steps are remembered for twice of it.
	MaxAge time.Duration `json:"max_age"`
}

// remember records the origin, unless it was recorded before.
func (f *Flows) remember(ctx context.Context, key semel.Key, o origin) error {
	o.MaxAge = f.maxAge
	_, err := semel.Do(ctx, f.origins, key, semel.Fingerprint{}, func(context.Context) (origin, error) { return o, nil })
	return err
}

// original returns the origin that was recorded; semel.ErrNotFound for none.
func (f *Flows) original(ctx context.Context, key semel.Key) (origin, error) {
	rec, err := f.origins.Lookup(ctx, key)
	if err != nil {
		return origin{}, err
	}
	if rec.State != semel.StateCompleted { // its process died
		return origin{}, semel.ErrNotFound
	}
	o, err := semel.Do(ctx, f.origins, key, semel.Fingerprint{}, func(context.Context) (origin, error) {
		return origin{}, semel.MarkReleased(semel.ErrNotFound) // it has expired meanwhile
	})
	if o.Begun.IsZero() {
		o.Begun = rec.ClaimedAt
	}
	return o, err
}

// recall finds out when the flow began, from the record of an attempt before. Every
// attempt but the first is preceded by it.
func (a *attempt) recall(ctx context.Context, before *semel.Record) error {
	o, err := a.flows.original(ctx, a.origin)
	if errors.Is(err, semel.ErrNotFound) && before.Attempt == 1 {
		o = origin{Begun: before.ClaimedAt}
		if a.flows.background {
			o.Input = a.input
		}
		err = a.flows.remember(ctx, a.origin, o)
	}
	if errors.Is(err, semel.ErrNotFound) {
		return fmt.Errorf("%w: it is not known when the flow began, so its steps may be forgotten: look them up, and resolve the flow's record", semel.ErrUnknown)
	}
	if err != nil {
		return fmt.Errorf("flow: when it began: %w", err)
	}
	a.begun, a.unkept, a.maxAge = o.Begun, o.Input == nil, cmp.Or(o.MaxAge, a.flows.maxAge)
	return a.see(before)
}

// see reports a flow whose steps may be forgotten.
func (a *attempt) see(before *semel.Record) error {
	a.age = before.ReadAt.Sub(a.begun)
	most := 2 * min(a.maxAge, a.flows.maxAge)
	if a.age <= most {
		return nil
	}
	return fmt.Errorf("%w: the flow began %v ago, and its steps are remembered for %v: look them up, and resolve the flow's record",
		semel.ErrUnknown, a.age.Round(time.Second), most)
}
