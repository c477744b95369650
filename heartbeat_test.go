package semel_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
)

// A full store does not end the work while the lease lasts: there may be room
// again in time.
func TestFullStoreDuringRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, store, nil)
		claim := mustClaim(t, g, testKey("a"))
		store.set(store.before, "renew", func() error { return semel.ErrFull })
		time.Sleep(semel.DefaultLease / 2)
		store.set(store.before, "renew", nil)
		time.Sleep(2 * semel.DefaultLease)
		if err := claim.Context().Err(); err != nil {
			t.Errorf("the work was stopped: %v", context.Cause(claim.Context()))
		}
		if err := claim.Complete([]byte("one"), nil); err != nil {
			t.Error(err)
		}
	})
}

// A renewal that is refused ends the work at once, not when the lease would.
func TestRefusedRenewalEndsTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, store, nil)
		claim := mustClaim(t, g, testKey("a"))
		began := time.Now()
		store.set(store.before, "renew", func() error { return semel.ErrLost })
		<-claim.Context().Done()
		if took := time.Since(began); took != semel.DefaultLease/3 {
			t.Errorf("told after %v, want at the first renewal", took)
		}
	})
}
