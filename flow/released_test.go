package flow_test

import (
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
)

// A flow that an operator released begins anew, and its steps are still those of the attempt before.
func TestReleasedByAnOperator(t *testing.T) {
	t.Parallel()
	g, _, clock := inMemory(t, semel.Options{}, nil)
	n := map[string]int{}
	down := true
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if err := pair(r, n, func() error { return semel.MarkFinal(errDown) }); err != nil {
			return "", err
		}
		if down {
			return "", errDown
		}
		return "shipped", nil
	})
	f := newFlows(t, g, nil, def)
	_, _ = flow.Start(t.Context(), f, def, adasKey, 1)
	clock.Advance(73 * time.Hour)
	_, err := flow.Start(t.Context(), f, def, adasKey, 1)
	t.Log(err, n)
	n["a"]-- // by hand
	t.Log(settle(t, g, flowKey.Digest(), semel.Settlement{State: semel.StateReleased, Note: "taken back by hand"}))
	down = false
	got, err := flow.Start(t.Context(), f, def, adasKey, 1)
	if err == nil {
		t.Errorf("%q for all, %v", got, n)
	}
}
