package command

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// TestRecordsOfAFlow: an operator sees the steps of a parked flow, and resolves the one
// that is unknown with its result: the flow goes on.
func TestRecordsOfAFlow(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "semel.db")
	buy := func() (string, error) { return buyIn(t, file) }
	_, err := buy()
	parked, ok := errors.AsType[*flow.Parked](err)
	if !ok {
		t.Fatalf("got %v, want a parked flow", err)
	}
	store := "--store=sqlite:" + file
	wantOutput := func(want []string, args ...string) {
		t.Helper()
		code, out, problem := semelCommand(t, append(args, store)...)
		for _, w := range want {
			if code != 0 || !strings.Contains(out, w) {
				t.Errorf("%q: exit %d, want %q in\n%s%s", args, code, w, out, problem)
			}
		}
	}
	whole := []string{"records", "show", "--scope", "semel:flow:buy:ada", "--name", "order-1"}
	step := parked.Digest.String()[:digestShown]
	wantOutput([]string{"completed  insert order\n", step + "  unknown  -\n", "the service is down"}, whole...)
	wantOutput([]string{`"steps":[{"number":1,"step":"insert order","undo":false,"digest"`}, append(whole, "--json")...)
	wantOutput([]string{"completed|released|cancelled --result JSON --reason"}, "records", "show", step)
	rec := lookUp(t, file, parked.Digest)
	fence := strconv.FormatUint(uint64(rec.Fence), 10)
	resolve := []string{"records", "resolve", step, "--fence", fence, "--as", "completed", "--reason", "the service shows it", "--by", "Grace"}
	for _, wrong := range [][]string{{"--result", "ch_17"}, {"--result", `"ch_17"`, "--status", "201"}} {
		if code, _, problem := semelCommand(t, append(append(resolve, wrong...), store)...); code != 2 || !strings.Contains(problem, "--result") {
			t.Errorf("%q: exit %d, %s", wrong, code, problem)
		}
	}
	wantOutput([]string{"is completed: retries get the recorded answer"}, append(resolve, "--result", `"ch_17"`)...)
	if got, err := buy(); err != nil || got != "order 1, ch_17" {
		t.Errorf("got %q, %v, want the order with the operator's charge", got, err)
	}
}

func buyIn(t *testing.T, file string) (string, error) {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), file, nil)
	noError(t, err)
	defer store.Close()
	guard, err := semel.New(store, nil)
	noError(t, err)
	defer guard.Close()
	def := flow.Define("buy", func(r *flow.Run, item string) (string, error) {
		order, err := flow.Call(r, "insert order", item, func(context.Context, string) (string, error) { return "order 1", nil })
		if err != nil {
			return "", err
		}
		charge, err := flow.Call(r, "charge", item, func(context.Context, string) (string, error) { return "", errors.New("the service is down") })
		return order + ", " + charge, err
	})
	flows, err := flow.New(guard, nil, def)
	noError(t, err)
	return flow.Start(t.Context(), flows, def, semel.Key{Scope: "ada", Name: "order-1"}, "tea")
}

func lookUp(t *testing.T, file string, d semel.Digest) semel.Record {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), file, nil)
	noError(t, err)
	defer store.Close()
	rec, err := store.Lookup(t.Context(), d)
	noError(t, err)
	return rec
}
