package flow_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/operator"
)

// A final error whose message is larger than an outcome may be.
func TestLargeFinal(t *testing.T) {
	t.Parallel()
	g, _, _ := inMemory(t, semel.Options{Policy: semel.Policy{MaxOutcomeBytes: 500}}, nil)
	undone, down := 0, errDown
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if _, err := flow.Call(r, "order", 1, func(context.Context, int) (int, error) { return 1, nil },
			flow.Undo(func(context.Context, int) error {
				if down != nil {
					return semel.MarkReleased(down)
				}
				undone++
				return nil
			})); err != nil {
			return "", err
		}
		return flow.Call(r, "charge", 1, func(context.Context, int) (string, error) {
			return "", semel.MarkFinal(errors.New(strings.Repeat("x", 600)))
		})
	})
	f := newFlows(t, g, nil, def)
	_, err := flow.Start(t.Context(), f, def, adasKey, 1)
	if !isUnfinished(err) {
		t.Fatal(err)
	}
	down = nil
	_, err = flow.Start(t.Context(), f, def, adasKey, 1)
	if _, ok := errors.AsType[*flow.Failed](err); !ok {
		t.Errorf("undoing does not go on: %v", err)
	}
}

// A process that lost the flow undoes it, after another one finished it.
func TestFormerHolderUndoes(t *testing.T) {
	t.Parallel()
	g, store, clock := inMemory(t, semel.Options{}, nil)
	g2 := another(t, store, semel.Policy{})
	var orders atomic.Int32
	asleep, awake := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if err := placeOrder(r, &orders); err != nil {
			return "", err
		}
		return flow.Call(r, "charge", 1, func(context.Context, int) (string, error) {
			if calls.Add(1) == 1 { // the process is stopped, and its request is refused by the service's rate limit for this card
				close(asleep)
				<-awake
				return "", semel.MarkFinal(errors.New("declined"))
			}
			return "paid", nil
		}, flow.CalleeDedupes(time.Hour))
	})
	f1, f2 := newFlows(t, g, nil, def), newFlows(t, g2, nil, def)
	got, _ := whileAsleep(t, def, f1, f2, asleep, awake, func() { clock.Advance(time.Minute) })
	if orders.Load() != 1 {
		t.Errorf("the flow succeeded with %q, and there are %d orders", got, orders.Load())
	}
}

// whileAsleep starts the flow in a process that falls asleep, and after a while in another one; then the first wakes up. It returns
// what the second one got.
func whileAsleep(t *testing.T, def *flow.Definition[int, string], f1, f2 *flow.Flows, asleep <-chan struct{}, awake chan<- struct{}, wait func()) (string, error) {
	t.Helper()
	first := make(chan error)
	go func() { _, err := flow.Start(t.Context(), f1, def, adasKey, 1); first <- err }()
	<-asleep
	wait()
	got, err := flow.Start(t.Context(), f2, def, adasKey, 1)
	close(awake)
	t.Logf("the second process: %q %v; the first one: %v", got, err, <-first)
	return got, err
}

// placeOrder is a step that counts orders, and that can be undone.
func placeOrder(r *flow.Run, orders *atomic.Int32) error {
	_, err := flow.Call(r, "order", 1, func(context.Context, int) (int, error) { orders.Add(1); return 1, nil },
		flow.Undo(func(context.Context, int) error { orders.Add(-1); return nil }))
	return err
}

// chargeOnce is a flow of a call whose first answer is lost.
func chargeOnce(charges *int) *flow.Definition[int, string] {
	return flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		return flow.Call(r, "charge", 1, func(context.Context, int) (string, error) {
			if *charges++; *charges == 1 {
				return "", errDown
			}
			return "paid", nil
		})
	})
}

// An operator's verdict is forgotten before the flow's other steps: the step runs again.
func TestVerdictForgotten(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]semel.State{"happened": semel.StateCompleted, "must not": semel.StateCancelled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, _, clock := inMemory(t, semel.Options{}, nil) // all defaults
			charges := 0
			def := chargeOnce(&charges)
			f := newFlows(t, g, nil, def)
			_, err := flow.Start(t.Context(), f, def, adasKey, 1)
			p, ok := errors.AsType[*flow.Parked](err)
			if !ok {
				t.Fatal(err)
			}
			s := semel.Settlement{State: to, Note: "asked the bank"}
			if to == semel.StateCompleted {
				s.Outcome, s.Kept = outcome(t, g, p.Digest, "paid"), true
			}
			if err := settle(t, g, p.Digest, s); err != nil {
				t.Fatal(err)
			}
			clock.Advance(25 * time.Hour)
			got, err := flow.Start(t.Context(), f, def, adasKey, 1)
			if charges != 1 {
				t.Errorf("%d charges, %q %v: the operator said that it %s", charges, got, err, name)
			}
		})
	}
}

// A verdict on a flow whose entry in the audit trail could not be written leaves it to its next attempt,
// whether its record was put back or its claim lapses.
func TestVerdictFails(t *testing.T) {
	t.Parallel()
	for name, putBack := range map[string]bool{"put back": true, "lapsed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var judging atomic.Bool
			g, _, clock := inMemory(t, semel.Options{StoreTimeout: 50 * time.Millisecond}, func(s semel.Store) semel.Store {
				return &lossyStore{s, func(d semel.Digest, to semel.Settlement) bool {
					entry := strings.Contains(string(to.Outcome), `"act":"resolve"`)
					return judging.Load() && (entry || !putBack && d == flowKey.Digest())
				}}
			})
			down := errDown
			def := flow.Define("buy", func(r *flow.Run, _ int) (int, error) {
				if _, err := flow.Call(r, "order", 1, func(context.Context, int) (int, error) { return 1, nil }); err != nil {
					return 0, err
				}
				return 1, down
			})
			f := newFlows(t, g, nil, def)
			if _, err := flow.Start(t.Context(), f, def, adasKey, 1); !isUnfinished(err) {
				t.Fatalf("got %v, want it unfinished", err)
			}
			judging.Store(true)
			if err := settle(t, g, flowKey.Digest(), semel.Settlement{State: semel.StateReleased, Note: "start again"}); !errors.Is(err, errDown) {
				t.Fatalf("got %v, want the verdict refused", err)
			}
			judging.Store(false)
			down = nil
			clock.Advance(time.Minute)
			if got, err := flow.Start(t.Context(), f, def, adasKey, 1); err != nil || got != 1 {
				t.Errorf("got %d, %v, want the flow finished", got, err)
			}
		})
	}
}

// lostTransactor loses the answer of a commit, and the database with it.
type lostTransactor struct {
	semel.Transactor
	down *atomic.Bool
}

type lostTx struct {
	semel.Tx
	down *atomic.Bool
}

func (l lostTransactor) Transaction(ctx context.Context) (semel.Tx, error) {
	if l.down.Load() {
		return nil, errDown
	}
	tx, err := l.Transactor.Transaction(ctx)
	return lostTx{tx, l.down}, err
}

func (l lostTx) Commit(ctx context.Context, s semel.Settlement) error {
	_ = l.Tx.Commit(ctx, s)
	l.down.Store(true)
	return errDown
}

// A lost answer of a commit is reported to need an operator.
func TestCommitLost(t *testing.T) {
	t.Parallel()
	var s *shop
	var down atomic.Bool
	s = openShop(t, shopOptions{body: func(r *flow.Run, in order) (receipt, error) {
		id, err := flow.Tx(r, "insert order", in, s.insert("orders", 1), flow.On(s.guard, lostTransactor{s.store.Transactor(), &down}))
		return receipt{Order: id}, err
	}})
	_, err := s.start(t)
	p, parked := errors.AsType[*flow.Parked](err)
	if parked {
		t.Errorf("a Tx step is never unknown, but: %v", err)
		t.Log("resolving it:", func() error { _, err := s.store.Lookup(t.Context(), p.Digest); return err }())
	}
	down.Store(false)
	got, err := s.start(t)
	t.Log("a retry:", got, err)
}

// A process that dies while it leaves the tombstone of a step, or writes the marker of one, has done
// nothing else: the flow is undone without an operator (promise 3).
func TestTombstoneUnfinished(t *testing.T) {
	t.Parallel()
	cancels := func(to semel.Settlement) bool { return to.State == semel.StateCancelled }
	completes := func(to semel.Settlement) bool { return to.State == semel.StateCompleted }
	for name, c := range map[string]struct {
		step  func(s, other *shop, r *flow.Run, fn func(context.Context, order) (int64, error)) error
		first func(semel.Settlement) bool // the settlements of the first attempt that are lost
	}{
		"a transaction": {step: func(_, _ *shop, r *flow.Run, fn func(context.Context, order) (int64, error)) error {
			_, err := flow.Tx(r, "take stock", ada, fn)
			return err
		}},
		"a transaction elsewhere": {step: elsewhere},
		"the marker of one":       {step: elsewhere, first: completes},
		"a call": {step: func(_, _ *shop, r *flow.Run, fn func(context.Context, order) (int64, error)) error {
			_, err := flow.Call(r, "take stock", ada, fn)
			return err
		}},
		"a call of a callee that deduplicates": {step: func(_, _ *shop, r *flow.Run, fn func(context.Context, order) (int64, error)) error {
			_, err := flow.Call(r, "take stock", ada, fn, flow.CalleeDedupes(time.Hour))
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lost atomic.Pointer[func(semel.Settlement) bool]
			var s, other *shop
			wrap := func(store semel.Store) semel.Store {
				return &lossyStore{store, func(d semel.Digest, to semel.Settlement) bool {
					fails := lost.Load()
					return fails != nil && (store == other.store || d == s.step(2)) && (*fails)(to)
				}}
			}
			other = openShop(t, shopOptions{wrap: wrap, timeout: 50 * time.Millisecond})
			s = openShop(t, shopOptions{
				wrap: wrap, timeout: 50 * time.Millisecond,
				body: func(r *flow.Run, in order) (receipt, error) {
					if _, err := flow.Tx(r, "insert order", in, s.insert("orders", 1), flow.Undo(s.reverse("orders"))); err != nil {
						return receipt{}, err
					}
					return receipt{}, c.step(s, other, r, func(context.Context, order) (int64, error) { return 0, semel.MarkReleased(errDown) })
				},
			})
			if c.first != nil {
				lost.Store(&c.first)
			}
			s.startsUnfinished(t)
			s.clock.Advance(flow.DefaultMaxAge + time.Second)
			lost.Store(&cancels)
			s.startsUnfinished(t)
			lost.Store(nil)
			s.clock.Advance(time.Minute) // the lease lapses
			other.clock.Advance(time.Minute)
			if _, err := s.start(t); !isFailed(err) {
				t.Errorf("got %v, want a flow that failed: the step never ran", err)
			}
			s.want(t, books{rows: 2})
		})
	}
}

func elsewhere(_, other *shop, r *flow.Run, fn func(context.Context, order) (int64, error)) error {
	_, err := flow.Tx(r, "take stock", ada, fn, flow.On(other.guard, other.store.Transactor()))
	return err
}

// An Undo that an operator cancelled is reported to be undone.
func TestCancelledUndoIsListed(t *testing.T) {
	t.Parallel()
	g, _, _ := inMemory(t, semel.Options{}, nil)
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if _, err := flow.Call(r, "charge", 1, func(context.Context, int) (int, error) { return 1, nil },
			flow.Undo(func(context.Context, int) error { return errDown })); err != nil {
			return "", err
		}
		return "", semel.MarkFinal(errors.New("no"))
	})
	f := newFlows(t, g, nil, def)
	_, err := flow.Start(t.Context(), f, def, adasKey, 1)
	p, ok := errors.AsType[*flow.Parked](err)
	if !ok {
		t.Fatal(err)
	}
	if err := settle(t, g, p.Digest, semel.Settlement{State: semel.StateCancelled, Note: "the customer keeps it"}); err != nil {
		t.Fatal(err)
	}
	_, err = flow.Start(t.Context(), f, def, adasKey, 1)
	if x, ok := errors.AsType[*flow.Failed](err); ok && len(x.Undone) > 0 {
		t.Errorf("undone is %v, but the operator said that it is not to be undone", x.Undone)
	}
}

// panicVar makes the test binary the process of TestAcceptPanics.
const panicVar = "SEMEL_FLOW_PANIC"

// A panic under Accept.
func TestAcceptPanics(t *testing.T) {
	t.Parallel()
	if os.Getenv(panicVar) != "" {
		g, _, _ := inMemory(t, semel.Options{}, nil)
		def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) { panic("a bug") })
		f := newFlows(t, g, &flow.Options{Background: &operator.Unattended{}}, def)
		_ = flow.Accept(t.Context(), f, def, adasKey, 1)
		_ = g.Shutdown(t.Context())
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestAcceptPanics$")
	cmd.Env = append(os.Environ(), panicVar+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("a panic in a flow's function ends the process under Accept: %v\n%.300s", err, out)
	}
}

// Accept and Shutdown.
func TestAcceptAndShutdown(t *testing.T) {
	t.Parallel()
	g, _, _ := inMemory(t, semel.Options{}, nil)
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		<-r.Context().Done()
		_, err := flow.Call(r, "x", 1, func(context.Context, int) (int, error) {
			t.Error("a step began after the claim was lost")
			return 1, nil
		})
		return "", err
	})
	f := newFlows(t, g, &flow.Options{Background: &operator.Unattended{Every: time.Millisecond}}, def)
	if err := flow.Accept(t.Context(), f, def, adasKey, 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	t.Log(g.Shutdown(ctx))
	t.Log(flow.Accept(t.Context(), f, def, adasKey, 1))
}

// A user's own reconciliation of all records takes a parked step for one of its own.
func TestForeignReconciliation(t *testing.T) {
	t.Parallel()
	own := semel.Policy{OnUnknown: semel.Reconcile, Reconcile: func(_ context.Context, rec semel.Record) (semel.Reconciliation, error) {
		return semel.Reconciliation{Verdict: semel.NotHappened}, nil // "no payment named 1"
	}}
	g, _, clock := inMemory(t, semel.Options{Policy: own}, nil)
	charges := 0
	def := chargeOnce(&charges)
	f := newFlows(t, g, nil, def)
	_, _ = flow.Start(t.Context(), f, def, adasKey, 1)
	records, err := operator.New(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Minute)
	rep, err := records.ReconcileUnknown(t.Context(), operator.Unattended{})
	_, err2 := flow.Start(t.Context(), f, def, adasKey, 1)
	if charges != 1 {
		t.Errorf("%d charges: %+v %v %v", charges, rep, err, err2)
	}
}

// Steps that run at the same time: undoing begins although nothing failed, and the next attempt goes forward.
func TestConcurrentSteps(t *testing.T) {
	t.Parallel()
	g, _, _ := inMemory(t, semel.Options{}, nil)
	n := map[string]int{}
	concurrent, undoDown := true, true
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if err := pair(r, n, downWhile(&undoDown)); err != nil {
			return "", err
		}
		errs := make(chan error, 1)
		began, end := make(chan struct{}), make(chan struct{})
		go func() {
			_, err := flow.Call(r, "c", 1, func(context.Context, int) (int, error) { close(began); <-end; return 1, nil })
			errs <- err
		}()
		if concurrent {
			<-began
			_, err := flow.Call(r, "d", 1, func(context.Context, int) (int, error) { return 1, nil })
			close(end)
			return "", errors.Join(err, <-errs)
		}
		close(end)
		if err := <-errs; err != nil {
			return "", err
		}
		return flow.Call(r, "d", 1, func(context.Context, int) (string, error) { return "done", nil })
	})
	f := newFlows(t, g, nil, def)
	_, err := flow.Start(t.Context(), f, def, adasKey, 1)
	t.Log(err, n)
	concurrent, undoDown = false, false
	got, err := flow.Start(t.Context(), f, def, adasKey, 1)
	if err == nil && (n["a"] != 1 || n["b"] != 1) {
		t.Errorf("got %q with the effects %v: one was undone before the flow went on forward", got, n)
	}
}
