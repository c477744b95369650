package semel_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
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

// lateCopy is a store that gives the reply to the first claim so late that a
// copy of the request, on its way all the time, has won what it speaks of.
type lateCopy struct {
	*memstore.Store
	calls int
}

func (s *lateCopy) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	rec, won, err := s.Store.Claim(ctx, p)
	if s.calls++; s.calls == 1 {
		time.Sleep(rec.RetentionLeft())
		if _, late, err := s.Store.Claim(ctx, p); !late || err != nil {
			return semel.Record{}, false, err
		}
		time.Sleep(p.Lease / 2)
	}
	return rec, won, err
}

func (s *lateCopy) Renew(context.Context, semel.Digest, semel.Fence, time.Duration) error {
	return errBroken
}

// Promise 9: of a claim that was won before it was asked for the last time,
// no more is trusted than what is left of its lease.
func TestClaimWonByALateCopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &lateCopy{Store: memstore.New(nil)}
		g := newGuard(t, store, &semel.Options{Policy: semel.Policy{OnUnknown: semel.Rerun}})
		crashed := semel.ClaimParams{
			Digest: g.Digest(testKey("a")), Fingerprint: testFingerprint(), Owner: semel.Owner{1},
			Lease: time.Second, Retention: time.Second,
		}
		if _, won, err := store.Store.Claim(t.Context(), crashed); !won || err != nil {
			t.Fatalf("won %v, error %v", won, err)
		}
		time.Sleep(crashed.Lease)

		claim := mustClaim(t, g, testKey("a"))
		<-claim.Context().Done()
		rec, err := store.Lookup(t.Context(), claim.Digest())
		if err != nil || rec.Lapsed() {
			t.Errorf("promise 9: the work was told to stop %v after the lease had lapsed (error %v)", rec.ReadAt.Sub(rec.LeaseUntil), err)
		}
		if store.calls != 2 || rec.Attempt != 1 {
			t.Errorf("%d claims made attempt %d, want 2 and 1: the copy was not met", store.calls, rec.Attempt)
		}
	})
}
