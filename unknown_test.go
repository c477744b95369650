package semel_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// crash leaves a claim whose holder is gone: its guard dies without settling.
func crash(t *testing.T, store semel.Store, k semel.Key) {
	t.Helper()
	g, err := semel.New(storetest.Break(store, storetest.Faults{Before: func(c storetest.Call) error {
		if c.Verb == "settle" {
			return semel.ErrClosed
		}
		return nil
	}}), nil)
	mustSucceed(t, err)
	mustClaim(t, g, k)
	mustSucceed(t, g.Close())
}

// Promise 3: what may have executed is never executed again silently.
func TestCrashedHolderLeavesUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		crash(t, store, testKey("a"))
		g := newGuard(t, store, &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}})
		mustRefuse(t, g, testKey("a"), semel.ErrInFlight)
		time.Sleep(semel.DefaultLease)
		for range 3 {
			e := mustRefuse(t, g, testKey("a"), semel.ErrUnknown)
			if e.Retryable() || e.Record == nil || !e.Record.Lapsed() {
				t.Errorf("want the lapsed record and no retry, got %+v", e)
			}
		}
	})
}

// Promise 3: an unknown outcome is remembered longer than the answers of a
// policy with a short retention, however it came about.
func TestUnknownOutlivesAShortRetention(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*testing.T, *semel.Guard, semel.Store){
		"settled": func(t *testing.T, g *semel.Guard, _ semel.Store) {
			t.Helper()
			mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown("upstream reset"))
		},
		"lapsed": func(t *testing.T, g *semel.Guard, store semel.Store) {
			t.Helper()
			dying, err := semel.New(store, &semel.Options{Policy: g.Policy()})
			mustSucceed(t, err)
			mustClaim(t, dying, testKey("a"))
			mustSucceed(t, dying.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New(nil)
				g := newGuard(t, store, &semel.Options{Policy: semel.Policy{Retention: 10 * time.Second}})
				leave(t, g, store)
				time.Sleep(semel.DefaultRetention - time.Minute)
				mustRefuse(t, g, testKey("a"), semel.ErrUnknown)
				time.Sleep(time.Minute + semel.DefaultLease)
				mustSucceed(t, mustClaim(t, g, testKey("a")).Complete(nil, nil))
				time.Sleep(10 * time.Second)
				mustClaim(t, g, testKey("a"))
			})
		})
	}
}

// A waiter learns of the lapse while it waits.
func TestWaiterSeesTheLapse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		crash(t, store, testKey("a"))
		g := newGuard(t, store, &semel.Options{Policy: semel.Policy{Wait: time.Minute}})
		began := time.Now()
		mustRefuse(t, g, testKey("a"), semel.ErrUnknown)
		if took := time.Since(began); took != semel.DefaultLease {
			t.Errorf("learned of it after %v, want %v", took, semel.DefaultLease)
		}
	})
}

func TestRerunTakesOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		old := newGuard(t, store, nil)
		stale := mustClaim(t, old, testKey("a"))
		mustSucceed(t, stale.Unknown("upstream reset"))
		g := newGuard(t, store, &semel.Options{Policy: semel.Policy{OnUnknown: semel.Rerun}})
		claim := mustClaim(t, g, testKey("a"))
		if claim.Fence() <= stale.Fence() || claim.Attempt() != 2 {
			t.Errorf("got fence %d after %d, attempt %d; want a greater fence and attempt 2",
				claim.Fence(), stale.Fence(), claim.Attempt())
		}
		mustSucceed(t, claim.Complete([]byte("two"), nil))
		mustReplay(t, g, testKey("a"), "two")
	})
}

// Promise 1: a former holder cannot settle.
func TestFormerHolderIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		paused := newGuard(t, store, nil)
		stale := mustClaim(t, paused, testKey("a"))
		store.set(store.before, "renew", func() error { return errBroken })
		time.Sleep(semel.DefaultLease)
		cause := context.Cause(stale.Context())
		if !errors.Is(cause, semel.ErrLost) {
			t.Fatalf("the stale holder's context ended with %v, want ErrLost", cause)
		}
		store.set(store.before, "renew", nil)
		g := newGuard(t, store, &semel.Options{Policy: semel.Policy{OnUnknown: semel.Rerun}})
		claim := mustClaim(t, g, testKey("a"))
		if err := stale.Complete([]byte("stale"), nil); !errors.Is(err, semel.ErrLost) || !errors.Is(err, semel.ErrNotStored) {
			t.Errorf("the stale holder settled with %v, want ErrLost and ErrNotStored", err)
		}
		mustSucceed(t, claim.Complete([]byte("fresh"), nil))
		mustReplay(t, g, testKey("a"), "fresh")
	})
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	happened := semel.Reconciliation{Verdict: semel.Happened, Outcome: []byte("found"), Kept: true}
	tests := map[string]struct {
		found semel.Reconciliation
		err   error
		panic bool
		want  error  // of the attempt
		state string // of the record afterwards
		note  string
	}{
		"happened":          {found: happened, state: "completed"},
		"happened, no body": {found: semel.Reconciliation{Verdict: semel.Happened}, want: semel.ErrNotKept, state: "completed"},
		"did not happen":    {found: semel.Reconciliation{Verdict: semel.NotHappened}, state: "claimed"},
		"still unknown":     {want: semel.ErrUnknown, state: "unknown", note: "upstream reset"},
		"known later":       {found: semel.Reconciliation{Again: time.Minute}, want: semel.ErrUnknown, state: "unknown", note: "upstream reset"},
		"cannot ask":        {err: errBroken, found: happened, want: semel.ErrUnknown, state: "unknown", note: "connection reset"},
		"panics":            {panic: true, want: semel.ErrUnknown, state: "unknown", note: "panic"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memstore.New(nil)
			var asked []semel.Record
			g := newGuard(t, store, &semel.Options{Policy: semel.Policy{
				OnUnknown: semel.Reconcile,
				Reconcile: func(_ context.Context, rec semel.Record) (semel.Reconciliation, error) {
					asked = append(asked, rec)
					if tt.panic {
						panic("no such invoice")
					}
					return tt.found, tt.err
				},
			}})
			first := mustClaim(t, g, testKey("a"))
			mustSucceed(t, first.Unknown("upstream reset"))
			claim, rec, err := g.Begin(t.Context(), testKey("a"), testFingerprint())
			if !errors.Is(err, tt.want) {
				t.Fatalf("got error %v, want %v", err, tt.want)
			}
			if e, ok := errors.AsType[*semel.Error](err); ok && errors.Is(err, semel.ErrUnknown) &&
				(!e.Retryable() || e.RetryAfter != cmp.Or(tt.found.Again, 5*time.Second) || !strings.Contains(e.Advice(), "send the same request again")) {
				t.Errorf("got retryable %v after %v, %q; want a retry that finds out more", e.Retryable(), e.RetryAfter, e.Advice())
			}
			if tt.state == "claimed" && claim == nil {
				t.Error("got no claim to execute")
			}
			if tt.found.Kept && tt.err == nil && (rec == nil || string(rec.Outcome) != "found") {
				t.Errorf("got record %+v, want the found outcome", rec)
			}
			if len(asked) != 1 || asked[0].Fence != first.Fence() || asked[0].State != semel.StateUnknown {
				t.Errorf("asked with %+v, want the record as it was, once", asked)
			}
			after, err := g.Lookup(t.Context(), testKey("a"))
			if err != nil || after.State.String() != tt.state || !strings.Contains(after.Note, tt.note) {
				t.Errorf("afterwards the record is %v %q, %v; want %v with %q", after.State, after.Note, err, tt.state, tt.note)
			}
		})
	}
}

// Promise 3 and 7: a save that failed does not permit another run.
func TestOutcomeThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, store, nil)
		claim := mustClaim(t, g, testKey("a"))
		store.set(store.before, "settle", func() error { return errBroken })
		if err := claim.Complete([]byte("one"), nil); !errors.Is(err, semel.ErrNotStored) || !errors.Is(err, errBroken) {
			t.Fatalf("complete: got %v, want ErrNotStored with its cause", err)
		}
		store.set(store.before, "settle", nil)
		time.Sleep(semel.DefaultLease)
		mustRefuse(t, g, testKey("a"), semel.ErrUnknown)
	})
}

// A settlement whose reply was lost is repeated and recognised.
func TestSettleRepeatsALostReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, store, nil)
		claim := mustClaim(t, g, testKey("a"))
		store.set(store.after, "settle", times(3, errBroken))
		mustSucceed(t, claim.Complete([]byte("one"), nil))
		if n := store.count("settle"); n != 4 {
			t.Errorf("settle was called %d times, want 4", n)
		}
		mustReplay(t, g, testKey("a"), "one")
	})
}

// A claim whose reply was lost is repeated and recognised by its owner.
func TestClaimRepeatsALostReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, store, nil)
		store.set(store.after, "claim", times(2, errBroken))
		mustSucceed(t, mustClaim(t, g, testKey("a")).Complete([]byte("one"), nil))
	})
}

// Promise 10: without a claim nothing executes; and what was claimed by a
// reply that never came is given back, because it never ran.
func TestUnreachableStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, store, nil)
		store.set(store.after, "claim", func() error { return errBroken })
		began := time.Now()
		e := mustRefuse(t, g, testKey("a"), semel.ErrUnavailable)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("gave up after %v, want at most %v", took, 5*time.Second)
		}
		if !e.Retryable() || e.RetryAfter <= 0 {
			t.Errorf("want a retryable error, got %+v", e)
		}
		store.set(store.after, "claim", nil)
		time.Sleep(time.Second)
		mustSucceed(t, mustClaim(t, g, testKey("a")).Release(""))
	})
}

// The same for a takeover: what was unknown before must stay unknown.
func TestUnreachableStoreDuringTakeover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, store, &semel.Options{Policy: semel.Policy{OnUnknown: semel.Rerun}})
		mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown("upstream reset"))
		calls := 0
		store.set(store.after, "claim", func() error {
			if calls++; calls == 1 {
				return nil // the look that finds it unknown
			}
			return errBroken
		})
		mustRefuse(t, g, testKey("a"), semel.ErrUnavailable)
		store.set(store.after, "claim", nil)
		time.Sleep(time.Second)
		cautious := newGuard(t, &notOwned{store}, nil)
		mustRefuse(t, cautious, testKey("a"), semel.ErrUnknown)
	})
}

// notOwned is a store that its guard's test must not close.
type notOwned struct{ semel.Store }

func (notOwned) Close() error { return nil }

// The heartbeat keeps a long execution claimed, and MaxRun ends it.
func TestHeartbeatRenewsUntilMaxRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, store, &semel.Options{Policy: semel.Policy{MaxRun: 5 * time.Minute, Wait: semel.NoWait}})
		began := time.Now()
		claim := mustClaim(t, g, testKey("a"))
		for range 4 {
			time.Sleep(time.Minute)
			mustRefuse(t, g, testKey("a"), semel.ErrInFlight)
			if err := claim.Context().Err(); err != nil {
				t.Fatalf("the work was stopped early: %v", err)
			}
		}
		<-claim.Context().Done()
		if took := time.Since(began); took != 5*time.Minute {
			t.Errorf("the work was stopped after %v, want MaxRun", took)
		}
		cause := context.Cause(claim.Context())
		if !errors.Is(cause, context.DeadlineExceeded) || !errors.Is(cause, semel.ErrLost) {
			t.Errorf("after MaxRun the work's context ended with %v, want ErrLost for a deadline", cause)
		}
		time.Sleep(semel.DefaultLease)
		mustRefuse(t, g, testKey("a"), semel.ErrUnknown)
	})
}

// A renewal that fails now and then does no harm; the claim is lost, and its
// work told so, before the lease can lapse.
func TestHeartbeatUnderFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		var lost []semel.LostInfo
		g := newGuard(t, store, &semel.Options{Trace: &semel.Trace{
			Lost: func(_ context.Context, i semel.LostInfo) { lost = append(lost, i) },
		}})
		claim := mustClaim(t, g, testKey("a"))
		store.set(store.before, "renew", times(4, errBroken))
		time.Sleep(2 * time.Minute)
		if err := claim.Context().Err(); err != nil {
			t.Fatalf("lost after a passing fault: %v", err)
		}
		rec, err := g.Lookup(t.Context(), testKey("a"))
		mustSucceed(t, err)
		store.set(store.before, "renew", func() error { return errBroken })
		<-claim.Context().Done()
		if !time.Now().Before(rec.LeaseUntil.Add(semel.DefaultLease / 3)) {
			t.Errorf("told at %v, after the lease that was last renewed", time.Now())
		}
		synctest.Wait()
		if len(lost) != 1 {
			t.Errorf("traced %d losses, want 1", len(lost))
		}
	})
}

// A claim abandoned in a store that hangs: Settle and Renew that ignore their
// context do not hold the work hostage.
func TestHangingRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, store, nil)
		claim := mustClaim(t, g, testKey("a"))
		hang := make(chan struct{})
		store.set(store.before, "renew", func() error { <-hang; return errBroken })
		defer close(hang)
		began := time.Now()
		awaitEnd(t, claim)
		if took := time.Since(began); took >= semel.DefaultLease {
			t.Errorf("told after %v, when the lease may have lapsed", took)
		}
	})
}

func TestClaimSettlesOnce(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	claim := mustClaim(t, g, testKey("a"))
	mustSucceed(t, claim.Complete([]byte("one"), nil))
	for _, again := range []error{
		claim.Complete([]byte("one"), nil), claim.Complete([]byte("two"), nil), claim.Release(""), claim.Unknown(""), claim.CompleteWithout(nil),
	} {
		if !errors.Is(again, semel.ErrSettled) {
			t.Errorf("settling again: got %v, want ErrSettled", again)
		}
	}
	mustReplay(t, g, testKey("a"), "one")
	if claim.Context().Err() == nil {
		t.Error("the claim's context goes on after the settlement")
	}
}

// Promise 3: an answer too large to keep is not executed again.
func TestOutcomeTooLarge(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		store   semel.Store
		outcome int
	}{
		"beyond the policy": {memstore.New(nil), 101},
		"beyond the store":  {memstore.New(&memstore.Options{MaxBytes: 80}), 90},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, tt.store, &semel.Options{Policy: semel.Policy{MaxOutcomeBytes: 100}})
			mustSucceed(t, mustClaim(t, g, testKey("a")).Complete(make([]byte, tt.outcome), []byte("201")))
			e := mustRefuse(t, g, testKey("a"), semel.ErrNotKept)
			if e.Record == nil || string(e.Record.Outcome) != "201" {
				t.Errorf("got %+v, want the summary", e.Record)
			}
		})
	}
}

// A claim of this very attempt that lapsed while its replies were lost never
// ran, so it is taken over, not refused as unknown.
func TestClaimThatLapsedBeforeItsReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, store, &semel.Options{StoreTimeout: 5 * time.Minute})
		until := time.Now().Add(semel.DefaultLease)
		store.set(store.after, "claim", func() error {
			if time.Now().Before(until) {
				return errBroken
			}
			return nil
		})
		claim := mustClaim(t, g, testKey("a"))
		if claim.Attempt() != 2 {
			t.Errorf("got attempt %d, want a takeover of the first", claim.Attempt())
		}
	})
}

// The caller that goes away does not stop the work of a claim.
func TestClaimOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "trace 7"))
	claim, _, err := g.Begin(ctx, testKey("a"), testFingerprint())
	mustSucceed(t, err)
	cancel()
	if err := claim.Context().Err(); err != nil {
		t.Errorf("the work was stopped: %v", err)
	}
	if got := claim.Context().Value(key{}); got != "trace 7" {
		t.Errorf("the work's context lost the caller's values: %v", got)
	}
	mustSucceed(t, claim.Complete([]byte("one"), nil))
	mustReplay(t, g, testKey("a"), "one")
}

// Nor does a store that ignores its context hold the shutdown hostage.
func TestShutdownWithAHangingStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g, err := semel.New(store, nil)
		mustSucceed(t, err)
		mustClaim(t, g, testKey("a"))
		hang := make(chan struct{})
		store.set(store.before, "renew", func() error { <-hang; return errBroken })
		time.Sleep(semel.DefaultLease / 2)
		began := time.Now()
		if err := g.Close(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: got %v, want to hear of the store that hangs", err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("waited %v, want %v", took, 5*time.Second)
		}
		close(hang)
	})
}

// A store that is away, and ends its calls with their contexts, is not one that hangs.
func TestShutdownWithoutTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := storetest.Break(memstore.New(nil), storetest.Faults{})
		g, err := semel.New(store, nil)
		mustSucceed(t, err)
		mustClaim(t, g, testKey("a"))
		store.Partition()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "cut off: 1") {
			t.Errorf("shutdown: got %v, want the number of claims", err)
		}
	})
}

// Promise 3: what a full store refused to settle is settled once there is room, while the lease lasts.
func TestSettlementsAreRepeatedWhenAFullStoreHasRoomAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, store, nil)
		claim := mustClaim(t, g, testKey("a"))
		store.set(store.before, "settle", func() error { return semel.ErrFull })
		if err := claim.Complete([]byte("one"), nil); !errors.Is(err, semel.ErrNotStored) {
			t.Errorf("complete: got %v, want %v", err, semel.ErrNotStored)
		}
		store.set(store.before, "settle", nil)
		time.Sleep(semel.DefaultLease / 2)
		mustRefuse(t, g, testKey("a"), semel.ErrNotKept)
	})
}
