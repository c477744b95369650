package ids_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/ids"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// wrap gives a guard a view of its own of a store that others share.
func guard(t *testing.T, store semel.Store) *semel.Guard {
	t.Helper()
	g, err := semel.New(store, &semel.Options{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func lease(t *testing.T, g *semel.Guard, o *ids.MachineOptions) *ids.Machine {
	t.Helper()
	m, err := ids.LeaseMachine(t.Context(), g, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func leased(t *testing.T, m *ids.Machine, o *ids.SnowflakeOptions) *ids.Snowflakes {
	t.Helper()
	s, err := m.Snowflakes(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func old() *ids.SnowflakeOptions { return &ids.SnowflakeOptions{Epoch: time.UnixMilli(1)} } // a bubble's time begins in 2000

// Every number once, then none; a number that was given back rests for one lease, by the store's clock.
func TestMachinesAreGivenOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		o := &ids.MachineOptions{Machines: 16, Lease: time.Second}
		held := map[int]*ids.Machine{}
		var mu sync.Mutex
		var running sync.WaitGroup
		for range 16 {
			g := guard(t, store)
			running.Go(func() {
				m, err := ids.LeaseMachine(t.Context(), g, o)
				mu.Lock()
				defer mu.Unlock()
				if err != nil || held[m.Number()] != nil {
					t.Errorf("got %v, %v, which is held", m, err)
					return
				}
				held[m.Number()] = m
			})
		}
		running.Wait()
		last := guard(t, store)
		for range 5 { // renewed, they are held for longer than a lease
			if m, err := ids.LeaseMachine(t.Context(), last, o); !errors.Is(err, ids.ErrNoMachine) {
				t.Fatalf("got %v, %v; want ErrNoMachine", m, err)
			}
			time.Sleep(700 * time.Millisecond)
		}
		if err := held[5].Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(990 * time.Millisecond)
		if m, err := ids.LeaseMachine(t.Context(), last, o); !errors.Is(err, ids.ErrNoMachine) {
			t.Errorf("got %v, %v while the number rests; want ErrNoMachine", m, err)
		}
		time.Sleep(10 * time.Millisecond)
		m, err := ids.LeaseMachine(t.Context(), last, o)
		if err != nil || m.Number() != 5 || m.Fence() <= held[5].Fence() {
			t.Fatalf("got %+v, %v; want number 5 with a greater fence", m, err)
		}
		held[16] = m
		for _, m := range held {
			if err := errors.Join(m.Close(), m.Close()); err != nil {
				t.Error(err)
			}
		}
	})
}

// A holder that cannot reach the store refuses from the end of its lease at the latest, and no other process has the
// number before.
func TestMachineLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New(nil)
		store := storetest.Break(inner, storetest.Faults{})
		o := &ids.MachineOptions{Machines: 1, Lease: time.Second}
		m := lease(t, guard(t, store), o)
		s := leased(t, m, old())
		for range 10 {
			if _, err := s.New(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(400 * time.Millisecond)
		}
		store.Partition()
		var last ids.Snowflake
		for {
			id, err := s.New(t.Context())
			if errors.Is(err, ids.ErrMachineLost) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			last = id
			time.Sleep(time.Millisecond)
		}
		other := guard(t, inner)
		var next *ids.Machine
		for next == nil {
			var err error
			if next, err = ids.LeaseMachine(t.Context(), other, o); err != nil && !errors.Is(err, ids.ErrNoMachine) {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		defer next.Close()
		first, err := leased(t, next, old()).New(t.Context())
		if err != nil || first <= last {
			t.Errorf("the successor made %d after %d: %v", first, last, err)
		}
		<-m.Lost()
		if _, err := s.New(t.Context()); !errors.Is(err, ids.ErrMachineLost) {
			t.Errorf("got %v, want ErrMachineLost for good", err)
		}
	})
}

// The lease as last read counts: when it ends, the generator refuses, although the claim is still renewed. When it can be
// read again, ids go on.
func TestMachineTermEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var deaf atomic.Bool
		store := storetest.Break(memstore.New(nil), storetest.Faults{Before: func(op storetest.Call) error {
			if op.Verb == "lookup" && deaf.Load() {
				return storetest.ErrInjected
			}
			return nil
		}})
		m := lease(t, guard(t, store), &ids.MachineOptions{Machines: 1, Lease: time.Second})
		s := leased(t, m, old())
		begin := time.Now()
		deaf.Store(true)
		var last ids.Snowflake
		for at := range 3000 {
			id, err := s.New(t.Context())
			if within := at < 1000; within != (err == nil) || !within && !errors.Is(err, ids.ErrMachineLost) {
				t.Fatalf("after %v: got %d, %v", time.Since(begin), id, err)
			}
			last = max(last, id)
			time.Sleep(time.Millisecond)
		}
		select {
		case <-m.Lost():
			t.Fatal("the claim was lost, so the term was not tested")
		default:
		}
		deaf.Store(false)
		time.Sleep(time.Second)
		if id, err := s.New(t.Context()); err != nil || id <= last {
			t.Errorf("got %d after %d: %v", id, last, err)
		}
	})
}

// Ids show the store's time, which is another one than the host's and runs at another speed, and they grow.
func TestMachineShowsTheStoresTime(t *testing.T) {
	t.Parallel()
	for name, percent := range map[string]int64{"slow": 95, "fast": 105} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				clock := func() time.Time {
					return begin.AddDate(20, 0, 0).Add(time.Duration(int64(time.Since(begin)) * percent / 100))
				}
				m := lease(t, guard(t, memstore.New(&memstore.Options{Now: clock})), &ids.MachineOptions{Lease: time.Second})
				s := leased(t, m, old())
				var last ids.Snowflake
				for range 1000 {
					id, err := s.New(t.Context())
					if err != nil || id <= last {
						t.Fatalf("got %d after %d: %v", id, last, err)
					}
					last = id
					at, _, _ := s.Parts(id)
					const drift = 20 * time.Millisecond // 5 % of the third of a lease between two readings, and the milliseconds
					if ahead := at.Sub(clock()); ahead > drift || ahead < -drift {
						t.Fatalf("after %v the id shows a time %v ahead of the store's", time.Since(begin), ahead)
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		})
	}
}

// Holders that hand one number on as fast as they can, and whose hosts' clocks do not matter, never make one id twice;
// ids grow over all of them.
func TestMachineHandedOn(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	o := &ids.MachineOptions{Machines: 1, Lease: 30 * time.Millisecond}
	var last ids.Snowflake
	for range 8 {
		g := guard(t, store)
		var m *ids.Machine
		for ticks := time.NewTicker(time.Millisecond); m == nil; <-ticks.C {
			var err error
			if m, err = ids.LeaseMachine(t.Context(), g, o); err != nil && !errors.Is(err, ids.ErrNoMachine) {
				t.Fatal(err)
			}
		}
		s := leased(t, m, nil)
		for {
			id, err := s.New(t.Context())
			if errors.Is(err, ids.ErrMachineLost) || err == nil && id > last && id&0xFFF > 3000 {
				break // either end of a term
			}
			if err != nil || id <= last {
				t.Fatalf("got %d after %d: %v", id, last, err)
			}
			last = id
		}
		if err := m.Close(); err != nil && !errors.Is(err, semel.ErrLost) {
			t.Error(err)
		}
		if id, err := s.New(t.Context()); !errors.Is(err, ids.ErrMachineLost) {
			t.Errorf("got %d, %v after Close; want ErrMachineLost", id, err)
		}
	}
}

// An operator who cancels the record of a number bars it.
func TestMachineBarred(t *testing.T) {
	t.Parallel()
	g := guard(t, memstore.New(nil))
	if _, err := must.Get(operator.New(g, nil)).Cancel(t.Context(), operator.Identity{Name: "ops"}, semel.Key{Scope: "ids machine", Name: "machine-0"}, 0, "is lent to another fleet"); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		m := lease(t, g, &ids.MachineOptions{Machines: 9})
		if m.Number() == 0 {
			t.Error("the number that was barred is given")
		}
	}
}

func TestMachineRefusals(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	g := guard(t, store)
	for _, o := range []*ids.MachineOptions{{Machines: -1}, {Machines: 1<<16 + 1}, {Lease: time.Millisecond}, {Scope: "\x00"}} {
		if m, err := ids.LeaseMachine(t.Context(), g, o); err == nil || errors.Is(err, ids.ErrNoMachine) {
			t.Errorf("%+v gives %v, %v", o, m, err)
		}
	}
	m := lease(t, g, &ids.MachineOptions{Machines: 1 << 11, Scope: "wide"})
	for m.Number() < 1024 { // a number that ten bits do not hold
		m = lease(t, g, &ids.MachineOptions{Machines: 1 << 11, Scope: "wide"})
	}
	if _, err := m.Snowflakes(nil); err == nil {
		t.Error("a number that does not fit was taken")
	}
	leased(t, m, &ids.SnowflakeOptions{MachineBits: 11})
	if _, err := m.Snowflakes(&ids.SnowflakeOptions{MachineBits: 11}); err == nil {
		t.Error("a machine has two generators")
	}
	broken := guard(t, storetest.Break(store, storetest.Faults{Before: func(op storetest.Call) error {
		if op.Verb == "lookup" {
			return storetest.ErrInjected
		}
		return nil
	}}))
	if m, err := ids.LeaseMachine(t.Context(), broken, nil); !errors.Is(err, storetest.ErrInjected) {
		t.Errorf("got %v, %v; want what the store said", m, err)
	}
	if broken.LiveClaims() != 0 {
		t.Error("a number is held that was not returned")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := ids.LeaseMachine(ctx, g, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v; want the end of the context", m, err)
	}
}

// One generator of a leased machine, many goroutines.
func TestLeasedRace(t *testing.T) {
	t.Parallel()
	m := lease(t, guard(t, memstore.New(nil)), nil)
	s := leased(t, m, nil)
	raceFor(t, 16, 2000, func() (string, error) { id, err := s.New(t.Context()); return id.String(), err })
}
