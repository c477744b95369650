package semel_test

import (
	"context"
	"errors"
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
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = guard.Close() })
		claim, _, err := guard.Begin(t.Context(), semel.Key{Scope: "s", Name: "k"}, semel.Fingerprint{})
		if err != nil {
			t.Fatal(err)
		}
		return claim
	}
	t.Run("until its end is called", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			claim := begin(t, time.Hour)
			end := claim.Detach()
			if err := claim.CompleteWithout(nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(59 * time.Minute)
			synctest.Wait()
			if err := claim.Context().Err(); err != nil {
				t.Errorf("after the settlement: %v, want a live context", err)
			}
			end()
			if err := claim.Context().Err(); !errors.Is(err, context.Canceled) {
				t.Errorf("after its end: %v, want canceled", err)
			}
		})
	})
	t.Run("until MaxRun", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			claim := begin(t, time.Hour)
			end := claim.Detach()
			defer end()
			if err := claim.CompleteWithout(nil); err != nil {
				t.Fatal(err)
			}
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
			end := claim.Detach()
			end()
			if err := claim.Complete(nil, nil); err != nil {
				t.Fatal(err)
			}
			if err := claim.Context().Err(); !errors.Is(err, context.Canceled) {
				t.Errorf("after the settlement: %v, want canceled", err)
			}
		})
	})
}
