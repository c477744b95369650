package semel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

// asked is a policy whose reconciliation answers by the record's name.
func asked(answer func(semel.Record) (semel.Reconciliation, error)) semel.Policy {
	return semel.Policy{
		OnUnknown: semel.Reconcile,
		Reconcile: func(_ context.Context, rec semel.Record) (semel.Reconciliation, error) { return answer(rec) },
	}
}

// TestUnattended reconciles in the background what no attempt asks for.
func TestUnattended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := asked(func(rec semel.Record) (semel.Reconciliation, error) {
			switch rec.Name {
			case "there":
				return semel.Reconciliation{Verdict: semel.Happened, Outcome: []byte("17"), Kept: true}, nil
			case "not there", "crashed":
				return semel.Reconciliation{Verdict: semel.NotHappened, Note: "404"}, nil
			case "panics":
				panic("no such column")
			}
			return semel.Reconciliation{}, errors.New("503")
		})
		store := memstore.New(nil)
		crash(t, store, testKey("crashed"))
		g := newGuard(t, store, &semel.Options{Policy: policy})
		mustSucceed(t, operate(g).ReconcileInBackground(operator.Unattended{}))
		for _, name := range []string{"there", "not there", "still", "panics"} {
			mustSucceed(t, mustClaim(t, g, testKey(name)).Unknown("upstream reset"))
		}
		live := mustClaim(t, g, testKey("live"))
		time.Sleep(2 * time.Minute)
		mustReplay(t, g, testKey("there"), "17")
		for _, name := range []string{"not there", "crashed"} {
			if _, err := g.Lookup(t.Context(), testKey(name)); !errors.Is(err, semel.ErrNotFound) {
				t.Errorf("%q did not happen, but is not free: %v", name, err)
			}
		}
		for name, note := range map[string]string{"still": "reconcile: 503", "panics": "reconcile: panic: no such column"} {
			if rec, err := g.Lookup(t.Context(), testKey(name)); err != nil || rec.State != semel.StateUnknown || rec.Note != note {
				t.Errorf("%q: got %v %q, %v", name, rec.State, rec.Note, err)
			}
		}
		if err := live.Complete([]byte("live"), nil); err != nil {
			t.Errorf("a live claim was disturbed: %v", err)
		}
		page, err := operate(g).Audit(t.Context(), operator.AuditParams{})
		mustSucceed(t, err)
		as := map[string]semel.State{}
		for _, e := range page.Entries {
			as[e.Name] = e.As
		}
		want := map[string]semel.State{"there": semel.StateCompleted, "not there": semel.StateReleased, "crashed": semel.StateReleased}
		if diff := cmp.Diff(want, as); diff != "" {
			t.Errorf("the trail (-want +got):\n%s", diff)
		}
	})
}

// TestUnattendedPauses shows that a record is tried ever more seldom, by all
// processes together, until it is left to operators, and not kept longer for it.
func TestUnattendedPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var tried []time.Duration
		start := time.Now()
		policy := asked(func(semel.Record) (semel.Reconciliation, error) {
			mu.Lock()
			defer mu.Unlock()
			tried = append(tried, time.Since(start))
			return semel.Reconciliation{}, nil
		})
		store := memstore.New(nil)
		g := newGuard(t, store, &semel.Options{Policy: policy})
		twin := newGuard(t, notOwnedLister{store}, &semel.Options{Policy: policy})
		for _, guard := range []*semel.Guard{g, twin} {
			if err := operate(guard).ReconcileInBackground(operator.Unattended{
				Every: time.Second, MinPause: 10 * time.Second, MaxPause: time.Minute, MaxAttempts: 6,
			}); err != nil {
				t.Fatal(err)
			}
		}
		mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown("upstream reset"))
		expires := mustLookup(t, g, testKey("a")).ExpiresAt
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		pauses := []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute, time.Minute}
		if len(tried) != len(pauses) {
			t.Fatalf("tried %d times, want %d: %v", len(tried), len(pauses), tried)
		}
		last := time.Duration(0)
		for i, at := range tried {
			if rest := at - last; rest < pauses[i] || rest > pauses[i]+3*time.Second {
				t.Errorf("try %d came %v after the last, want about %v", i+1, rest, pauses[i])
			}
			last = at
		}
		if rec := mustLookup(t, g, testKey("a")); rec.ExpiresAt.Sub(expires).Abs() > time.Second {
			t.Errorf("trying moved the end of the retention by %v", rec.ExpiresAt.Sub(expires))
		}
	})
}

// notOwnedLister is a store that two guards share.
type notOwnedLister struct{ *memstore.Store }

func (notOwnedLister) Close() error { return nil }

func mustLookup(t *testing.T, g *semel.Guard, k semel.Key) semel.Record {
	t.Helper()
	rec, err := g.Lookup(t.Context(), k)
	mustSucceed(t, err)
	return rec
}

// TestReconcileUnknownOnce lets many processes pass at once: each record is
// asked about by one of them.
func TestReconcileUnknownOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const records, processes = 40, 8
		var asks, happened atomic.Int64
		policy := asked(func(semel.Record) (semel.Reconciliation, error) {
			asks.Add(1)
			time.Sleep(time.Second) // the other passes reach the record meanwhile
			return semel.Reconciliation{Verdict: semel.Happened, Outcome: []byte("17"), Kept: true}, nil
		})
		g := newGuard(t, memstore.New(nil), &semel.Options{Policy: policy})
		for i := range records {
			mustSucceed(t, mustClaim(t, g, testKey(fmt.Sprint(i))).Unknown("upstream reset"))
		}
		time.Sleep(time.Minute)
		var all sync.WaitGroup
		for range processes {
			all.Go(func() {
				report, err := operate(g).ReconcileUnknown(t.Context(), operator.Unattended{})
				if err != nil || report.Failed > 0 {
					t.Errorf("pass: %+v, %v", report, err)
				}
				happened.Add(int64(report.Happened))
			})
		}
		all.Wait()
		if asks.Load() != records || happened.Load() != records {
			t.Errorf("%d records: asked %d times, %d reported", records, asks.Load(), happened.Load())
		}
	})
}

// TestUnattendedStopsAtTheDrain: what is not begun when the guard takes nothing
// new any more stays unknown, and does not hold the drain up.
func TestUnattendedStopsAtTheDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asks atomic.Int64
		policy := asked(func(semel.Record) (semel.Reconciliation, error) {
			asks.Add(1)
			time.Sleep(5 * time.Second)
			return semel.Reconciliation{}, errors.New("503")
		})
		g := newGuard(t, memstore.New(nil), &semel.Options{Policy: policy})
		for i := range 20 {
			mustSucceed(t, mustClaim(t, g, testKey(fmt.Sprint(i))).Unknown("upstream reset"))
		}
		time.Sleep(time.Minute)
		var pass sync.WaitGroup
		pass.Go(func() {
			if _, err := operate(g).ReconcileUnknown(t.Context(), operator.Unattended{Concurrency: 2}); !errors.Is(err, semel.ErrClosed) {
				t.Errorf("pass: got %v, want ErrClosed", err)
			}
		})
		time.Sleep(time.Second)
		if err := g.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		pass.Wait()
		if asks.Load() != 2 {
			t.Errorf("%d records were asked about, want the 2 that had begun", asks.Load())
		}
	})
}

// TestUnattendedWithoutAnEntry: a verdict that cannot be written down does not
// take effect.
func TestUnattendedWithoutAnEntry(t *testing.T) {
	t.Parallel()
	clock := newClock()
	store := newHooked()
	store.Store = memstore.New(&memstore.Options{Now: clock.now})
	g := newGuard(t, store, &semel.Options{Policy: asked(func(semel.Record) (semel.Reconciliation, error) {
		return semel.Reconciliation{Verdict: semel.NotHappened}, nil
	})})
	mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown("upstream reset"))
	before := store.count("claim")
	store.set(store.before, "claim", func() error {
		if store.count("claim") == before+2 { // the first takes the record over
			return errBroken
		}
		return nil
	})
	clock.add(time.Minute)
	if report, err := operate(g).ReconcileUnknown(t.Context(), operator.Unattended{}); err != nil || report.NotHappened != 0 || report.Still != 1 {
		t.Errorf("pass: %+v, %v", report, err)
	}
	if rec := mustLookup(t, g, testKey("a")); rec.State != semel.StateUnknown {
		t.Errorf("the record has become %v", rec.State)
	}
}

// TestUnattendedVerdictThatDoesNotExist: a claim is settled whatever the
// function returns.
func TestUnattendedVerdictThatDoesNotExist(t *testing.T) {
	t.Parallel()
	clock := newClock()
	g := newGuard(t, memstore.New(&memstore.Options{Now: clock.now}), &semel.Options{Policy: asked(func(semel.Record) (semel.Reconciliation, error) {
		return semel.Reconciliation{Verdict: semel.NotHappened + 100, Note: "who knows"}, nil
	})})
	mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown("upstream reset"))
	clock.add(time.Minute)
	if report, err := operate(g).ReconcileUnknown(t.Context(), operator.Unattended{}); err != nil || report.Still != 1 {
		t.Errorf("pass: %+v, %v", report, err)
	}
	if rec := mustLookup(t, g, testKey("a")); rec.State != semel.StateUnknown || rec.Note != "who knows" || g.LiveClaims() != 0 {
		t.Errorf("the record is %v %q, %d claims are held", rec.State, rec.Note, g.LiveClaims())
	}
}

func TestUnattendedNeedsAPolicy(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	if err := operate(newGuard(t, store, nil)).ReconcileInBackground(operator.Unattended{}); err == nil {
		t.Error("a guard that cannot reconcile took it")
	}
	if err := operate(newGuard(t, notOwned{store}, &semel.Options{Policy: asked(nil)})).ReconcileInBackground(operator.Unattended{}); err == nil {
		t.Error("a guard whose store cannot be listed took it")
	}
	for name, opts := range map[string]operator.Unattended{
		"Every": {Every: -1}, "Examine": {Examine: -1}, "MinPause": {MinPause: -1}, "MaxPause": {MaxPause: -1}, "MaxAttempts": {MaxAttempts: -1}, "Concurrency": {Concurrency: -1},
	} {
		_, err := operate(newGuard(t, store, &semel.Options{Policy: asked(nil)})).ReconcileUnknown(t.Context(), opts)
		if err == nil || !strings.Contains(err.Error(), name+" is negative") {
			t.Errorf("%+v: got %v, want an error that names %s", opts, err, name)
		}
	}
}
