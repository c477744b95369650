package semel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

// combination is one choice of a guard's options.
type combination struct {
	sealed, hidden, bounded, lossy bool
	secrets                        int
}

// combinations returns all of them.
func combinations() []combination {
	var all []combination
	for secrets := range 3 {
		for bits := range 16 {
			all = append(all, combination{bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0, secrets})
		}
	}
	return all
}

func (c combination) options(policy semel.Policy) *semel.Options {
	opts := &semel.Options{Policy: policy, HideKeys: c.hidden, LiveClaimsPerScope: 2, SweepEvery: -1}
	if c.sealed {
		opts.OutcomeKeys = []semel.OutcomeKey{{ID: "k1", Key: [32]byte{1, 2, 3}}}
	}
	if c.bounded {
		opts.RecordsPerScope = 8
	}
	opts.Secrets = newFirst()[:c.secrets]
	return opts
}

// TestEveryCombinationOfOptions walks every path of an intent under every
// combination of options: none disturbs another, and no seat of a quota leaks.
func TestEveryCombinationOfOptions(t *testing.T) {
	t.Parallel()
	for _, c := range combinations() {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			t.Parallel()
			walkEveryWay(t, c)
		})
	}
}

func walkEveryWay(t *testing.T, c combination) {
	t.Helper()
	clock := newClock()
	store := newHooked()
	store.Store = memstore.New(&memstore.Options{Now: clock.now})
	asks := 0
	g := newGuard(t, store, c.options(semel.Policy{
		OnUnknown: semel.Reconcile,
		Reconcile: func(_ context.Context, rec semel.Record) (semel.Reconciliation, error) {
			asks++
			return semel.Reconciliation{Verdict: semel.Happened, Outcome: []byte("found"), Kept: true, Note: rec.Note}, nil
		},
	}))
	lose := func() { // of each verb the next reply
		if c.lossy {
			store.set(store.after, "claim", times(1, errBroken))
			store.set(store.after, "settle", times(1, errBroken))
		}
	}
	lose()
	mustSucceed(t, mustClaim(t, g, testKey("completed")).Complete([]byte("one"), nil))
	mustReplay(t, g, testKey("completed"), "one")
	lose()
	mustSucceed(t, mustClaim(t, g, testKey("released")).Release("not now"))
	mustSucceed(t, mustClaim(t, g, testKey("released")).Complete([]byte("two"), nil))
	mustReplay(t, g, testKey("released"), "two")
	if _, err := operate(g).Cancel(t.Context(), alice, testKey("cancelled"), 0, "not wanted"); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, g, testKey("cancelled"), semel.ErrCancelled)
	lose()
	unknown := mustClaim(t, g, testKey("resolved"))
	mustSucceed(t, unknown.Unknown("reset"))
	if _, err := operate(g).Resolve(t.Context(), alice, unknown.Digest(), unknown.Fence(), semel.Settlement{State: semel.StateReleased, Note: "not there"}); err != nil {
		t.Fatal(err)
	}
	mustSucceed(t, mustClaim(t, g, testKey("resolved")).Complete([]byte("three"), nil))
	mustReplay(t, g, testKey("resolved"), "three")
	mustSucceed(t, mustClaim(t, g, testKey("found alone")).Unknown("reset"))
	clock.add(time.Minute)
	if r, err := operate(g).ReconcileUnknown(t.Context(), operator.Unattended{}); err != nil || r.Happened != 1 {
		t.Fatalf("in the background: got %+v, %v", r, err)
	}
	mustReplay(t, g, testKey("found alone"), "found")
	mustSucceed(t, mustClaim(t, g, testKey("found when asked")).Unknown("reset"))
	mustReplay(t, g, testKey("found when asked"), "found")
	if asks != 2 {
		t.Errorf("asked %d times, want twice", asks)
	}
	if page, err := operate(g).Audit(t.Context(), operator.AuditParams{}); err != nil || len(page.Entries) != 3 {
		t.Errorf("the audit trail has %d entries, %v; want a cancellation, a resolution and a reconciliation", len(page.Entries), err)
	}
	// Five records are there and were counted; two seats of live claims are free.
	mustClaim(t, g, testKey("a"))
	mustClaim(t, g, testKey("b"))
	mustRefuse(t, g, testKey("c"), semel.ErrQuota)
	if live := g.LiveClaims(); live != 2 {
		t.Errorf("%d claims are held, want 2", live)
	}
}
