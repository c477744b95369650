package flow_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
)

// A large number keeps its digits through inputs, results and undoing, in the first attempt as in later ones (promise 2).
func TestUntypedNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	const id = "9007199254740993" // 1<<53 + 1
	type object = map[string]any
	var seen []string
	fails := errDown
	def := flow.Define("order", func(r *flow.Run, in object) (object, error) {
		seen = append(seen, "in "+fmt.Sprint(in["id"]))
		made, err := flow.Call(r, "make", in, func(context.Context, object) (object, error) { return object{"id": int64(1<<53 + 1)}, nil },
			flow.CalleeDedupes(time.Hour), flow.Undo(func(_ context.Context, made object) error {
				seen = append(seen, "undo "+fmt.Sprint(made["id"]))
				return nil
			}))
		if err != nil {
			return nil, err
		}
		return flow.Call(r, "charge", made, func(_ context.Context, made object) (object, error) {
			seen = append(seen, "charge "+fmt.Sprint(made["id"]))
			return made, fails
		}, flow.CalleeDedupes(time.Hour))
	})
	f := newFlows(t, remembering(t, semel.Policy{}), nil, def)
	start := func() (object, error) {
		return flow.Start(t.Context(), f, def, adasKey, object{"id": int64(1<<53 + 1)})
	}
	if _, err := start(); !isUnfinished(err) {
		t.Fatal(err)
	}
	fails = nil
	for range 2 {
		if got, err := start(); err != nil || fmt.Sprint(got["id"]) != id {
			t.Errorf("got %v, %v, want id %s", got, err, id)
		}
	}
	fails = semel.MarkFinal(errDown)
	if _, err := flow.Start(t.Context(), f, def, numbered(1), object{"id": int64(1<<53 + 1)}); !isFailed(err) {
		t.Error(err)
	}
	want := []string{"in " + id, "charge " + id, "in " + id, "charge " + id, "in " + id, "charge " + id, "undo " + id}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("saw  %v\nwant %v", seen, want)
	}
}
