package flow_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

// inMemory makes a memstore with a clock of its own, and a guard over wrap of it.
func inMemory(t *testing.T, o semel.Options, wrap func(semel.Store) semel.Store) (*semel.Guard, *memstore.Store, *claimtest.Clock) {
	t.Helper()
	c := &claimtest.Clock{}
	store := memstore.New(&memstore.Options{Now: c.Now})
	var s semel.Store = store
	if wrap != nil {
		s = wrap(store)
	}
	o.SweepEvery = -1
	guard, err := semel.New(s, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close(); _ = store.Close() })
	return guard, store, c
}

func newFlows[In, Out any](t *testing.T, g *semel.Guard, o *flow.Options, d *flow.Definition[In, Out]) *flow.Flows {
	t.Helper()
	f, err := flow.New(g, o, d)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// another makes the guard of a second process.
func another(t *testing.T, store semel.Store, p semel.Policy) *semel.Guard {
	t.Helper()
	guard, err := semel.New(store, &semel.Options{Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close() })
	return guard
}

// flowKey is that of Ada's flow "buy".
var flowKey = semel.Key{Scope: "semel:flow:buy:" + adasKey.Scope, Name: adasKey.Name}

// stepKey is that of a step of it.
func stepKey(number string) semel.Key {
	return semel.Key{Scope: "semel:step:" + flowKey.Digest().String(), Name: number}
}

// becomes lets minutes pass until Ada's flow is in the state.
func becomes(t *testing.T, g *semel.Guard, clock *claimtest.Clock, state semel.State) {
	t.Helper()
	testserver.Eventually(t, "the flow is "+state.String(), func() bool {
		clock.Advance(time.Minute)
		rec, err := g.Lookup(t.Context(), flowKey)
		return err == nil && rec.State == state
	})
}

func settle(t *testing.T, g *semel.Guard, d semel.Digest, to semel.Settlement) error {
	t.Helper()
	records, err := operator.New(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := g.Store().Lookup(t.Context(), d)
	if err != nil {
		return err
	}
	_, err = records.Resolve(t.Context(), operator.Identity{Name: "Grace"}, d, rec.Fence, to)
	return err
}

// lossyStore fails to settle what fails says.
type lossyStore struct {
	semel.Store
	fails func(d semel.Digest, s semel.Settlement) bool
}

func (s *lossyStore) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	if s.fails(d, to) {
		return errDown // the answer is lost, and nothing changed
	}
	return s.Store.Settle(ctx, d, f, to)
}

// A final error that could not be recorded begins the undoing; the next attempt goes forward.
func TestFinalNotRecordedUndoesAndThenGoesForward(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	g, _, clock := inMemory(t, semel.Options{StoreTimeout: 50 * time.Millisecond}, func(s semel.Store) semel.Store {
		return &lossyStore{s, func(_ semel.Digest, to semel.Settlement) bool {
			return down.Load() && to.State == semel.StateCompleted && strings.Contains(string(to.Outcome), "declined")
		}}
	})
	var stock, order int
	declined, undoOrderDown := true, true
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if _, err := flow.Call(r, "order", 1, func(context.Context, int) (int, error) { order++; return 1, nil },
			flow.Undo(func(context.Context, int) error {
				if undoOrderDown {
					return semel.MarkReleased(errDown)
				}
				order--
				return nil
			})); err != nil {
			return "", err
		}
		if _, err := flow.Call(r, "stock", 1, func(context.Context, int) (int, error) { stock++; return 1, nil },
			flow.Undo(func(context.Context, int) error { stock--; return nil })); err != nil {
			return "", err
		}
		if _, err := flow.Call(r, "charge", 1, func(context.Context, int) (int, error) {
			if declined {
				return 0, semel.MarkFinal(errors.New("declined"))
			}
			return 1, nil
		}, flow.CalleeDedupes(time.Hour)); err != nil {
			return "", err
		}
		return "shipped", nil
	})
	f := newFlows(t, g, nil, def)
	down.Store(true)
	_, err := flow.Start(t.Context(), f, def, adasKey, 1)
	t.Logf("first attempt: %v; order %d stock %d", err, order, stock)
	down.Store(false)
	declined, undoOrderDown = false, false // the card has money now
	clock.Advance(time.Minute)             // the lease lapses
	got, err := flow.Start(t.Context(), f, def, adasKey, 1)
	t.Logf("second attempt: %q %v; order %d stock %d", got, err, order, stock)
	if err == nil && (order != 1 || stock != 1) {
		t.Errorf("the flow succeeded with order %d, stock %d: a step was undone and the flow went on forward", order, stock)
	}
}

// A late flow whose function returns an error of its own is never undone.
func TestLateWithFunctionError(t *testing.T) {
	t.Parallel()
	g, _, clock := inMemory(t, semel.Options{}, nil)
	var order atomic.Int32
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if err := placeOrder(r, &order); err != nil {
			return "", err
		}
		return "", errDown
	})
	f := newFlows(t, g, nil, def)
	_, _ = flow.Start(t.Context(), f, def, adasKey, 1)
	for range 3 {
		clock.Advance(30 * time.Hour)
		_, err := flow.Start(t.Context(), f, def, adasKey, 1)
		t.Log(err)
	}
	if order.Load() != 0 {
		t.Errorf("the flow is 90 h old, MaxAge is 72 h, and the order is not undone")
	}
	clock.Advance(60 * time.Hour)
	_, err := flow.Start(t.Context(), f, def, adasKey, 1)
	t.Log("at 150 h:", err)
}

// An error of the work that only looks like one of the guard's.
func TestForeignErrors(t *testing.T) {
	t.Parallel()
	t.Run("an Undo whose own call was cancelled elsewhere counts as done", func(t *testing.T) {
		t.Parallel()
		g, _, _ := inMemory(t, semel.Options{}, nil)
		def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
			if _, err := flow.Call(r, "charge", 1, func(context.Context, int) (int, error) { return 1, nil },
				flow.Undo(func(context.Context, int) error { return errors.Join(errDown, semel.ErrCancelled) })); err != nil {
				return "", err
			}
			return "", semel.MarkFinal(errors.New("no"))
		})
		f := newFlows(t, g, nil, def)
		_, err := flow.Start(t.Context(), f, def, adasKey, 1)
		if x, ok := errors.AsType[*flow.Failed](err); ok {
			t.Errorf("the refund failed, and the answer is %v", x)
		}
	})
	t.Run("a Call that may have happened, with an error wrapping a FinalError", func(t *testing.T) {
		t.Parallel()
		g, _, _ := inMemory(t, semel.Options{}, nil)
		def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
			return flow.Call(r, "charge", 1, func(context.Context, int) (string, error) {
				return "", semel.MarkUnknown(errors.Join(errDown, &semel.FinalError{Message: "of another intent"}))
			})
		})
		f := newFlows(t, g, nil, def)
		_, err := flow.Start(t.Context(), f, def, adasKey, 1)
		rec, _ := g.Lookup(t.Context(), stepKey("1"))
		if x, ok := errors.AsType[*flow.Failed](err); ok {
			t.Errorf("the charge is %v, and the answer is %v, for all", rec.State, x)
		}
	})
	t.Run("a Call that may have happened, with ErrCancelled of another intent", func(t *testing.T) {
		t.Parallel()
		g, _, _ := inMemory(t, semel.Options{}, nil)
		def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
			return flow.Call(r, "charge", 1, func(context.Context, int) (string, error) {
				return "", errors.Join(errDown, semel.ErrCancelled)
			})
		})
		f := newFlows(t, g, nil, def)
		_, err := flow.Start(t.Context(), f, def, adasKey, 1)
		rec, _ := g.Lookup(t.Context(), stepKey("1"))
		if x, ok := errors.AsType[*flow.Failed](err); ok {
			t.Errorf("the charge is %v, and the answer is %v, for all", rec.State, x)
		}
	})
}

// A result just below the bound is not kept, although the step is done.
func TestResultAtTheBound(t *testing.T) {
	t.Parallel()
	small := shopOptions{policy: semel.Policy{MaxOutcomeBytes: 500}}
	first := true
	small.body = func(r *flow.Run, _ order) (receipt, error) {
		_, err := flow.Tx(r, "write", 1, func(context.Context, int) (string, error) { return strings.Repeat("x", 490), nil })
		if err == nil && first {
			first = false
			return receipt{}, errDown
		}
		return receipt{}, err
	}
	s := openShop(t, small)
	_, err := s.start(t)
	t.Log(err)
	if _, err = s.start(t); err != nil {
		t.Errorf("a result of 492 bytes, and 500 can be kept: %v", err)
	}
}

// KeyFrom of an Undo is that of a step with its name.
func TestUndoKeyCollides(t *testing.T) {
	t.Parallel()
	g, _, _ := inMemory(t, semel.Options{}, nil)
	keys := map[string]string{}
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if _, err := flow.Call(r, "charge", 1, func(context.Context, int) (int, error) { return 1, nil },
			flow.Undo(func(ctx context.Context, _ int) error { keys["undo"] = flow.KeyFrom(ctx); return nil })); err != nil {
			return "", err
		}
		if _, err := flow.Call(r, "undo charge", 1, func(ctx context.Context, _ int) (int, error) { keys["step"] = flow.KeyFrom(ctx); return 1, nil }); err != nil {
			return "", err
		}
		return "", semel.MarkFinal(errors.New("no"))
	})
	f := newFlows(t, g, nil, def)
	_, _ = flow.Start(t.Context(), f, def, adasKey, 1)
	if keys["undo"] == keys["step"] {
		t.Errorf("the Undo of charge and the step \"undo charge\" send one key %.8s: a callee that dedupes skips the Undo", keys["undo"])
	}
}

// Hidden keys and a background.
func TestHiddenKeysWithBackground(t *testing.T) {
	t.Parallel()
	g, _, _ := inMemory(t, semel.Options{HideKeys: true}, nil)
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) { return "", nil })
	if _, err := flow.New(g, &flow.Options{Background: &operator.Unattended{}}, def); err == nil {
		t.Error("New accepts a background over a guard that hides keys, and Accept will promise what no background does")
	}
}

// A caller's retries use up the background's attempts.
func TestRetriesUseUpTheBackground(t *testing.T) {
	t.Parallel()
	g, _, clock := inMemory(t, semel.Options{}, nil)
	var down atomic.Bool
	down.Store(true)
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		return flow.Call(r, "ship", 1, func(context.Context, int) (string, error) {
			if down.Load() {
				return "", semel.MarkReleased(errDown)
			}
			return "shipped", nil
		})
	})
	f := newFlows(t, g, nil, def) // the callers' process
	f2 := newFlows(t, g, &flow.Options{Background: &operator.Unattended{Every: time.Hour}}, def)
	_, _ = flow.Start(t.Context(), f2, def, adasKey, 1)
	for range 1001 {
		clock.Advance(time.Second)
		_, _ = flow.Start(t.Context(), f, def, adasKey, 1)
	}
	down.Store(false)
	_ = newFlows(t, g, &flow.Options{Background: &operator.Unattended{Every: 5 * time.Millisecond}}, def)
	clock.Advance(time.Hour) // the longest pause
	becomes(t, g, clock, semel.StateCompleted)
}

// A second Accept of a running flow returns before it has run.
func TestAcceptDoesNotWait(t *testing.T) {
	t.Parallel()
	g, _, _ := inMemory(t, semel.Options{Policy: semel.Policy{Wait: time.Hour}}, nil)
	end := make(chan struct{})
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) { <-end; return "", nil })
	f := newFlows(t, g, &flow.Options{Background: &operator.Unattended{}}, def)
	defer close(end)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 2 {
		if err := flow.Accept(ctx, f, def, adasKey, 1); err != nil {
			t.Error(err)
		}
	}
	if ctx.Err() != nil {
		t.Error("the second one waited")
	}
}

// An answer that JSON does not know.
func TestAnswerNotKept(t *testing.T) {
	t.Parallel()
	g, _, clock := inMemory(t, semel.Options{}, nil)
	var order atomic.Int32
	def := flow.Define("buy", func(r *flow.Run, _ int) (float64, error) {
		return math.NaN(), placeOrder(r, &order)
	})
	f := newFlows(t, g, nil, def)
	for range 2 { // the second one is late
		_, err := flow.Start(t.Context(), f, def, adasKey, 1)
		if _, ok := errors.AsType[*flow.Parked](err); !ok || order.Load() != 1 {
			t.Errorf("got %v, %d orders, want it parked and nothing undone", err, order.Load())
		}
		clock.Advance(73 * time.Hour)
	}
}

// While a secret is replaced, Parked names no record.
func TestParkedDigestWhileRotating(t *testing.T) {
	t.Parallel()
	old, fresh := []byte("0123456789abcdef-old"), []byte("0123456789abcdef-new")
	store := memstore.New(nil)
	g1, err := semel.New(store, &semel.Options{Secrets: [][]byte{old}})
	if err != nil {
		t.Fatal(err)
	}
	g2, err := semel.New(store, &semel.Options{Secrets: [][]byte{fresh, old}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g1.Close(); _ = g2.Close(); _ = store.Close() })
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		return flow.Call(r, "charge", 1, func(context.Context, int) (string, error) { return "", errDown })
	})
	_, _ = flow.Start(t.Context(), newFlows(t, g1, nil, def), def, adasKey, 1)
	_, err = flow.Start(t.Context(), newFlows(t, g2, nil, def), def, adasKey, 1)
	p, ok := errors.AsType[*flow.Parked](err)
	if !ok {
		t.Fatal(err)
	}
	if _, err := store.Lookup(t.Context(), p.Digest); err != nil {
		t.Errorf("the record that Parked names: %v", err)
	}
}

// New over a guard with two secrets.
func TestNewWithTwoSecrets(t *testing.T) {
	t.Parallel()
	g, _, _ := inMemory(t, semel.Options{Secrets: [][]byte{[]byte("0123456789abcdef-old"), []byte("0123456789abcdef-new")}}, nil)
	def := flow.Define("buy", func(r *flow.Run, _ int) (int, error) {
		return flow.Tx(r, "a", 1, func(context.Context, int) (int, error) { return 1, nil })
	})
	f, err := flow.New(g, &flow.Options{Transactor: transactor{}}, def)
	if err != nil {
		return
	}
	_, err = flow.Start(t.Context(), f, def, adasKey, 1)
	t.Errorf("New accepts it, and every flow says: %v", err)
}

// A nil pointer as input, with a background.
func TestNilInput(t *testing.T) {
	t.Parallel()
	g, _, clock := inMemory(t, semel.Options{}, nil)
	var down atomic.Bool
	down.Store(true)
	def := flow.Define("buy", func(r *flow.Run, in *int) (*int, error) {
		return flow.Call(r, "x", in, func(context.Context, *int) (*int, error) {
			if down.Load() {
				return nil, semel.MarkReleased(errDown)
			}
			return nil, nil
		}, flow.Undo(func(context.Context, *int) error { return nil }))
	})
	f := newFlows(t, g, &flow.Options{Background: &operator.Unattended{Every: 5 * time.Millisecond}}, def)
	_, err := flow.Start(t.Context(), f, def, adasKey, nil)
	t.Log(err)
	down.Store(false)
	becomes(t, g, clock, semel.StateCompleted)
}

// Once undoing has begun, not even a changed function goes forward.
func TestSealed(t *testing.T) {
	t.Parallel()
	g, _, _ := inMemory(t, semel.Options{}, nil)
	broken, orders, charges := true, 0, 0
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if _, err := flow.Call(r, "order", 1, func(context.Context, int) (int, error) { orders++; return 1, nil },
			flow.Undo(func(context.Context, int) error { orders--; return semel.MarkReleased(errDown) })); err != nil {
			return "", err
		}
		if broken {
			return "", semel.MarkFinal(errDown)
		}
		return flow.Call(r, "charge", 1, func(context.Context, int) (string, error) { charges++; return "paid", nil })
	})
	f := newFlows(t, g, nil, def)
	if _, err := flow.Start(t.Context(), f, def, adasKey, 1); !isUnfinished(err) {
		t.Fatalf("got %v, want undoing unfinished", err)
	}
	broken = false // the next release
	if got, err := flow.Start(t.Context(), f, def, adasKey, 1); err == nil || charges != 0 {
		t.Errorf("got %q, %v, %d charges, want none for an order that is being undone", got, err, charges)
	}
}
