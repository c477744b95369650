package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/envelope"
	"github.com/semel-dev/semel/operator"
)

// words returns the state of the steps of Ada's flow, with their names.
func words(t *testing.T, g *semel.Guard) (flowState semel.State, steps []string) {
	t.Helper()
	rec, err := g.Lookup(t.Context(), flowKey)
	if err != nil {
		t.Fatal(err)
	}
	all, err := flow.Steps(t.Context(), g, &rec)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		s := &all[i]
		steps = append(steps, fmt.Sprintf("%d %s %v", s.Number, s.Name, operator.State(&s.Record)))
	}
	return operator.State(&rec), steps
}

// A flow that failed and was undone is failed, not completed: with its error, the step at which it failed, and what was undone. The
// step that failed has its name, which its own record lacks.
func TestFailedFlow(t *testing.T) {
	t.Parallel()
	guard, _, _ := inMemory(t, semel.Options{}, nil)
	def := flow.Define("buy", func(r *flow.Run, item string) (string, error) {
		order, err := flow.Call(r, "insert order", item, func(context.Context, string) (string, error) { return "order 1", nil },
			flow.Undo(func(context.Context, string) error { return nil }))
		if err != nil {
			return "", err
		}
		if _, err := flow.Call(r, "charge", order, func(context.Context, string) (string, error) {
			return "", semel.MarkFinal(errors.New("the card is declined"))
		}); err != nil {
			return "", fmt.Errorf("no money: %w", err)
		}
		return order, nil
	})
	flows := newFlows(t, guard, nil, def)
	for range 2 { // the replay says the same
		_, err := flow.Start(t.Context(), flows, def, adasKey, "tea")
		failed, ok := errors.AsType[*flow.Failed](err)
		if !ok || failed.Step != "charge" || !strings.Contains(failed.Reason, "the card is declined") || !slices.Equal(failed.Undone, []string{"insert order"}) {
			t.Fatalf("got %+v, %v", failed, err)
		}
	}
	state, steps := words(t, guard)
	want := []string{"1 insert order completed", "2 charge failed", "1 undo insert order completed"}
	if state != semel.StateFailed || !slices.Equal(steps, want) {
		t.Errorf("got %v %q, want failed %q", state, steps, want)
	}
	rec, err := guard.Lookup(t.Context(), flowKey)
	if f, ok := envelope.FailureOf(rec.Outcome, 100); err != nil || !ok || f.Step != "charge" || !strings.Contains(f.Message, "declined") || len(f.Undone) != 1 {
		t.Errorf("got %+v, %v, %v", f, ok, err)
	}
}

// An error of the flow's function belongs to none of its steps; a step that failed while the flow went on is failed, and the flow is not.
func TestFailureOfTheFunction(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		guard, _, _ := inMemory(t, semel.Options{}, nil)
		def := flow.Define("buy", func(r *flow.Run, item string) (string, error) {
			_, err := flow.Call(r, "charge", item, func(context.Context, string) (string, error) {
				return "", semel.MarkFinal(errors.New("the card is declined"))
			})
			if own {
				return "", semel.MarkFinal(errors.New("sold out"))
			}
			return "paid on delivery: " + err.Error(), nil
		})
		flows := newFlows(t, guard, nil, def)
		_, err := flow.Start(t.Context(), flows, def, adasKey, "tea")
		failed, _ := errors.AsType[*flow.Failed](err)
		if own && (failed == nil || failed.Step != "") || !own && err != nil {
			t.Errorf("own %v: got %+v, %v", own, failed, err)
		}
		wantState, wantStep := semel.StateFailed, "1  failed"
		if !own {
			wantState = semel.StateCompleted
		}
		if state, steps := words(t, guard); state != wantState || !slices.Equal(steps, []string{wantStep}) {
			t.Errorf("own %v: got %v %q", own, state, steps)
		}
	}
}

// The step at which an open flow waits has its name, from the flow's note.
func TestParkedStepHasItsName(t *testing.T) {
	t.Parallel()
	guard, _, _ := inMemory(t, semel.Options{}, nil)
	const step = `charge "the" card`
	def := flow.Define("buy", func(r *flow.Run, item string) (string, error) {
		if _, err := flow.Call(r, "insert", item, func(context.Context, string) (string, error) { return "ok", nil }); err != nil {
			return "", err
		}
		return flow.Call(r, step, item, func(context.Context, string) (string, error) { return "", errors.New("it hung up") })
	})
	flows := newFlows(t, guard, nil, def)
	if _, err := flow.Start(t.Context(), flows, def, adasKey, "tea"); err == nil {
		t.Fatal("the flow ended")
	}
	if state, steps := words(t, guard); state != semel.StateUnknown || !slices.Equal(steps, []string{"1 insert completed", "2 " + step + " unknown"}) {
		t.Errorf("got %v %q", state, steps)
	}
}

// A flow of as many steps as there can be, all of them undone, is failed with all its words.
func TestLongFailedFlow(t *testing.T) {
	t.Parallel()
	guard, _, _ := inMemory(t, semel.Options{}, nil)
	const most = 256
	def := flow.Define("buy", func(r *flow.Run, item string) (string, error) {
		for i := range most + 44 {
			name := fmt.Sprintf("%03d %s", i+1, strings.Repeat("x", 60))
			if _, err := flow.Call(r, name, item, func(context.Context, string) (string, error) { return "ok", nil },
				flow.Undo(func(context.Context, string) error { return nil })); err != nil {
				return "", err
			}
		}
		return "", nil
	})
	flows := newFlows(t, guard, nil, def)
	if _, err := flow.Start(t.Context(), flows, def, adasKey, "tea"); err == nil {
		t.Fatal("the flow ended")
	}
	rec, err := guard.Lookup(t.Context(), flowKey)
	if f, ok := envelope.FailureOf(rec.Outcome, 1024); err != nil || !ok || len(f.Undone) != most || !strings.Contains(f.Message, "one more than") {
		t.Errorf("got %d undone, %.90q, %v, %v", len(f.Undone), f.Message, ok, err)
	}
	if state, steps := words(t, guard); state != semel.StateFailed || len(steps) != 2*most {
		t.Errorf("got %v, %d steps", state, len(steps))
	}
}
