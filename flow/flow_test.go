package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/operator"
)

var errDown = errors.New("the service is down")

func TestOnce(t *testing.T) {
	t.Parallel()
	s := openShop(t, shopOptions{})
	var all sync.WaitGroup
	receipts := make([]receipt, 8)
	for i := range receipts {
		all.Go(func() {
			var err error
			if receipts[i], err = s.start(t); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, got := range receipts {
		if got != receipts[0] || got.Order != 1 {
			t.Errorf("got %+v and %+v, want one receipt (promise 2)", receipts[0], got)
		}
	}
	s.want(t, once)
	other := ada
	other.Amount++
	if _, err := flow.Start(t.Context(), s.flows, s.order, adasKey, other); !errors.Is(err, semel.ErrMismatch) {
		t.Errorf("another input under the same key: %v, want ErrMismatch (promise 6)", err)
	}
	if _, err := flow.Start(t.Context(), s.flows, s.order, semel.Key{Scope: "bob", Name: adasKey.Name}, ada); err != nil {
		t.Errorf("the same name in another scope: %v (promise 5)", err)
	}
	s.want(t, books{orders: 2, stock: -2, charges: 60, points: 60, rows: 8})
}

// An error that is not final leaves the flow open; the next attempt runs what is missing, and only that.
func TestGoesOn(t *testing.T) {
	t.Parallel()
	s := openShop(t, shopOptions{})
	s.points = func() error { return errDown }
	_, err := s.start(t)
	unfinished, ok := errors.AsType[*flow.Unfinished](err)
	if !ok || unfinished.Step != "add points" || !errors.Is(err, errDown) || unfinished.RetryAfter <= 0 {
		t.Fatalf("got %v, want an unfinished step with its error", err)
	}
	s.want(t, books{orders: 1, stock: -1, charges: 30, rows: 3})
	if rec := s.record(t); rec.State != semel.StateUnknown || !strings.Contains(rec.Note, "add points") {
		t.Errorf("the flow is %v with note %q, want unknown, and the step", rec.State, rec.Note)
	}
	s.points = func() error { return nil }
	if _, err := s.start(t); err != nil {
		t.Fatal(err)
	}
	s.want(t, once)
}

// A final error undoes what was done, the last step first, and is everyone's answer.
func TestUndo(t *testing.T) {
	t.Parallel()
	s := openShop(t, shopOptions{})
	var order []string
	s.at = func(point string) {
		if strings.HasPrefix(point, "after undo") || point == "after refund" {
			order = append(order, strings.TrimPrefix(point, "after "))
		}
	}
	s.points = func() error { return semel.MarkFinal(errors.New("no such customer")) }
	for range 2 {
		_, err := s.start(t)
		failed, ok := errors.AsType[*flow.Failed](err)
		if !ok || failed.Reason != "no such customer" || strings.Join(failed.Undone, ", ") != "charge, take stock, insert order" {
			t.Fatalf("got %v, want the flow failed, and three steps undone", err)
		}
	}
	if got := strings.Join(order, ", "); got != "refund, undo stock, undo orders" {
		t.Errorf("undone: %s, want each once and the last one first", got)
	}
	s.want(t, books{rows: 6})
}

// A flow in which undoing stops half-way goes on undoing, and not forward.
func TestUndoGoesOn(t *testing.T) {
	t.Parallel()
	s := openShop(t, shopOptions{})
	s.points = func() error { return semel.MarkFinal(errors.New("no such customer")) }
	failing, refunds := true, 0
	s.at = func(point string) {
		switch {
		case point == "before refund":
			refunds++
		case point == "before undo stock" && failing:
			panic("the process ends here")
		}
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = s.start(t)
	}()
	s.want(t, books{orders: 1, stock: -1, rows: 4})
	failing, s.points = false, func() error { t.Error("the step that failed ran again"); return nil }
	if _, err := s.start(t); !strings.Contains(err.Error(), "no such customer") {
		t.Errorf("got %v, want the first attempt's failure", err)
	}
	if refunds != 1 {
		t.Errorf("%d refunds, want 1", refunds)
	}
	s.want(t, books{rows: 6})
}

// A call that may have happened, and nothing to find out with: an operator decides.
func TestParked(t *testing.T) {
	t.Parallel()
	for name, verdict := range map[string]semel.State{"it happened": semel.StateCompleted, "it did not": semel.StateReleased, "it must not": semel.StateCancelled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, shopOptions{})
			s.charged = func() error { return errDown }
			var parked *flow.Parked
			for range 2 {
				_, err := s.start(t)
				var ok bool
				if parked, ok = errors.AsType[*flow.Parked](err); !ok || parked.Step != "charge" {
					t.Fatalf("got %v, want the flow parked at the charge (promise 3)", err)
				}
			}
			s.want(t, books{orders: 1, stock: -1, charges: 30, rows: 3})
			to := semel.Settlement{State: verdict, Note: "asked the bank"}
			if verdict == semel.StateCompleted {
				to.Outcome, to.Kept = outcome(t, s.guard, parked.Digest, "charge of the bank"), true
			}
			s.resolve(t, parked.Digest, to)
			s.charged = func() error { return nil }
			got, err := s.start(t)
			want := once
			switch {
			case verdict == semel.StateCompleted && got.Charge != "charge of the bank":
				t.Errorf("got %+v, want the operator's result", got)
			case verdict == semel.StateCancelled:
				if _, ok := errors.AsType[*flow.Failed](err); !ok {
					t.Errorf("got %v, want the flow failed", err)
				}
				err, want = nil, books{charges: 30, rows: 5} // the operator said that no charge is to be undone
			}
			if err != nil {
				t.Error(err)
			}
			s.want(t, want)
		})
	}
}

// What finds out about a call without an answer.
func TestFoundOut(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]func(s **shop) []flow.Option{
		"the callee deduplicates": func(**shop) []flow.Option { return []flow.Option{flow.CalleeDedupes(time.Hour)} },
		"the callee is asked": func(s **shop) []flow.Option {
			return []flow.Option{flow.Ask(func(ctx context.Context) (string, semel.Verdict, error) { return (*s).found(ctx) })}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *shop
			s = openShop(t, shopOptions{charge: options(&s)})
			s.charged = func() error { return errDown }
			s.startsUnfinished(t)
			s.charged = func() error { return nil }
			if _, err := s.start(t); err != nil {
				t.Fatal(err)
			}
			s.want(t, once)
		})
	}
}

func isUnfinished(err error) bool {
	_, ok := errors.AsType[*flow.Unfinished](err)
	return ok
}

// After the callee has forgotten the key, another call would be a second charge.
func TestCalleeForgets(t *testing.T) {
	t.Parallel()
	s := openShop(t, shopOptions{charge: []flow.Option{flow.CalleeDedupes(time.Nanosecond)}})
	s.charged = func() error { return errDown }
	s.startsUnfinished(t)
	s.clock.Advance(2 * time.Millisecond) // it counts milliseconds
	_, err := s.start(t)
	if _, ok := errors.AsType[*flow.Parked](err); !ok {
		t.Errorf("got %v, want it parked (promise 3)", err)
	}
	s.want(t, books{orders: 1, stock: -1, charges: 30, rows: 3})
}

// A function that was changed, or reads a clock, asks a finished step for something else, or ends before it.
func TestNotDeterministic(t *testing.T) {
	t.Parallel()
	insert := func(r *flow.Run, s *shop, name string, in order) error {
		_, err := flow.Tx(r, name, in, s.insert("orders", 1))
		return err
	}
	take := func(r *flow.Run, s *shop) error {
		_, err := flow.Tx(r, "take stock", ada, s.insert("stock", -1))
		return err
	}
	for name, second := range map[string]func(r *flow.Run, s *shop) error{
		"another input":  func(r *flow.Run, s *shop) error { return insert(r, s, "insert order", order{Customer: "Bob"}) },
		"a step renamed": func(r *flow.Run, s *shop) error { return insert(r, s, "insert the order", ada) },
		"a step before it": func(r *flow.Run, s *shop) error {
			return errors.Join(call(r, "greet"), insert(r, s, "insert order", ada))
		},
		"in another order":  func(r *flow.Run, s *shop) error { return errors.Join(take(r, s), insert(r, s, "insert order", ada)) },
		"without the first": take,
		"without the last":  func(r *flow.Run, s *shop) error { return insert(r, s, "insert order", ada) },
		"without any":       func(*flow.Run, *shop) error { return nil },
		"failing after one": func(r *flow.Run, s *shop) error {
			return errors.Join(insert(r, s, "insert order", ada), semel.MarkFinal(errDown))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *shop
			first := true
			s = openShop(t, shopOptions{body: func(r *flow.Run, in order) (receipt, error) {
				if !first {
					return receipt{}, second(r, s)
				}
				first = false
				if err := errors.Join(insert(r, s, "insert order", in), take(r, s)); err != nil {
					return receipt{}, err
				}
				return receipt{}, errDown
			}})
			s.startsUnfinished(t)
			_, err := s.start(t)
			if _, ok := errors.AsType[*flow.Parked](err); !ok || !errors.Is(err, semel.ErrMismatch) {
				t.Errorf("got %v, want it parked as a mismatch", err)
			}
			s.want(t, books{orders: 1, stock: -1, rows: 2})
		})
	}
}

// A flow that is too old is undone. What never ran gets a tombstone, so that a late process cannot run it.
func TestTooOld(t *testing.T) {
	t.Parallel()
	s := openShop(t, shopOptions{})
	s.points = func() error { return errDown }
	s.startsUnfinished(t)
	s.clock.Advance(flow.DefaultMaxAge + time.Second)
	s.points = func() error { return nil }
	for range 2 {
		_, err := s.start(t)
		failed, ok := errors.AsType[*flow.Failed](err)
		if !ok || len(failed.Undone) != 3 {
			t.Fatalf("got %v, want three steps undone", err)
		}
	}
	s.want(t, books{rows: 6})
	page, err := s.store.List(t.Context(), semel.ListParams{States: []semel.State{semel.StateCancelled}})
	if err != nil || len(page.Records) != 1 || page.Records[0].Name != "4" {
		t.Errorf("cancelled are %+v, %v, want the tombstone of the fourth step", page.Records, err)
	}
	rec := s.record(t)
	if steps, err := flow.Steps(t.Context(), s.guard, &rec); err != nil || len(steps) != 7 || steps[3].Record.State != semel.StateCancelled {
		t.Errorf("got %+v, %v, want three steps, the tombstone, and three undone", steps, err)
	}
}

// A flow whose process is gone is finished by the background, without its caller.
func TestBackground(t *testing.T) {
	t.Parallel()
	s := openShop(t, shopOptions{Options: flow.Options{Background: &operator.Unattended{Every: 20 * time.Millisecond, MinPause: time.Millisecond}}})
	s.points = func() error { return errDown }
	if err := flow.Accept(t.Context(), s.flows, s.order, adasKey, ada); err != nil {
		t.Fatal(err)
	}
	testserver.Eventually(t, "the card is charged", func() bool { return s.books(t).charges != 0 })
	s.points = func() error { return nil }
	testserver.Eventually(t, "the flow is completed", func() bool { return s.record(t).State == semel.StateCompleted })
	s.want(t, once)
	if got, err := s.start(t); err != nil || got.Order != 1 {
		t.Errorf("got %+v, %v, want the receipt", got, err)
	}
}

// A step in another database keeps its record there.
func TestOn(t *testing.T) {
	t.Parallel()
	other := openShop(t, shopOptions{})
	failing := errDown
	var s *shop
	s = openShop(t, shopOptions{body: func(r *flow.Run, in order) (receipt, error) {
		id, err := flow.Tx(r, "insert order", in, s.insert("orders", 1), flow.Undo(s.reverse("orders")))
		if err != nil {
			return receipt{}, err
		}
		on := flow.On(other.guard, other.store.Transactor())
		if _, err := flow.Tx(r, "take stock", in, other.insert("stock", -1), on, flow.Undo(other.reverse("stock"))); err != nil {
			return receipt{}, err
		}
		return receipt{Order: id}, failing
	}})
	s.startsUnfinished(t)
	failing = semel.MarkFinal(errDown)
	if _, err := s.start(t); err == nil {
		t.Fatal("the flow has not failed")
	}
	s.want(t, books{rows: 2})
	other.want(t, books{rows: 2})
	if n, err := other.store.Count(t.Context()); err != nil || n != 3 {
		t.Errorf("the other database has %d records, %v, want the step, its undo and its name", n, err)
	}
}

// noTombstones is a store that cannot cancel.
type noTombstones struct{ semel.Store }

func (s noTombstones) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	if to.State == semel.StateCancelled {
		return semel.ErrFull
	}
	return s.Store.Settle(ctx, d, f, to)
}

// As long as a late process can still run a step, nothing is undone.
func TestLateWithoutTombstone(t *testing.T) {
	t.Parallel()
	other := openShop(t, shopOptions{})
	began := false
	var s *shop
	s = openShop(t, shopOptions{wrap: func(s semel.Store) semel.Store { return noTombstones{s} }, body: func(r *flow.Run, in order) (receipt, error) {
		if _, err := flow.Tx(r, "insert order", in, s.insert("orders", 1), flow.Undo(s.reverse("orders"))); err != nil {
			return receipt{}, err
		}
		if !began {
			began = true
			return receipt{}, errDown
		}
		_, err := flow.Tx(r, "take stock", in, other.insert("stock", -1), flow.On(other.guard, other.store.Transactor()))
		return receipt{}, err
	}})
	s.startsUnfinished(t)
	s.clock.Advance(flow.DefaultMaxAge + time.Second)
	if _, err := s.start(t); !isUnfinished(err) {
		t.Errorf("got %v, want it unfinished: another process may still take the stock", err)
	}
	s.want(t, books{orders: 1, rows: 1})
}

// A function that passes over a step that did not end has no answer.
func TestPassesOver(t *testing.T) {
	t.Parallel()
	var s *shop
	failing := true
	s = openShop(t, shopOptions{body: func(r *flow.Run, in order) (receipt, error) {
		_, _ = flow.Tx(r, "insert order", in, func(ctx context.Context, in order) (int64, error) {
			if failing {
				return 0, errDown
			}
			return s.insert("orders", 1)(ctx, in)
		})
		_, _ = flow.Tx(r, "take stock", in, s.insert("stock", -1))
		return receipt{}, nil
	}})
	if _, err := s.start(t); !isUnfinished(err) {
		t.Errorf("got %v, want it unfinished", err)
	}
	s.want(t, none)
	failing = false
	if _, err := s.start(t); err != nil {
		t.Error(err)
	}
	s.want(t, books{orders: 1, stock: -1, rows: 2})
}

// A process that died while it wrote down when the flow began does not stop the next one.
func TestOriginUnknown(t *testing.T) {
	t.Parallel()
	s := openShop(t, shopOptions{})
	s.points = func() error { return errDown }
	s.startsUnfinished(t)
	rec := s.record(t)
	origin := semel.Key{Scope: "semel:step:" + rec.Digest.String(), Name: "origin " + rec.Fingerprint.String()}
	claim, _, err := s.guard.Begin(t.Context(), origin, semel.Fingerprint{})
	if err != nil || claim.Unknown("its process died") != nil {
		t.Fatal(err)
	}
	s.points = func() error { return nil }
	if _, err := s.start(t); err != nil {
		t.Fatal(err)
	}
	s.want(t, once)
}

// TestSteps: an operator sees the steps of a flow, and which of them is open.
func TestSteps(t *testing.T) {
	t.Parallel()
	s := openShop(t, shopOptions{})
	s.charged = func() error { return errDown }
	if _, err := s.start(t); err == nil {
		t.Fatal("the flow is not parked")
	}
	rec := s.record(t)
	steps, err := flow.Steps(t.Context(), s.guard, &rec)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, step := range steps {
		got = append(got, fmt.Sprintf("%d %s %s", step.Number, step.Name, step.Record.State))
	}
	if want := []string{"1 insert order completed", "2 take stock completed", "3 charge unknown"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	s.charged = func() error { return semel.MarkFinal(errDown) }
	s.resolve(t, steps[2].Record.Digest, semel.Settlement{State: semel.StateCancelled, Note: "the bank says no"})
	if _, err := s.start(t); err == nil {
		t.Fatal("the flow has not failed")
	}
	if steps, err = flow.Steps(t.Context(), s.guard, &rec); err != nil || len(steps) != 5 || !steps[3].Undo || steps[3].Name != "undo insert order" {
		t.Errorf("got %+v, %v, want three steps and two undone", steps, err)
	}
	if steps, err := flow.Steps(t.Context(), s.guard, &steps[0].Record); err != nil || steps != nil {
		t.Errorf("the steps of a step are %v, %v", steps, err)
	}
}

// A flow that no program can finish is resolved by its own record.
func TestResolveTheFlow(t *testing.T) {
	t.Parallel()
	s := openShop(t, shopOptions{})
	s.charged = func() error { return errDown }
	if _, err := s.start(t); err == nil {
		t.Fatal("the flow is not parked")
	}
	rec := s.record(t)
	answer, err := flow.Outcome(&rec, receipt{Order: 1, Charge: "by hand"})
	if err != nil {
		t.Fatal(err)
	}
	s.resolve(t, rec.Digest, semel.Settlement{State: semel.StateCompleted, Outcome: answer, Kept: true, Note: "finished by hand"})
	if got, err := s.start(t); err != nil || got.Charge != "by hand" {
		t.Errorf("got %+v, %v, want the operator's receipt", got, err)
	}
	if _, err := flow.Outcome(&semel.Record{Scope: "ada"}, 1); err == nil {
		t.Error("a record of neither a flow nor a step has an outcome")
	}
}
