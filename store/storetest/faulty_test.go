package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

func wish(name string) semel.ClaimParams {
	return semel.ClaimParams{
		Digest: semel.Key{Scope: "tests", Name: name}.Digest(), Owner: semel.Owner{1}, Lease: time.Minute, Retention: time.Hour,
	}
}

func done(outcome string) semel.Settlement {
	return semel.Settlement{State: semel.StateCompleted, Outcome: []byte(outcome), Kept: true, Retention: time.Hour}
}

// first fails the first call of every verb.
func first(c storetest.Call) error {
	if c.N == 1 {
		return fmt.Errorf("%w: %s %d", storetest.ErrInjected, c.Verb, c.N)
	}
	return nil
}

// The reply to the first settlement is lost, although it was recorded. The
// repetition finds that nothing is left to do.
func ExampleBreak() {
	ctx := context.Background()
	store := storetest.Break(memstore.New(nil), storetest.Faults{After: func(c storetest.Call) error {
		if c.Verb == "settle" && c.N == 1 {
			return storetest.ErrInjected
		}
		return nil
	}})
	defer store.Close()

	claim, _, err := store.Claim(ctx, wish("invoice 7"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(store.Settle(ctx, claim.Digest, claim.Fence, done("paid")))
	fmt.Println(store.Settle(ctx, claim.Digest, claim.Fence, done("paid")))
	// Output:
	// storetest: injected failure
	// <nil>
}

func TestFaultsBeforeAndAfter(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]storetest.Faults{
		"before": {Before: first}, "after": {After: first},
		"before, by chance": {FailBefore: 1}, "after, by chance": {FailAfter: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner := memstore.New(nil)
			faulty := storetest.Break(inner, faults)
			d := wish("a").Digest
			calls := map[string]func() error{
				"claim":  func() error { _, _, err := faulty.Claim(t.Context(), wish("a")); return err },
				"renew":  func() error { return faulty.Renew(t.Context(), d, 1, time.Minute) },
				"settle": func() error { return faulty.Settle(t.Context(), d, 1, done("a")) },
				"lookup": func() error { _, err := faulty.Lookup(t.Context(), d); return err },
				"list":   func() error { _, err := faulty.List(t.Context(), semel.ListParams{}); return err },
				"sweep":  func() error { _, err := faulty.Sweep(t.Context(), 1); return err },
				"count":  func() error { _, err := faulty.Count(t.Context()); return err },
			}
			for verb, call := range calls {
				if err := call(); !errors.Is(err, storetest.ErrInjected) {
					t.Errorf("first %s: got %v, want %v", verb, err, storetest.ErrInjected)
				}
			}
			_, err := inner.Lookup(t.Context(), d)
			if taken := err == nil; taken != (faults.After != nil || faults.FailAfter > 0) {
				t.Errorf("the inner store's answer is %v", err)
			}
			for verb, call := range calls {
				if again := errors.Is(call(), storetest.ErrInjected); again != (faults.FailBefore+faults.FailAfter > 0) {
					t.Errorf("second %s: failed %v", verb, again)
				}
				if faulty.Calls(verb) != 2 {
					t.Errorf("%d calls of %s, want 2", faulty.Calls(verb), verb)
				}
			}
			if err := faulty.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPartitionUntilHealed(t *testing.T) {
	t.Parallel()
	faulty := storetest.Break(memstore.New(nil), storetest.Faults{})
	defer faulty.Close()
	faulty.Partition()
	if _, _, err := faulty.Claim(t.Context(), wish("a")); !errors.Is(err, storetest.ErrInjected) || faulty.Failed() != 1 {
		t.Errorf("got %v, %d failed, want %v", err, faulty.Failed(), storetest.ErrInjected)
	}
	faulty.Heal()
	if _, won, err := faulty.Claim(t.Context(), wish("a")); !won || err != nil {
		t.Errorf("won %v, error %v, want a win", won, err)
	}
}

// A delay ends with the call's context, and the inner store is not asked then.
func TestDelayEndsWithTheContext(t *testing.T) {
	t.Parallel()
	inner := memstore.New(nil)
	faulty := storetest.Break(inner, storetest.Faults{Delay: 1, MaxDelay: 1000 * time.Hour, Seed: 1})
	defer faulty.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := faulty.Claim(ctx, wish("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if _, err := inner.Lookup(t.Context(), wish("a").Digest); !errors.Is(err, semel.ErrNotFound) {
		t.Errorf("the inner store was asked: %v", err)
	}
}

func TestSeedRepeatsItself(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) (fails string) {
		faulty := storetest.Break(memstore.New(nil), storetest.Faults{FailBefore: 0.3, FailAfter: 0.3, Seed: seed})
		defer faulty.Close()
		for range 50 {
			_, err := faulty.Lookup(t.Context(), wish("a").Digest)
			fails += fmt.Sprintln(err)
		}
		return fails
	}
	if run(1) != run(1) || run(1) == run(2) { //nolint:staticcheck // run is called twice on purpose.
		t.Error("the same seed gives other failures, or another seed the same")
	}
}

// onlyVerbs hides the optional interfaces.
type onlyVerbs struct{ semel.Store }

func TestInnerWithoutOptionalInterfaces(t *testing.T) {
	t.Parallel()
	faulty := storetest.Break(onlyVerbs{memstore.New(nil)}, storetest.Faults{})
	defer faulty.Close()
	if _, err := faulty.List(t.Context(), semel.ListParams{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("List: got %v, want %v", err, errors.ErrUnsupported)
	}
	if _, err := faulty.Count(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Count: got %v, want %v", err, errors.ErrUnsupported)
	}
	if n, err := faulty.Sweep(t.Context(), 1); n != 0 || err != nil {
		t.Errorf("Sweep: got %d, error %v, want nothing", n, err)
	}
}
