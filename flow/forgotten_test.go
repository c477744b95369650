package flow_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
)

// The flow's record expires before those of its steps. The same key then gets half an operation, and an Undo that is "done" already.
func TestFlowForgottenBeforeItsSteps(t *testing.T) {
	t.Parallel()
	g, _, clock := inMemory(t, semel.Options{}, nil) // all defaults
	orders, undone := 0, 0
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if _, err := flow.Call(r, "order", 1, func(context.Context, int) (int, error) { orders++; return orders, nil },
			flow.Undo(func(context.Context, int) error { undone++; return nil })); err != nil {
			return "", err
		}
		if orders == 1 {
			clock.Advance(time.Minute)
		}
		_, err := flow.Call(r, "charge", 1, func(context.Context, int) (int, error) { return 0, semel.MarkFinal(errors.New("declined")) })
		return "", err
	})
	f := newFlows(t, g, nil, def)
	_, err := flow.Start(t.Context(), f, def, adasKey, 1)
	t.Log(err, orders, undone)
	clock.Advance(144*time.Hour - 30*time.Second) // the order's step is forgotten, the others are not
	_, err = flow.Start(t.Context(), f, def, adasKey, 1)
	t.Log(err, orders, undone)
	if orders != undone {
		t.Errorf("%d orders, %d undone, and the answer is %v", orders, undone, err)
	}
}

// Likewise forward: an order without a charge.
func TestFlowForgottenBeforeItsStepsForward(t *testing.T) {
	t.Parallel()
	const kept = 144*time.Hour + 15*time.Minute + 30*time.Second // twice the age, the longest run and a lease
	for _, later := range []time.Duration{kept - 90*time.Second, kept - 30*time.Second, kept - time.Second, kept, kept + 30*time.Second, kept + 2*time.Minute} {
		g, _, clock := inMemory(t, semel.Options{}, nil)
		orders, charges := 0, 0
		def := flow.Define("ship", func(r *flow.Run, _ int) (string, error) {
			if _, err := flow.Call(r, "order", 1, func(context.Context, int) (int, error) { orders++; return 7, nil }); err != nil {
				return "", err
			}
			if orders == 1 {
				clock.Advance(time.Minute)
			}
			_, err := flow.Call(r, "charge", 1, func(context.Context, int) (int, error) { charges++; return 0, nil })
			return "", err
		})
		f := newFlows(t, g, nil, def)
		for range 2 {
			if _, err := flow.Start(t.Context(), f, def, adasKey, 1); err != nil || orders != charges {
				t.Errorf("%v later: %d orders, %d charges, %v", later, orders, charges, err)
			}
			clock.Advance(later)
		}
	}
}

// The age is checked at the takeover, the steps are looked up later.
func TestStepExpiresAfterTheTakeover(t *testing.T) {
	t.Parallel()
	g, _, clock := inMemory(t, semel.Options{}, nil)
	orders, undone := 0, 0
	slow := false
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if slow {
			clock.Advance(2 * time.Second)
		}
		if _, err := flow.Call(r, "order", 1, func(context.Context, int) (int, error) { orders++; return orders, nil },
			flow.Undo(func(context.Context, int) error { undone++; return nil })); err != nil {
			return "", err
		}
		_, err := flow.Call(r, "charge", 1, func(context.Context, int) (int, error) { return 0, semel.MarkReleased(errDown) })
		return "", err
	})
	f := newFlows(t, g, nil, def)
	_, err := flow.Start(t.Context(), f, def, adasKey, 1)
	t.Log(err)
	clock.Advance(144*time.Hour - time.Second)
	slow = true
	_, err = flow.Start(t.Context(), f, def, adasKey, 1)
	if _, ok := errors.AsType[*flow.Failed](err); ok && orders != undone {
		t.Errorf("%d orders, %d undone, and the answer is %v", orders, undone, err)
	}
}

// A call of a callee that dedupes is made again, however often it was tried and however old the flow is, as
// long as the step before it, or the seal before an Undo, is younger than the callee remembers (promise 3).
func TestDedupesInAnOldFlow(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"forward": false, "an Undo": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, _, clock := inMemory(t, semel.Options{}, nil)
			tries, fails := 0, errDown
			try := func(ctx context.Context, _ int) (int, error) { tries++; return 1, fails }
			dedupes, began := flow.CalleeDedupes(20*time.Hour), false
			def := flow.Define("buy", func(r *flow.Run, _ int) (int, error) {
				if _, err := flow.Call(r, "charge", 1, func(context.Context, int) (int, error) {
					if !late && !began {
						return 0, semel.MarkReleased(errDown)
					}
					return 1, nil
				}, dedupes, flow.Undo(func(ctx context.Context, n int) error { _, err := try(ctx, n); return err }, dedupes)); err != nil {
					return 0, err
				}
				if !began {
					return 0, errDown
				}
				return flow.Call(r, "ship", 1, try, dedupes)
			})
			f := newFlows(t, g, nil, def)
			start := func() error { _, err := flow.Start(t.Context(), f, def, adasKey, 1); return err }
			if err := start(); !isUnfinished(err) {
				t.Fatalf("got %v, want it unfinished", err)
			}
			clock.Advance(map[bool]time.Duration{false: 30 * time.Hour, true: 73 * time.Hour}[late])
			began = true
			for want := 1; want <= 3; want++ {
				if err := start(); !isUnfinished(err) || tries != want {
					t.Fatalf("got %v after %d tries, want it unfinished after %d", err, tries, want)
				}
				clock.Advance(time.Hour)
			}
			clock.Advance(18 * time.Hour)
			if err := start(); !isOpen(err) || isUnfinished(err) || tries != 3 {
				t.Errorf("21 hours later: got %v after %d tries, want it parked after 3", err, tries)
			}
		})
	}
}
