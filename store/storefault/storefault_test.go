package storefault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storefault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func params(name string) semel.ClaimParams {
	return semel.ClaimParams{
		Digest:    semel.Key{Scope: "storefault", Name: name}.Digest(),
		Owner:     semel.Owner{1},
		Lease:     time.Minute,
		Retention: time.Hour,
	}
}

func done(outcome string) semel.Settlement {
	return semel.Settlement{State: semel.StateCompleted, Outcome: []byte(outcome), Kept: true, Retention: time.Hour}
}

func wrap(t *testing.T, plan storefault.Plan) (faulty *storefault.Store, inner *memstore.Store) {
	t.Helper()
	inner = memstore.New(nil)
	faulty = storefault.Wrap(inner, plan)
	t.Cleanup(func() {
		if err := faulty.Close(); err != nil {
			t.Error(err)
		}
	})
	return faulty, inner
}

func TestFailBeforeLeavesTheInnerStoreAlone(t *testing.T) {
	t.Parallel()
	faulty, inner := wrap(t, storefault.Plan{Faults: []storefault.Fault{{Verb: storefault.Claim, N: 1, Kind: storefault.FailBefore}}})
	p := params("a")
	if _, won, err := faulty.Claim(t.Context(), p); won || !errors.Is(err, storefault.ErrInjected) {
		t.Errorf("first Claim: won %v, error %v, want %v", won, err, storefault.ErrInjected)
	}
	if _, err := inner.Lookup(t.Context(), p.Digest); !errors.Is(err, semel.ErrNotFound) {
		t.Errorf("the inner store was asked: %v", err)
	}
	if _, won, err := faulty.Claim(t.Context(), p); !won || err != nil {
		t.Errorf("second Claim: won %v, error %v, want a win", won, err)
	}
}

func TestFailAfterTakesTheStep(t *testing.T) {
	t.Parallel()
	mine := errors.New("reply lost")
	faulty, inner := wrap(t, storefault.Plan{Faults: []storefault.Fault{
		{Verb: storefault.Claim, N: 1, Kind: storefault.FailAfter},
		{Verb: storefault.Settle, N: 1, Kind: storefault.FailAfter, Err: mine},
	}})
	p := params("a")
	rec, won, err := faulty.Claim(t.Context(), p)
	if won || !errors.Is(err, storefault.ErrInjected) || rec.Fence != 0 {
		t.Errorf("first Claim: %v, won %v, error %v, want nothing but %v", rec, won, err, storefault.ErrInjected)
	}
	rec, won, err = faulty.Claim(t.Context(), p)
	if !won || err != nil {
		t.Fatalf("second Claim: won %v, error %v, want the same claim again", won, err)
	}
	if err := faulty.Settle(t.Context(), p.Digest, rec.Fence, done("a")); !errors.Is(err, mine) {
		t.Errorf("Settle: got %v, want %v", err, mine)
	}
	if found, err := inner.Lookup(t.Context(), p.Digest); err != nil || found.State != semel.StateCompleted {
		t.Errorf("the inner store holds %v, error %v, want completed", found.State, err)
	}
	if got := faulty.Failed(); got != 2 {
		t.Errorf("Failed: got %d, want 2", got)
	}
}

func TestEveryVerbFails(t *testing.T) {
	t.Parallel()
	for _, kind := range []storefault.Kind{storefault.FailBefore, storefault.FailAfter} {
		faulty, _ := wrap(t, storefault.Plan{Faults: []storefault.Fault{{N: 1, Kind: kind}}})
		d := params("a").Digest
		for verb, call := range map[storefault.Verb]func() error{
			storefault.Claim:  func() error { _, _, err := faulty.Claim(t.Context(), params("a")); return err },
			storefault.Renew:  func() error { return faulty.Renew(t.Context(), d, 1, time.Minute) },
			storefault.Settle: func() error { return faulty.Settle(t.Context(), d, 1, done("a")) },
			storefault.Lookup: func() error { _, err := faulty.Lookup(t.Context(), d); return err },
			storefault.List:   func() error { _, err := faulty.List(t.Context(), semel.ListParams{}); return err },
			storefault.Sweep:  func() error { _, err := faulty.Sweep(t.Context(), 1); return err },
			storefault.Count:  func() error { _, err := faulty.Count(t.Context()); return err },
		} {
			if err := call(); !errors.Is(err, storefault.ErrInjected) {
				t.Errorf("first %s: got %v, want %v", verb, err, storefault.ErrInjected)
			}
			if err := call(); errors.Is(err, storefault.ErrInjected) {
				t.Errorf("second %s: got %v, want the inner store's answer", verb, err)
			}
			if got := faulty.Calls(verb); got != 2 {
				t.Errorf("calls of %s: got %d, want 2", verb, got)
			}
		}
	}
}

func TestPartitionUntilHealed(t *testing.T) {
	t.Parallel()
	faulty, inner := wrap(t, storefault.Plan{})
	faulty.Partition()
	for range 3 {
		if _, _, err := faulty.Claim(t.Context(), params("a")); !errors.Is(err, storefault.ErrInjected) {
			t.Errorf("Claim while partitioned: got %v, want %v", err, storefault.ErrInjected)
		}
	}
	if n, _ := inner.Count(t.Context()); n != 0 {
		t.Errorf("the inner store was reached: %d records", n)
	}
	faulty.Heal()
	if _, won, err := faulty.Claim(t.Context(), params("a")); !won || err != nil {
		t.Errorf("Claim when healed: won %v, error %v, want a win", won, err)
	}
}

func TestDelayByTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		faulty, _ := wrap(t, storefault.Plan{Faults: []storefault.Fault{{Kind: storefault.Delay, For: time.Second}}})
		started := time.Now()
		if _, _, err := faulty.Claim(t.Context(), params("a")); err != nil {
			t.Error(err)
		}
		if got := time.Since(started); got != time.Second {
			t.Errorf("Claim took %v, want 1s", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		started = time.Now()
		if _, _, err := faulty.Claim(ctx, params("b")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Claim with an impatient context: got %v, want %v", err, context.DeadlineExceeded)
		}
		if got := time.Since(started); got != time.Millisecond {
			t.Errorf("Claim with an impatient context took %v, want 1ms", got)
		}
	})
}

func TestDelayUntilReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		faulty, inner := wrap(t, storefault.Plan{Faults: []storefault.Fault{{Kind: storefault.Delay, Until: open}}})
		answered := make(chan error)
		go func() {
			_, _, err := faulty.Claim(context.WithoutCancel(t.Context()), params("a"))
			answered <- err
		}()
		synctest.Wait()
		if n, _ := inner.Count(t.Context()); n != 0 {
			t.Errorf("the inner store was reached before the delay was over: %d records", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := faulty.Claim(ctx, params("b")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Claim with an impatient context: got %v, want %v", err, context.DeadlineExceeded)
		}
		close(open)
		if err := <-answered; err != nil {
			t.Error(err)
		}
	})
}

func TestHooksSeeEveryCall(t *testing.T) {
	t.Parallel()
	type seen struct {
		When string
		Verb storefault.Verb
		N    int
		Err  error
	}
	var got []seen
	refused := errors.New("refused")
	faulty, _ := wrap(t, storefault.Plan{
		Before: func(op storefault.Op) error {
			got = append(got, seen{"before", op.Verb, op.N, op.Err})
			if op.Verb == storefault.Renew {
				return refused
			}
			return nil
		},
		After: func(op storefault.Op) error {
			got = append(got, seen{"after", op.Verb, op.N, op.Err})
			if op.Digest != params("a").Digest {
				return fmt.Errorf("digest %v", op.Digest)
			}
			return nil
		},
	})
	if _, err := faulty.Lookup(t.Context(), params("a").Digest); !errors.Is(err, semel.ErrNotFound) {
		t.Errorf("Lookup: got %v, want %v", err, semel.ErrNotFound)
	}
	if err := faulty.Renew(t.Context(), params("a").Digest, 1, time.Minute); !errors.Is(err, refused) {
		t.Errorf("Renew: got %v, want %v", err, refused)
	}
	want := []seen{
		{"before", storefault.Lookup, 1, nil},
		{"after", storefault.Lookup, 1, semel.ErrNotFound},
		{"before", storefault.Renew, 1, nil},
	}
	same := cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) && errors.Is(b, a) })
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("hooks (-want +got)\n%s", diff)
	}
}

func TestSeedRepeatsItself(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) (failures string) {
		faulty, _ := wrap(t, storefault.Plan{Seed: seed, FailBefore: 0.3, FailAfter: 0.3})
		for range 100 {
			_, err := faulty.Lookup(t.Context(), params("a").Digest)
			failures += fmt.Sprintln(err)
		}
		return failures
	}
	for _, kind := range []string{"before it was taken", "after it was taken", "not found"} {
		if n := strings.Count(run(1), kind); n < 10 || n > 60 {
			t.Errorf("%d of 100 calls failed %s, want about 30", n, kind)
		}
	}
	if diff := cmp.Diff(run(1), run(1)); diff != "" {
		t.Errorf("the same seed must give the same failures:\n%s", diff)
	}
	if run(1) == run(2) {
		t.Error("another seed must give other failures")
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	faulty, _ := wrap(t, storefault.Plan{FailBefore: 0.2, FailAfter: 0.2, Delay: 0.2, MaxDelay: time.Microsecond})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 50 {
				faulty.Claim(t.Context(), params(fmt.Sprint(i, j)))
			}
		})
	}
	wg.Wait()
	if got := faulty.Calls(storefault.Claim); got != 800 {
		t.Errorf("calls: got %d, want 800", got)
	}
	if got := faulty.Failed(); got == 0 || got == 800 {
		t.Errorf("failed: got %d, want some, not all", got)
	}
}

// bare hides the optional interfaces.
type bare struct{ semel.Store }

func TestInnerWithoutOptionalInterfaces(t *testing.T) {
	t.Parallel()
	faulty := storefault.Wrap(bare{memstore.New(nil)}, storefault.Plan{})
	if _, err := faulty.List(t.Context(), semel.ListParams{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("List: got %v, want %v", err, errors.ErrUnsupported)
	}
	if _, err := faulty.Count(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Count: got %v, want %v", err, errors.ErrUnsupported)
	}
	if n, err := faulty.Sweep(t.Context(), 10); n != 0 || err != nil {
		t.Errorf("Sweep: got %d, %v, want nothing swept", n, err)
	}
}
