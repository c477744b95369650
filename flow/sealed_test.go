package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/operator"
)

func isOpen(err error) bool {
	_, parked := errors.AsType[*flow.Parked](err)
	return parked || isUnfinished(err)
}

func isFailed(err error) bool { _, ok := errors.AsType[*flow.Failed](err); return ok }

// pair runs the steps a and b, which count their effects. Undoing a fails as undoA says.
func pair(r *flow.Run, n map[string]int, undoA func() error) error {
	for _, name := range []string{"a", "b"} {
		if _, err := flow.Call(r, name, 1, func(context.Context, int) (int, error) { n[name]++; return 1, nil },
			flow.Undo(func(context.Context, int) error {
				if name == "a" {
					if err := undoA(); err != nil {
						return err
					}
				}
				n[name]--
				return nil
			})); err != nil {
			return err
		}
	}
	return nil
}

// downWhile fails for now as long as it says so.
func downWhile(down *bool) func() error {
	return func() error {
		if *down {
			return semel.MarkReleased(errDown)
		}
		return nil
	}
}

// After the seal and a part of the undoing, a run must not succeed that ends without another step, or that handles the seal as a final
// error of a step that does not matter.
func TestSuccessIgnoresSeal(t *testing.T) {
	t.Parallel()
	for _, mails := range []bool{false, true} {
		g, _, clock := inMemory(t, semel.Options{}, nil)
		n := map[string]int{}
		down, undoDown := true, true
		def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
			if err := pair(r, n, downWhile(&undoDown)); err != nil {
				return "", err
			}
			if down { // a temporary error of the function itself
				return "", errDown
			}
			if mails {
				if _, err := flow.Call(r, "mail", 1, func(context.Context, int) (int, error) { return 1, nil }); isOpen(err) {
					return "", err
				}
			}
			return "shipped", nil
		})
		f := newFlows(t, g, nil, def)
		_, _ = flow.Start(t.Context(), f, def, adasKey, 1)
		clock.Advance(73 * time.Hour)
		_, err := flow.Start(t.Context(), f, def, adasKey, 1)
		t.Log(err, n)
		down, undoDown = false, false
		got, err := flow.Start(t.Context(), f, def, adasKey, 1)
		t.Log(got, err, n)
		if err == nil && (n["a"] != 1 || n["b"] != 1) {
			t.Errorf("mails %v: %q for all, and the effects are %v", mails, got, n)
		}
	}
}

// The seal lies in the flow's store, a step of On in another one.
func TestSealDoesNotSeeOn(t *testing.T) {
	t.Parallel()
	other := openShop(t, shopOptions{})
	var s *shop
	attempt := 0
	s = openShop(t, shopOptions{body: func(r *flow.Run, in order) (receipt, error) {
		attempt++
		if _, err := flow.Tx(r, "insert order", in, s.insert("orders", 1), flow.Undo(s.reverse("orders"))); err != nil {
			return receipt{}, err
		}
		if attempt == 2 { // a temporary error of the function itself
			return receipt{}, errDown
		}
		if _, err := flow.Tx(r, "take stock", in, other.insert("stock", -1), flow.On(other.guard, other.store.Transactor()), flow.Undo(other.reverse("stock"))); err != nil {
			return receipt{}, err
		}
		return receipt{}, errDown
	}})
	_, err := s.start(t)
	t.Log(err)
	s.clock.Advance(flow.DefaultMaxAge + time.Second)
	_, err = s.start(t)
	t.Log(err)
	_, err = s.start(t)
	t.Log(err, s.books(t), other.books(t))
	if isFailed(err) && other.books(t).stock != 0 {
		t.Errorf("%v for all, and the stock is %d", err, other.books(t).stock)
	}
}

// A panic of a step that the function recovers.
func TestRecoveredPanic(t *testing.T) {
	t.Parallel()
	for _, final := range []bool{true, false} {
		g, _, _ := inMemory(t, semel.Options{}, nil)
		charges := 0
		def := flow.Define("buy", func(r *flow.Run, _ int) (out string, err error) {
			defer func() {
				if p := recover(); p != nil {
					if out = "sorry"; final {
						err = semel.MarkFinal(fmt.Errorf("bug: %v", p))
					}
				}
			}()
			return flow.Call(r, "charge", 1, func(context.Context, int) (string, error) { charges++; panic("after the charge") })
		})
		f := newFlows(t, g, nil, def)
		got, err := flow.Start(t.Context(), f, def, adasKey, 1)
		rec, _ := g.Lookup(t.Context(), stepKey("1"))
		if !isOpen(err) {
			t.Errorf("%q, %v for all, and the charge is %v", got, err, rec.State)
		}
	}
}

// A step that runs on when the function has returned.
func TestStepOutlivesTheFunction(t *testing.T) {
	t.Parallel()
	g, _, _ := inMemory(t, semel.Options{}, nil)
	var charges atomic.Int32
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		go func() {
			defer close(ended)
			_, _ = flow.Call(r, "charge", 1, func(context.Context, int) (int, error) { close(began); <-end; charges.Add(1); return 1, nil },
				flow.Undo(func(context.Context, int) error { charges.Add(-1); return nil }))
		}()
		<-began
		return "", semel.MarkFinal(errors.New("the service takes too long"))
	})
	f := newFlows(t, g, nil, def)
	_, err := flow.Start(t.Context(), f, def, adasKey, 1)
	close(end)
	<-ended
	if isFailed(err) && charges.Load() != 0 {
		t.Errorf("%v for all, and %d charges", err, charges.Load())
	}
}

// hookStore does what its functions say at claims and settlements.
type hookStore struct {
	semel.Store
	claim  func(p semel.ClaimParams, do func() (semel.Record, bool, error)) (semel.Record, bool, error)
	settle func(d semel.Digest, to semel.Settlement, do func() error) error
}

func (s *hookStore) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	do := func() (semel.Record, bool, error) { return s.Store.Claim(ctx, p) }
	if s.claim == nil {
		return do()
	}
	return s.claim(p, do)
}

func (s *hookStore) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	do := func() error { return s.Store.Settle(ctx, d, f, to) }
	if s.settle == nil {
		return do()
	}
	return s.settle(d, to, do)
}

// list puts the hooks around a store that can show its records.
func (s *hookStore) list(store semel.Store) semel.Store {
	s.Store = store
	return struct {
		*hookStore
		semel.Lister
	}{s, store.(semel.Lister)}
}

// The background does not prolong the flow's record, but its steps are younger.
func TestBackgroundForgetsTheFlowFirst(t *testing.T) {
	t.Parallel()
	g, _, clock := inMemory(t, semel.Options{}, nil)
	var orders, charges atomic.Int32
	var bDown, down atomic.Bool
	bDown.Store(true)
	down.Store(true)
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if _, err := flow.Call(r, "order", 1, func(context.Context, int) (int, error) { orders.Add(1); return 1, nil }); err != nil {
			return "", err
		}
		if _, err := flow.Call(r, "charge", 1, func(context.Context, int) (int, error) {
			if bDown.Load() {
				return 0, semel.MarkReleased(errDown)
			}
			charges.Add(1)
			return 1, nil
		}); err != nil {
			return "", err
		}
		return flow.Call(r, "ship", 1, func(context.Context, int) (string, error) { // parked; no operator comes
			if down.Load() {
				return "", errDown
			}
			return "shipped", nil
		})
	})
	f := newFlows(t, g, &flow.Options{Background: &operator.Unattended{Every: 2 * time.Millisecond}}, def)
	if err := flow.Accept(t.Context(), f, def, adasKey, 1); err != nil {
		t.Fatal(err)
	}
	testserver.Eventually(t, "an order", func() bool { return orders.Load() == 1 })
	testserver.Eventually(t, "the end of the attempt", func() bool { // no attempt lasts for 30 hours
		rec, err := g.Lookup(t.Context(), flowKey)
		return err == nil && rec.State == semel.StateUnknown
	})
	clock.Advance(30 * time.Hour)
	bDown.Store(false)
	testserver.Eventually(t, "a charge", func() bool { clock.Advance(time.Minute); return charges.Load() == 1 })
	becomes(t, g, clock, semel.StateUnknown)
	rec, err := g.Lookup(t.Context(), flowKey)
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(rec.RetentionLeft() + time.Second)
	// The operator finds the step's record: it was shipped.
	rec, err = g.Lookup(t.Context(), stepKey("3"))
	t.Log("step 3:", rec.State, err)
	if err == nil {
		t.Log(settle(t, g, rec.Digest, semel.Settlement{State: semel.StateCompleted, Note: "x", Outcome: outcome(t, g, rec.Digest, "shipped"), Kept: true}))
	}
	got, err := flow.Start(t.Context(), f, def, adasKey, 1)
	if orders.Load() != charges.Load() {
		t.Errorf("%d orders, %d charges: %q %v", orders.Load(), charges.Load(), got, err)
	}
}

// Accept says that another process accepted it; that one releases it.
func TestAcceptedAndReleased(t *testing.T) {
	t.Parallel()
	h := &hookStore{}
	stored, go2 := make(chan struct{}), make(chan struct{})
	first := true
	h.settle = func(_ semel.Digest, to semel.Settlement, do func() error) error {
		err := do()
		if to.State == semel.StateCompleted && strings.Contains(string(to.Outcome), `"begun"`) {
			if first {
				first = false
				close(stored)
				<-go2
			}
			return errDown // the answer is lost
		}
		return err
	}
	g1, store, clock := inMemory(t, semel.Options{StoreTimeout: 100 * time.Millisecond}, h.list)
	g2 := another(t, store, semel.Policy{})
	var ran atomic.Int32
	def := flow.Define("buy", func(*flow.Run, int) (int, error) { ran.Add(1); return 1, nil })
	f1 := newFlows(t, g1, &flow.Options{Background: &operator.Unattended{Every: time.Hour}}, def)
	f2 := newFlows(t, g2, &flow.Options{Background: &operator.Unattended{Every: 5 * time.Millisecond}}, def)
	one := make(chan error)
	go func() { one <- flow.Accept(t.Context(), f1, def, adasKey, 1) }()
	<-stored
	two := flow.Accept(t.Context(), f2, def, adasKey, 1)
	close(go2)
	t.Log("the first:", <-one, "the second:", two)
	if two != nil {
		t.Fatal(two)
	}
	testserver.Eventually(t, "what Accept has recorded runs", func() bool { clock.Advance(time.Minute); return ran.Load() != 0 })
}

// Late, a step stopped, the function handles it; the former holder is not late.
func TestStoppedThenForward(t *testing.T) {
	t.Parallel()
	g, store, clock := inMemory(t, semel.Options{}, nil)
	g2 := another(t, store, semel.Policy{})
	var orders, posts, attempt atomic.Int32
	asleep, awake := make(chan struct{}), make(chan struct{})
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		n := attempt.Add(1)
		if err := placeOrder(r, &orders); err != nil {
			return "", err
		}
		if n == 1 {
			close(asleep)
			<-awake
		}
		_, err := flow.Call(r, "express", 1, func(context.Context, int) (int, error) { return 1, nil })
		if err == nil || isOpen(err) {
			return "express", err
		}
		if n == 2 {
			return "", errDown // of the function's own
		}
		_, err = flow.Call(r, "post", 1, func(context.Context, int) (int, error) { posts.Add(1); return 1, nil })
		return "posted", err
	})
	f1, f2 := newFlows(t, g, nil, def), newFlows(t, g2, nil, def)
	_, err := whileAsleep(t, def, f1, f2, asleep, awake, func() { clock.Advance(73 * time.Hour) })
	if isFailed(err) && posts.Load() != 0 {
		t.Errorf("%v for all; orders %d, posts %d", err, orders.Load(), posts.Load())
	}
}

// The seal's own record is unknown.
func TestSealUnknown(t *testing.T) {
	t.Parallel()
	h := &hookStore{}
	seal := stepKey("2").Digest()
	phase := 1
	h.settle = func(d semel.Digest, to semel.Settlement, do func() error) error {
		if phase == 1 && d == seal { // the process dies with the tombstone
			return errDown
		}
		return do()
	}
	h.claim = func(p semel.ClaimParams, do func() (semel.Record, bool, error)) (semel.Record, bool, error) {
		rec, won, err := do()
		if phase == 2 && p.Digest == seal && p.TakeOver != 0 { // the answer is lost
			return semel.Record{}, false, errDown
		}
		return rec, won, err
	}
	g, store, clock := inMemory(t, semel.Options{StoreTimeout: 2 * time.Second}, func(s semel.Store) semel.Store { h.Store = s; return h })
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if _, err := flow.Call(r, "order", 1, func(context.Context, int) (int, error) { return 1, nil }); err != nil {
			return "", err
		}
		return "", semel.MarkFinal(errors.New("no"))
	})
	f := newFlows(t, g, nil, def)
	_, err := flow.Start(t.Context(), f, def, adasKey, 1)
	t.Log(err)
	clock.Advance(time.Minute)
	phase = 2
	_, err = flow.Start(t.Context(), f, def, adasKey, 1)
	t.Log(err)
	testserver.Eventually(t, "the seal is unknown", func() bool {
		rec, err := store.Lookup(t.Context(), seal)
		return err == nil && rec.State == semel.StateUnknown
	})
	phase = 3
	for range 5 {
		clock.Advance(time.Hour)
		_, err = flow.Start(t.Context(), f, def, adasKey, 1)
	}
	if !isFailed(err) {
		t.Errorf("nothing is unknown, and the flow never ends: %v", err)
	}
}

// A flow without a step is released after its seal.
func TestReleasedWithASeal(t *testing.T) {
	t.Parallel()
	h := &hookStore{}
	lost := true
	h.settle = func(_ semel.Digest, to semel.Settlement, do func() error) error {
		err := do()
		if lost && to.State == semel.StateCancelled {
			return errDown // the answer is lost
		}
		return err
	}
	g, _, _ := inMemory(t, semel.Options{StoreTimeout: 2 * time.Second}, func(s semel.Store) semel.Store { h.Store = s; return h })
	def := flow.Define("buy", func(r *flow.Run, amount int) (string, error) {
		if amount < 0 {
			return "", semel.MarkFinal(errors.New("the amount is negative"))
		}
		return flow.Call(r, "charge", amount, func(context.Context, int) (string, error) { return "paid", nil })
	})
	f := newFlows(t, g, nil, def)
	_, err := flow.Start(t.Context(), f, def, adasKey, -1)
	t.Log(err)
	lost = false
	_, err = flow.Start(t.Context(), f, def, adasKey, 30)
	if !errors.Is(err, semel.ErrMismatch) && err != nil {
		t.Errorf("the key was released, and then: %v", err)
	}
}

// A late process that has lost the flow undoes what another one finished.
func TestFormerHolderLate(t *testing.T) {
	t.Parallel()
	g, store, clock := inMemory(t, semel.Options{}, nil)
	g2 := another(t, store, semel.Policy{})
	var orders, attempt atomic.Int32
	asleep, awake := make(chan struct{}), make(chan struct{})
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		n := attempt.Add(1)
		if err := placeOrder(r, &orders); err != nil {
			return "", err
		}
		if n == 2 {
			close(asleep)
			<-awake
		}
		if n <= 2 { // of the function's own
			return "", errDown
		}
		return "ordered", nil
	})
	f1, f2 := newFlows(t, g, nil, def), newFlows(t, g2, nil, def)
	_, err := flow.Start(t.Context(), f1, def, adasKey, 1)
	t.Log(err)
	clock.Advance(73 * time.Hour)
	got, err := whileAsleep(t, def, f1, f2, asleep, awake, func() { clock.Advance(time.Minute) })
	if err == nil && orders.Load() != 1 {
		t.Errorf("%q for all, and %d orders", got, orders.Load())
	}
}

// A final error that could not be recorded is not the flow's answer yet.
func TestFinalNotRecordedIsOpen(t *testing.T) {
	t.Parallel()
	lossy := &lossyStore{fails: func(_ semel.Digest, s semel.Settlement) bool {
		return strings.Contains(string(s.Outcome), `"error":"declined"`)
	}}
	g, _, _ := inMemory(t, semel.Options{StoreTimeout: 500 * time.Millisecond}, func(s semel.Store) semel.Store {
		lossy.Store = s
		return lossy
	})
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		return flow.Call(r, "charge", 1, func(context.Context, int) (string, error) { return "", semel.MarkFinal(errors.New("declined")) })
	})
	if _, err := flow.Start(t.Context(), newFlows(t, g, nil, def), def, adasKey, 1); !isUnfinished(err) {
		t.Errorf("got %v, want it unfinished", err)
	}
}
