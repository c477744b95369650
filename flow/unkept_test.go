package flow_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
)

type ring struct{ Next *ring }

type silent struct{}

func (silent) MarshalJSON() ([]byte, error) { return nil, errDown }

// eachUnkeepable tests each kind of result that JSON has no form for.
func eachUnkeepable(t *testing.T, test func(t *testing.T, result any)) {
	t.Helper()
	circle := &ring{}
	circle.Next = circle
	for name, result := range map[string]any{
		"infinite":         math.Inf(1), // total / 0
		"a channel":        make(chan int),
		"a circle":         circle,
		"an error of JSON": silent{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, result)
		})
	}
}

// A call that happened is never taken for one that failed, whatever becomes of its result: the flow is parked, nothing is
// undone, and nothing is called again (promise 3).
func TestCallWithoutAKeepableResultParks(t *testing.T) {
	t.Parallel()
	eachUnkeepable(t, func(t *testing.T, result any) {
		t.Helper()
		charged := 0
		wantParkedUndone(t, func(r *flow.Run) error {
			_, err := flow.Call(r, "charge", 1, func(context.Context, int) (any, error) { charged++; return result, nil },
				flow.CalleeDedupes(time.Hour))
			return err
		})
		if charged != 1 {
			t.Errorf("charged %d times", charged)
		}
	})
}

// What Ask found has happened, even if its result cannot be kept.
func TestAskWithoutAKeepableResultParks(t *testing.T) {
	t.Parallel()
	eachUnkeepable(t, func(t *testing.T, result any) {
		t.Helper()
		charged, asked := 0, 0
		wantParkedUndone(t, func(r *flow.Run) error {
			_, err := flow.Call(r, "charge", 1, func(context.Context, int) (any, error) { charged++; return nil, errDown },
				flow.Ask(func(context.Context) (any, semel.Verdict, error) { asked++; return result, semel.Happened, nil }))
			return err
		})
		if charged != 1 || asked != 1 {
			t.Errorf("charged %d times, asked %d times", charged, asked)
		}
	})
}

// An Undo that was asked about has happened as well.
func TestUndoWithoutAKeepableResultParks(t *testing.T) {
	t.Parallel()
	refunds := 0
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if _, err := flow.Call(r, "charge", 1, func(context.Context, int) (int, error) { return 1, nil },
			flow.Undo(func(context.Context, int) error { refunds++; return errDown },
				flow.Ask(func(context.Context) (float64, semel.Verdict, error) { return math.NaN(), semel.Happened, nil }))); err != nil {
			return "", err
		}
		return "", semel.MarkFinal(errDown)
	})
	f := newFlows(t, remembering(t, semel.Policy{}), nil, def)
	if _, err := flow.Start(t.Context(), f, def, adasKey, 1); !isUnfinished(err) {
		t.Fatal(err)
	}
	for range 2 {
		wantNotKept(t, func() error { _, err := flow.Start(t.Context(), f, def, adasKey, 1); return err }())
	}
	if refunds != 1 {
		t.Errorf("refunded %d times", refunds)
	}
}

// A flow whose result cannot be kept has done its steps: it is parked, and the next release returns another result.
func TestFlowWithoutAKeepableResultParks(t *testing.T) {
	t.Parallel()
	eachUnkeepable(t, func(t *testing.T, result any) {
		t.Helper()
		wantParkedUndone(t, func(*flow.Run) error { return nil }, result)
	})
}

// wantParkedUndone runs a flow of a step that can be undone, and then of step: all attempts find it parked, and nothing is
// undone. The flow returns results[0]; once step is well, the next attempt goes on from there.
func wantParkedUndone(t *testing.T, step func(r *flow.Run) error, results ...any) {
	t.Helper()
	reserved, mended := 0, false
	def := flow.Define("buy", func(r *flow.Run, _ int) (any, error) {
		if _, err := flow.Call(r, "reserve", 1, func(context.Context, int) (int, error) { reserved++; return 1, nil },
			flow.Undo(func(context.Context, int) error { reserved--; return nil })); err != nil {
			return nil, err
		}
		if err := step(r); err != nil || len(results) == 0 || mended {
			return "done", err
		}
		return results[0], nil
	})
	f := newFlows(t, remembering(t, semel.Policy{}), nil, def)
	for range 3 {
		_, err := flow.Start(t.Context(), f, def, adasKey, 1)
		if isUnfinished(err) { // its answer was lost, and the next attempt asks
			_, err = flow.Start(t.Context(), f, def, adasKey, 1)
		}
		wantNotKept(t, err)
	}
	if reserved != 1 {
		t.Errorf("%d are reserved, want 1", reserved)
	}
	mended = true
	if got, err := flow.Start(t.Context(), f, def, adasKey, 1); len(results) > 0 && (got != "done" || err != nil) {
		t.Errorf("got %v, %v from the release that can keep the result", got, err)
	}
}

func wantNotKept(t *testing.T, err error) {
	t.Helper()
	parked, ok := errors.AsType[*flow.Parked](err)
	if !ok || !errors.Is(err, semel.ErrNotKept) || strings.Contains(err.Error(), "nothing") {
		t.Fatalf("got %v, want it parked as not kept", err)
	}
	if parked.Digest == (semel.Digest{}) {
		t.Error("no record is named")
	}
}

// A transaction whose result cannot be kept is rolled back, so the flow fails and is undone.
func TestTxWithoutAKeepableResultFails(t *testing.T) {
	t.Parallel()
	var s *shop
	s = openShop(t, shopOptions{body: func(r *flow.Run, in order) (receipt, error) {
		if _, err := flow.Tx(r, "insert order", in, s.insert("orders", 1), flow.Undo(s.reverse("orders"))); err != nil {
			return receipt{}, err
		}
		_, err := flow.Tx(r, "take stock", in, func(ctx context.Context, in order) (any, error) {
			_, err := s.insert("stock", -1)(ctx, in)
			return math.Inf(1), err
		})
		return receipt{}, err
	}})
	_, err := s.start(t)
	if got := s.books(t); !isFailed(err) || got.stock != 0 {
		t.Errorf("got %v, %+v, want it failed and rolled back", err, got)
	}
}
