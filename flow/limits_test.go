package flow_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

func call(r *flow.Run, name string, opts ...flow.Option) error {
	_, err := flow.Call(r, name, name, func(context.Context, string) (string, error) { return "", nil }, opts...)
	return err
}

// Mistakes in a flow's function are final, and say what to do.
func TestMistakes(t *testing.T) {
	t.Parallel()
	guard := remembering(t, semel.Policy{})
	for name, c := range map[string]struct {
		body func(r *flow.Run) error
		want string
	}{
		"two of one name": {
			func(r *flow.Run) error { return errors.Join(call(r, "charge"), call(r, "charge")) },
			`two steps are named "charge": use Each, or another name`,
		},
		"too many": {
			func(r *flow.Run) (err error) {
				for i := 0; err == nil && i <= 256; i++ {
					err = call(r, strconv.Itoa(i))
				}
				return err
			},
			"is one more than the 256 that a flow may have",
		},
		"no name":                       {func(r *flow.Run) error { return call(r, "") }, "1 to 64 printable ASCII characters"},
		"a call that dedupes, negative": {func(r *flow.Run) error { return call(r, "a", flow.CalleeDedupes(-1)) }, "is negative"},
		"a call in a database":          {func(r *flow.Run) error { return call(r, "a", flow.On(nil, transactor{})) }, "On is for Tx steps"},
		"a transaction that is asked": {
			func(r *flow.Run) error {
				_, err := flow.Tx(r, "a", 1, func(context.Context, int) (int, error) { return 1, nil },
					flow.On(guard, transactor{}), flow.Ask(func(context.Context) (int, semel.Verdict, error) { return 0, semel.Happened, nil }))
				return err
			},
			"are for Calls: a Tx step is never unknown",
		},
		"undo of another result": {
			func(r *flow.Run) error {
				return call(r, "a", flow.Undo(func(context.Context, int) error { return nil }))
			},
			"returns string, and its Undo or Ask is for int",
		},
		"an input that JSON does not know": {
			func(r *flow.Run) error {
				_, err := flow.Call(r, "a", func() {}, func(context.Context, func()) (int, error) { return 1, nil })
				return err
			},
			`the input of step "a" cannot be kept`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := flow.Define("mistake", func(r *flow.Run, _ int) (int, error) { return 0, c.body(r) })
			flows, err := flow.New(guard, nil, def)
			if err != nil {
				t.Fatal(err)
			}
			_, err = flow.Start(t.Context(), flows, def, semel.Key{Scope: "ada", Name: strings.ReplaceAll(name, ",", "")}, 1)
			if _, ok := errors.AsType[*flow.Failed](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a failed flow: %s", err, c.want)
			}
		})
	}
}

type transactor struct{}

func (transactor) Transaction(context.Context) (semel.Tx, error) { return nil, errDown }

func remembering(t *testing.T, p semel.Policy) *semel.Guard {
	t.Helper()
	store := memstore.New(nil)
	guard, err := semel.New(store, &semel.Options{Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = guard.Close(), store.Close() })
	return guard
}

// A step in a step has no number of its own: the flow stays open.
func TestStepInAStep(t *testing.T) {
	t.Parallel()
	def := flow.Define("nested", func(r *flow.Run, _ int) (int, error) {
		return flow.Call(r, "a", 1, func(context.Context, int) (int, error) { return 1, call(r, "b") })
	})
	flows, err := flow.New(remembering(t, semel.Policy{}), nil, def)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flow.Start(t.Context(), flows, def, adasKey, 1); !isUnfinished(err) || !strings.Contains(err.Error(), "steps run one at a time") {
		t.Errorf("got %v, want it unfinished", err)
	}
}

// What New and Start refuse.
func TestRefused(t *testing.T) {
	t.Parallel()
	def := flow.Define("create order", func(*flow.Run, int) (int, error) { return 1, nil })
	guard := remembering(t, semel.Policy{})
	for name, c := range map[string]struct {
		guard *semel.Guard
		opts  *flow.Options
		defs  []flow.Defined
		want  string
	}{
		"nothing to run":      {guard, nil, nil, "needs the definitions"},
		"two of one name":     {guard, nil, []flow.Defined{def, def}, `two definitions are named "create order"`},
		"a name with a colon": {guard, nil, []flow.Defined{flow.Define("a:b", func(*flow.Run, int) (int, error) { return 1, nil })}, "without a colon"},
		"a negative age":      {guard, &flow.Options{MaxAge: -1}, []flow.Defined{def}, "MaxAge -1ns is not between 0 and"},
		"dedup":               {remembering(t, semel.Policy{Dedup: true}), nil, []flow.Defined{def}, "a flow has an answer"},
		"a background with a policy": {
			guard, &flow.Options{Background: &operator.Unattended{Policy: func(*semel.Record) (semel.Policy, bool) { return semel.Policy{}, true }}},
			[]flow.Defined{def},
			"its Policy is set by the flows",
		},
	} {
		if _, err := flow.New(c.guard, c.opts, c.defs...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	flows, err := flow.New(guard, nil, def)
	if err != nil {
		t.Fatal(err)
	}
	stranger := flow.Define("create order", func(*flow.Run, int) (int, error) { return 1, nil })
	if _, err := flow.Start(t.Context(), flows, stranger, adasKey, 1); err == nil || !strings.Contains(err.Error(), "was not given to New") {
		t.Errorf("got %v, want a definition that New has not seen refused", err)
	}
	if _, err := flow.Start(t.Context(), flows, def, semel.Key{Name: "a"}, 1); !errors.Is(err, semel.ErrScopeMissing) {
		t.Errorf("got %v, want ErrScopeMissing (promise 5)", err)
	}
	if err := flow.Accept(t.Context(), flows, def, adasKey, 1); err == nil || !strings.Contains(err.Error(), "needs Options.Background") {
		t.Errorf("got %v, want Accept refused without a background", err)
	}
}

// A result that the store does not keep cannot be replayed: a transaction is rolled back, a call is parked.
func TestResultTooLarge(t *testing.T) {
	t.Parallel()
	large := func(context.Context, int) (string, error) { return strings.Repeat("x", 1000), nil }
	small := shopOptions{policy: semel.Policy{MaxOutcomeBytes: 500}}
	small.body = func(r *flow.Run, _ order) (receipt, error) {
		_, err := flow.Call(r, "ask", 1, large)
		return receipt{}, err
	}
	_, err := openShop(t, small).start(t)
	if _, ok := errors.AsType[*flow.Parked](err); !ok || !strings.Contains(err.Error(), "1002 bytes, and 500 can be kept") {
		t.Errorf("got %v, want it parked", err)
	}
	small.body = func(r *flow.Run, _ order) (receipt, error) {
		_, err := flow.Tx(r, "write", 1, large)
		return receipt{}, err
	}
	_, err = openShop(t, small).start(t)
	if _, ok := errors.AsType[*flow.Failed](err); !ok || !strings.Contains(err.Error(), "1002 bytes, and 500 can be kept") {
		t.Errorf("got %v, want it failed", err)
	}
}

// Each gives every element a step of its own.
func TestEach(t *testing.T) {
	t.Parallel()
	ran := 0
	fail := errDown
	s := openShop(t, shopOptions{body: func(r *flow.Run, _ order) (receipt, error) {
		got, err := flow.Each(r, "reserve", []string{"tea", "cup", "pot"}, func(name, item string) (string, error) {
			return flow.Call(r, name, item, func(context.Context, string) (string, error) {
				if item == "pot" && fail != nil {
					return "", semel.MarkReleased(fail)
				}
				ran++
				return item, nil
			})
		})
		return receipt{Charge: strings.Join(got, " ")}, err
	}})
	if _, err := s.start(t); !isUnfinished(err) || !strings.Contains(err.Error(), `"reserve[2]"`) {
		t.Fatalf("got %v, want the third unfinished", err)
	}
	fail = nil
	if got, err := s.start(t); err != nil || got.Charge != "tea cup pot" || ran != 3 {
		t.Errorf("got %+v, %v after %d calls, want three items and three calls", got, err, ran)
	}
}

// An error of the function itself, before any step, is not an answer: the next attempt runs.
func TestNothingBegan(t *testing.T) {
	t.Parallel()
	failing := true
	s := openShop(t, shopOptions{body: func(*flow.Run, order) (receipt, error) {
		if failing {
			return receipt{}, errDown
		}
		return receipt{Order: 7}, nil
	}})
	if _, err := s.start(t); !errors.Is(err, errDown) || isUnfinished(err) {
		t.Fatalf("got %v, want the function's own error", err)
	}
	failing = false
	if got, err := s.start(t); err != nil || got.Order != 7 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A flow whose steps may be forgotten does not go on, forward or backward.
func TestForgotten(t *testing.T) {
	t.Parallel()
	s := openShop(t, shopOptions{policy: semel.Policy{Retention: time.Millisecond, UnknownRetention: 1000 * time.Hour}})
	s.points = func() error { return errDown }
	s.startsUnfinished(t)
	s.clock.Advance(2*flow.DefaultMaxAge + time.Second)
	_, err := s.start(t)
	if !errors.Is(err, semel.ErrUnknown) || !strings.Contains(err.Error(), "look them up, and resolve the flow") {
		t.Errorf("got %v, want it unknown, and what to do (promise 3)", err)
	}
	s.want(t, books{orders: 1, stock: -1, charges: 30, rows: 3})
}
