package semel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// TestDetachedContextOutlivesSettlement: a stream goes on after it was recorded.
func TestDetachedContextOutlivesSettlement(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, maxRun time.Duration) *semel.Claim {
		t.Helper()
		store := memstore.New(nil)
		guard, err := semel.New(store, &semel.Options{SweepEvery: -1, Policy: semel.Policy{MaxRun: maxRun}})
		mustSucceed(t, err)
		t.Cleanup(func() { _ = guard.Close() })
		claim, _, err := guard.Begin(t.Context(), semel.Key{Scope: "s", Name: "k"}, semel.Fingerprint{})
		mustSucceed(t, err)
		return claim
	}
	t.Run("until its end is called", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			claim := begin(t, time.Hour)
			detached := claim.Detach()
			mustSucceed(t, claim.CompleteWithout(nil))
			time.Sleep(59 * time.Minute)
			synctest.Wait()
			if err := claim.Context().Err(); err != nil {
				t.Errorf("after the settlement: %v, want a live context", err)
			}
			detached.End()
			if err := claim.Context().Err(); !errors.Is(err, context.Canceled) {
				t.Errorf("after its end: %v, want canceled", err)
			}
		})
	})
	t.Run("until MaxRun", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			claim := begin(t, time.Hour)
			detached := claim.Detach()
			defer detached.End()
			mustSucceed(t, claim.CompleteWithout(nil))
			time.Sleep(time.Hour)
			synctest.Wait()
			if err := context.Cause(claim.Context()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after MaxRun: %v, want a deadline", err)
			}
		})
	})
	t.Run("and ends at once when it was settled before", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			claim := begin(t, time.Hour)
			detached := claim.Detach()
			detached.End()
			mustSucceed(t, claim.Complete(nil, nil))
			if err := claim.Context().Err(); !errors.Is(err, context.Canceled) {
				t.Errorf("after the settlement: %v, want canceled", err)
			}
		})
	})
}

// TestDetachedKeepsItsSeat (promise 8): work that goes on after it was recorded
// counts among the live claims until it has ended.
func TestDetachedKeepsItsSeat(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	g, err := semel.New(store, &semel.Options{SweepEvery: -1, LiveClaims: 2, LiveClaimsPerScope: 1})
	mustSucceed(t, err)
	t.Cleanup(func() { _ = g.Close() })
	begin := func(scope, name string) (*semel.Claim, error) {
		claim, _, err := g.Begin(t.Context(), semel.Key{Scope: scope, Name: name}, semel.Fingerprint{})
		return claim, err
	}
	var streams []*semel.Detached
	for _, scope := range []string{"a", "b"} {
		claim, err := begin(scope, "first")
		mustSucceed(t, err)
		streams = append(streams, claim.Detach())
		mustSucceed(t, claim.CompleteWithout(nil))
		if _, err := begin(scope, "second"); scope == "a" && !errors.Is(err, semel.ErrQuota) {
			t.Errorf("a second of the scope: got %v, want ErrQuota", err)
		}
	}
	if _, err := begin("c", "third"); !errors.Is(err, semel.ErrBusy) || g.LiveClaims() != 2 || g.Detached() != 2 {
		t.Errorf("a third: got %v, %d live, %d detached", err, g.LiveClaims(), g.Detached())
	}
	for _, stream := range streams {
		stream.End()
		stream.End()
	}
	if _, err := begin("a", "second"); err != nil || g.LiveClaims() != 1 || g.Detached() != 0 {
		t.Errorf("after their end: got %v, %d live, %d detached", err, g.LiveClaims(), g.Detached())
	}
}

// TestDetachAfterTheEnd (promise 8): a claim gives its seat back once, even when
// its work was settled before it was detached.
func TestDetachAfterTheEnd(t *testing.T) {
	t.Parallel()
	g, err := semel.New(memstore.New(nil), &semel.Options{SweepEvery: -1, LiveClaimsPerScope: 1})
	mustSucceed(t, err)
	t.Cleanup(func() { _ = g.Close() })
	settled, _, err := g.Begin(t.Context(), semel.Key{Scope: "s", Name: "settled"}, semel.Fingerprint{})
	if err == nil {
		err = settled.CompleteWithout(nil)
	}
	mustSucceed(t, err)
	if _, _, err := g.Begin(t.Context(), semel.Key{Scope: "s", Name: "live"}, semel.Fingerprint{}); err != nil {
		t.Fatal(err)
	}
	late := settled.Detach()
	if got := g.Detached(); got != 0 {
		t.Errorf("after its claim was settled: %d detached, want none", got)
	}
	late.Abandon(time.Hour)
	late.Moved()
	late.End()
	if _, _, err := g.Begin(t.Context(), semel.Key{Scope: "s", Name: "second"}, semel.Fingerprint{}); !errors.Is(err, semel.ErrQuota) || g.LiveClaims() != 1 {
		t.Errorf("after its end: got %v, %d live, want ErrQuota and the one that runs", err, g.LiveClaims())
	}
}

// TestAbandoned (promise 8): work that no caller waits for is cut off when it
// makes no progress, when there is too much of it, and when the guard shuts down.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	const most, idle = 64, time.Minute
	begin := func(t *testing.T, n int) (*semel.Guard, []*semel.Claim, []*semel.Detached) {
		t.Helper()
		g, err := semel.New(memstore.New(nil), &semel.Options{SweepEvery: -1, Policy: semel.Policy{MaxRun: 24 * time.Hour}})
		mustSucceed(t, err)
		var claims []*semel.Claim
		var streams []*semel.Detached
		for i := range n {
			claim, _, err := g.Begin(t.Context(), semel.Key{Scope: "s", Name: fmt.Sprint(i)}, semel.Fingerprint{})
			mustSucceed(t, err)
			claims, streams = append(claims, claim), append(streams, claim.Detach())
			mustSucceed(t, claim.CompleteWithout(nil))
		}
		t.Cleanup(func() {
			for _, stream := range streams {
				stream.End()
			}
			_ = g.Close()
		})
		return g, claims, streams
	}
	t.Run("stands still", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			_, claims, streams := begin(t, 3)
			streams[0].Abandon(idle)
			streams[1].Abandon(idle)
			time.Sleep(idle / 2)
			streams[1].Moved()
			time.Sleep(idle/2 + time.Second)
			if got := []error{claims[0].Context().Err(), claims[1].Context().Err()}; got[0] == nil || got[1] != nil {
				t.Errorf("after idle: %v, want the first cut off", got)
			}
			time.Sleep(idle)
			if got := []error{claims[1].Context().Err(), claims[2].Context().Err()}; got[0] == nil || got[1] != nil {
				t.Errorf("later: %v, want what has a reader alone", got)
			}
		})
	})
	t.Run("too much", func(t *testing.T) {
		t.Parallel()
		_, claims, streams := begin(t, most+2)
		for i, stream := range streams {
			stream.Abandon(time.Hour)
			if i == 1 {
				stream.End() // it makes room
			}
		}
		for i, claim := range claims {
			if cut := claim.Context().Err() != nil; cut != (i < 2) {
				t.Errorf("%d: cut off %v", i, cut)
			}
		}
	})
	t.Run("shutdown", func(t *testing.T) {
		t.Parallel()
		g, claims, streams := begin(t, 3)
		streams[0].Abandon(time.Hour)
		mustSucceed(t, g.Shutdown(t.Context()))
		streams[1].Abandon(time.Hour)
		for i, claim := range claims {
			if cut := claim.Context().Err() != nil; cut != (i < 2) { // the last has a reader
				t.Errorf("%d: cut off %v", i, cut)
			}
		}
	})
	t.Run("shutdown, and MaxRun", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			g, claims, _ := begin(t, 1)
			mustSucceed(t, g.Shutdown(t.Context()))
			time.Sleep(24*time.Hour - time.Second)
			if err := claims[0].Context().Err(); err != nil {
				t.Errorf("before MaxRun: %v", err)
			}
			time.Sleep(2 * time.Second)
			if claims[0].Context().Err() == nil {
				t.Error("promise 8: what has a reader outlives MaxRun after a shutdown")
			}
		})
	})
}
