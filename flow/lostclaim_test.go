package flow_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/operator"
)

// lostClaim loses the reply to the first claim of Ada's flow until its lease has lapsed.
func lostClaim(t *testing.T) (*semel.Guard, *claimtest.Clock) {
	t.Helper()
	var clock *claimtest.Clock
	lost := false
	h := &hookStore{claim: func(p semel.ClaimParams, do func() (semel.Record, bool, error)) (semel.Record, bool, error) {
		rec, won, err := do()
		if p.Digest == flowKey.Digest() && !lost {
			lost = true
			clock.Advance(31 * time.Second)
			return semel.Record{}, false, errDown
		}
		return rec, won, err
	}}
	g, _, c := inMemory(t, semel.Options{}, h.list)
	clock = c
	return g, clock
}

// ship is a flow of one step that fails for now as long as down says so.
func ship(down *atomic.Bool) *flow.Definition[int, string] {
	down.Store(true)
	return flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		return flow.Call(r, "ship", 1, func(context.Context, int) (string, error) {
			if down.Load() {
				return "", semel.MarkReleased(errDown)
			}
			return "shipped", nil
		})
	})
}

// A flow whose first claim was lost before anything ran goes on.
func TestNeverRan(t *testing.T) {
	t.Parallel()
	g, clock := lostClaim(t)
	var down atomic.Bool
	def := ship(&down)
	f := newFlows(t, g, nil, def)
	if _, err := flow.Start(t.Context(), f, def, adasKey, 1); !isUnfinished(err) {
		t.Fatalf("got %v, want it unfinished", err)
	}
	down.Store(false)
	clock.Advance(time.Minute)
	if _, err := flow.Start(t.Context(), f, def, adasKey, 1); err != nil {
		t.Errorf("nothing is unknown, and the flow never ends: %v", err)
	}
}

// Likewise under Accept, which has said that it is recorded.
func TestNeverRanAccept(t *testing.T) {
	t.Parallel()
	g, clock := lostClaim(t)
	var down atomic.Bool
	def := ship(&down)
	f := newFlows(t, g, &flow.Options{Background: &operator.Unattended{Every: 5 * time.Millisecond}}, def)
	if err := flow.Accept(t.Context(), f, def, adasKey, 1); err != nil {
		t.Fatal(err)
	}
	becomes(t, g, clock, semel.StateUnknown)
	down.Store(false)
	becomes(t, g, clock, semel.StateCompleted)
}
