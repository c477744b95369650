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
	wantOutput([]string{"completed  insert order\n", step + "  unknown  charge\n", "the service is down"}, whole...)
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

// TestRecordsThatFailed: what failed for good is failed in lists and alone, with its words, and never completed.
func TestRecordsThatFailed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "semel.db")
	failIn(t, file, nil)
	failIn(t, file, []semel.OutcomeKey{{ID: "lost", Key: [32]byte{1}}})
	for _, tt := range []struct {
		args []string
		want []string // ! for what must not be there
	}{
		{[]string{"list"}, []string{"failed", "unreadable", "the card is declined", "encrypted with key lost", `\u001b[2J`, "!\x1b"}},
		{[]string{"list", "--state", "failed", "--json"}, []string{`"state":"failed"`, `"failure":{"error":"the card is declined \u001b[2J`, `"step":"charge"`, `"undone":["insert order"]`, "!unreadable"}},
		{[]string{"list", "--state", "completed"}, []string{"!failed", "!unreadable", "completed"}},
		{[]string{"list", "--state", "unreadable", "--json"}, []string{`"state":"unreadable"`, `"encrypted_with":"lost"`, "!failure"}},
		{[]string{"show", "--scope", "semel:flow:buy:ada", "--name", "order-1"}, []string{
			"state        failed\n", "error        the card is declined", "failed step  charge\n", "undone       insert order\n", "  failed  charge\n", "completed  insert order, undone\n", "!answer",
		}},
		{[]string{"show", "--scope", "shop", "--name", "declined-lost"}, []string{"state        unreadable\n", "answer       encrypted with key lost\n"}},
	} {
		code, out, problem := semelCommand(t, append([]string{"records"}, append(tt.args, "--store=sqlite:"+file)...)...)
		out += problem
		for _, w := range tt.want {
			unwanted, not := strings.CutPrefix(w, "!")
			if code != 0 || strings.Contains(out, unwanted) == not {
				t.Errorf("%q: exit %d, want %q in\n%s", tt.args, code, w, out)
			}
		}
	}
}

// failIn leaves a flow and an intent that failed for good, or, under keys, the intent alone.
func failIn(t *testing.T, file string, keys []semel.OutcomeKey) {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), file, nil)
	noError(t, err)
	defer store.Close()
	guard, err := semel.New(store, &semel.Options{OutcomeKeys: keys})
	noError(t, err)
	defer guard.Close()
	fail := func(context.Context, string) (string, error) {
		return "", semel.MarkFinal(errors.New("the card is declined \x1b[2J" + strings.Repeat("no ", 4000)))
	}
	key := semel.Key{Scope: "shop", Name: "declined"}
	if len(keys) > 0 {
		key.Name += "-lost"
	}
	if _, err := semel.Do(t.Context(), guard, key, semel.Fingerprint{}, func(ctx context.Context) (string, error) { return fail(ctx, "") }); err == nil {
		t.Fatal("it succeeded")
	}
	if len(keys) > 0 {
		return
	}
	def := flow.Define("buy", func(r *flow.Run, item string) (string, error) {
		if _, err := flow.Call(r, "insert order", item, func(context.Context, string) (string, error) { return "order 1", nil },
			flow.Undo(func(context.Context, string) error { return nil })); err != nil {
			return "", err
		}
		return flow.Call(r, "charge", item, fail)
	})
	flows, err := flow.New(guard, nil, def)
	noError(t, err)
	if _, err := flow.Start(t.Context(), flows, def, semel.Key{Scope: "ada", Name: "order-1"}, "tea"); err == nil {
		t.Fatal("the flow succeeded")
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
