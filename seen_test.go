package semel_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

// verdicts are all that operators can do to a record, given the fence they saw.
func verdicts(g *semel.Guard, k semel.Key) map[string]func(context.Context, semel.Fence) (semel.Record, error) {
	resolve := func(as semel.State) func(context.Context, semel.Fence) (semel.Record, error) {
		return func(ctx context.Context, seen semel.Fence) (semel.Record, error) {
			return operate(g).Resolve(ctx, alice, g.Digest(k), seen, semel.Settlement{State: as, Note: "looked it up"})
		}
	}
	return map[string]func(context.Context, semel.Fence) (semel.Record, error){
		"completed": resolve(semel.StateCompleted),
		"released":  resolve(semel.StateReleased),
		"cancelled": resolve(semel.StateCancelled),
		"cancel": func(ctx context.Context, seen semel.Fence) (semel.Record, error) {
			return operate(g).Cancel(ctx, alice, k, seen, "void")
		},
	}
}

// mustStay fails unless the verdict was refused with the record as it is, and
// left neither a change nor an entry in the trail.
func mustStay(t *testing.T, g *semel.Guard, want, got semel.Record, err error) {
	t.Helper()
	refused, ok := errors.AsType[*semel.Error](err)
	if !errors.Is(err, semel.ErrChanged) || !ok || refused.Record == nil || refused.Retryable() {
		t.Fatalf("the verdict: got %+v, %v; want ErrChanged with the record", got, err)
	}
	now, err := g.Store().Lookup(t.Context(), want.Digest)
	if err != nil || now.Fence != want.Fence || now.State != want.State || now.Note != want.Note {
		t.Errorf("the record is %+v, %v; want %+v", now, err, want)
	}
	if refused.Record.Fence != now.Fence || refused.Record.State != now.State {
		t.Errorf("the refusal shows %+v, want %+v", refused.Record, now)
	}
	if page, err := operate(g).Audit(t.Context(), operator.AuditParams{}); err != nil || len(page.Entries) != 0 {
		t.Errorf("the trail has %+v, %v; want nothing", page.Entries, err)
	}
}

// Promise 3: a verdict is about the attempt that its operator looked at, not
// about one that has begun since then.
func TestVerdictOnAnotherAttempt(t *testing.T) {
	t.Parallel()
	for then, end := range map[string]func(*testing.T, *semel.Claim){
		"unknown again": func(t *testing.T, c *semel.Claim) { t.Helper(); mustSucceed(t, c.Unknown("reset again")) },
		"completed":     func(t *testing.T, c *semel.Claim) { t.Helper(); mustSucceed(t, c.Complete([]byte("one"), nil)) },
		"running":       func(*testing.T, *semel.Claim) {},
	} {
		for name := range verdicts(nil, semel.Key{}) {
			t.Run(then+"/"+name, func(t *testing.T) {
				t.Parallel()
				g := newGuard(t, memstore.New(nil), &semel.Options{Policy: semel.Policy{OnUnknown: semel.Rerun}})
				first := mustClaim(t, g, testKey("a"))
				mustSucceed(t, first.Unknown("reset"))
				seen := mustLookup(t, g, testKey("a"))
				end(t, mustClaim(t, g, testKey("a"))) // a retry executes meanwhile
				want := mustLookup(t, g, testKey("a"))
				got, err := verdicts(g, testKey("a"))[name](t.Context(), seen.Fence)
				mustStay(t, g, want, got, err)
			})
		}
	}
}

// Promise 3: the store compares the fence. A retry that comes after the guard has
// looked, and before the verdict takes the record over, is not settled by it.
func TestVerdictRacesWithATakeover(t *testing.T) {
	t.Parallel()
	for name := range verdicts(nil, semel.Key{}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newHooked()
			g := newGuard(t, store, &semel.Options{Policy: semel.Policy{OnUnknown: semel.Rerun}})
			first := mustClaim(t, g, testKey("a"))
			mustSucceed(t, first.Unknown("reset"))
			var want semel.Record
			store.set(store.before, "claim", func() error {
				store.set(store.before, "claim", nil)
				mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown("reset again"))
				want = mustLookup(t, g, testKey("a"))
				return nil
			})
			got, err := verdicts(g, testKey("a"))[name](t.Context(), first.Fence())
			mustStay(t, g, want, got, err)
		})
	}
}

// Promise 3: a verdict without a look is refused where something may have
// happened, and so is one on a record that is gone.
func TestVerdictUnseen(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown("reset"))
	want := mustLookup(t, g, testKey("a"))
	for name, give := range verdicts(g, testKey("a")) {
		got, err := give(t.Context(), 0)
		t.Log(name)
		mustStay(t, g, want, got, err)
	}
	for name, give := range verdicts(g, testKey("never arrived")) {
		if rec, err := give(t.Context(), want.Fence); !errors.Is(err, semel.ErrNotFound) {
			t.Errorf("%s of what is gone: got %+v, %v; want ErrNotFound", name, rec, err)
		}
	}
	rec, err := operate(g).Cancel(t.Context(), alice, testKey("a"), want.Fence, "void")
	if err != nil || rec.State != semel.StateCancelled {
		t.Fatalf("cancel: got %+v, %v", rec, err)
	}
	if again, err := operate(g).Cancel(t.Context(), alice, testKey("a"), want.Fence, "void"); err != nil || again.Fence != rec.Fence {
		t.Errorf("cancel again: got %+v, %v; want the tombstone", again, err)
	}
}

// A lapsed claim that its holder reports as unknown is the same attempt.
func TestVerdictOnALapsedClaimThatIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		crash(t, store, testKey("a"))
		g := newGuard(t, store, nil)
		time.Sleep(semel.DefaultLease)
		seen := mustLookup(t, g, testKey("a"))
		mustSucceed(t, store.Settle(t.Context(), seen.Digest, seen.Fence, semel.Settlement{State: semel.StateUnknown, Retention: time.Hour}))
		release := semel.Settlement{State: semel.StateReleased, Note: "not in the ledger"}
		if _, err := operate(g).Resolve(t.Context(), alice, seen.Digest, seen.Fence, release); err != nil {
			t.Errorf("resolve: %v", err)
		}
	})
}

// Promise 3: what its holder cancels is refused from then on, and a holder that
// has lost the intent cancels nothing.
func TestClaimCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		crash(t, store, testKey("b"))
		g := newGuard(t, store, &semel.Options{Policy: semel.Policy{Retention: time.Hour, OnUnknown: semel.Rerun}})
		claim := mustClaim(t, g, testKey("a"))
		mustSucceed(t, claim.Cancel("the order was undone"))
		e := mustRefuse(t, g, testKey("a"), semel.ErrCancelled)
		if e.Record == nil || e.Record.Note != "the order was undone" || e.Record.Fence != claim.Fence() {
			t.Errorf("the tombstone is %+v", e.Record)
		}
		for name, again := range map[string]func() error{
			"cancel":   func() error { return claim.Cancel("again") },
			"complete": func() error { return claim.Complete(nil, nil) },
			"release":  func() error { return claim.Release("") },
		} {
			if err := again(); !errors.Is(err, semel.ErrSettled) {
				t.Errorf("%s afterwards: got %v, want ErrSettled", name, err)
			}
		}
		if page, err := operate(g).Audit(t.Context(), operator.AuditParams{}); err != nil || len(page.Entries) != 0 {
			t.Errorf("the trail has %+v, %v; want no verdict of an operator", page.Entries, err)
		}
		time.Sleep(semel.DefaultLease)
		former := mustLookup(t, g, testKey("b"))
		holder := mustClaim(t, g, testKey("b"))
		late := semel.Settlement{State: semel.StateCancelled, Retention: time.Hour}
		if err := store.Settle(t.Context(), former.Digest, former.Fence, late); !errors.Is(err, semel.ErrLost) {
			t.Errorf("a former holder cancels: got %v, want ErrLost", err)
		}
		mustSucceed(t, holder.Complete([]byte("one"), nil))
		time.Sleep(time.Hour)
		mustSucceed(t, mustClaim(t, g, testKey("a")).Release("")) // the tombstone has expired
	})
}

// The reply to a tombstone is lost, and it is left once.
func TestClaimCancelRepeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, store, nil)
		claim := mustClaim(t, g, testKey("a"))
		store.set(store.after, "settle", times(2, errBroken))
		mustSucceed(t, claim.Cancel("void"))
		if mustRefuse(t, g, testKey("a"), semel.ErrCancelled); store.count("settle") != 3 {
			t.Errorf("got %d settlements, want 3", store.count("settle"))
		}
	})
}

// A Reconcile function gives Do the result that Do would have kept.
func TestOutcomeOf(t *testing.T) {
	t.Parallel()
	type invoice struct{ Number int }
	db := memdb.New(memstore.New(nil), nil)
	g := newGuard(t, db, &semel.Options{Policy: semel.Policy{
		OnUnknown: semel.Reconcile,
		Reconcile: func(context.Context, semel.Record) (semel.Reconciliation, error) {
			outcome, err := semel.OutcomeOf(invoice{17})
			return semel.Reconciliation{Verdict: semel.Happened, Outcome: outcome, Kept: true}, err
		},
	}})
	create := func(context.Context) (invoice, error) { return invoice{}, semel.MarkUnknown(errBroken) }
	for name, do := range map[string]func(semel.Key) (invoice, error){
		"Do": func(k semel.Key) (invoice, error) { return semel.Do(t.Context(), g, k, testFingerprint(), create) },
		"DoTx": func(k semel.Key) (invoice, error) {
			return semel.DoTx(t.Context(), g, db, k, testFingerprint(), create)
		},
	} {
		if _, err := do(testKey(name)); !errors.Is(err, errBroken) {
			t.Fatalf("%s: got %v, want an unknown outcome", name, err)
		}
		for range 2 {
			if got, err := do(testKey(name)); err != nil || got.Number != 17 {
				t.Errorf("%s: got %+v, %v; want what was found", name, got, err)
			}
		}
	}
	if _, err := semel.OutcomeOf(make(chan int)); err == nil {
		t.Error("a channel was encoded")
	}
	if outcome, err := semel.OutcomeOf[*invoice](nil); err != nil {
		t.Errorf("nil: got %s, %v", outcome, err)
	}
}
