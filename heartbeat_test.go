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

// awaitEnd waits until the context of the work ends.
func awaitEnd(t *testing.T, claim *semel.Claim) {
	t.Helper()
	select {
	case <-claim.Context().Done():
	case <-time.After(time.Hour):
		t.Fatal("the work was never told that it must stop")
	}
}

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
		awaitEnd(t, claim)
		if took := time.Since(began); took != semel.DefaultLease/3 {
			t.Errorf("told after %v, want at the first renewal", took)
		}
	})
}

// Promise 9: the holder trusts its lease from when the call that asked for it
// started, less a tenth: the store may have set it then already, however late
// the reply came, or if none did.
func TestLeaseIsTrustedFromTheStartOfTheCall(t *testing.T) {
	t.Parallel()
	const (
		beat  = semel.DefaultLease / 3
		trust = semel.DefaultLease - semel.DefaultLease/10
		late  = 8 * time.Second
	)
	type hook = func(stop <-chan struct{}) error
	slow := func(<-chan struct{}) error { time.Sleep(late); return nil }
	fail := func(<-chan struct{}) error { return errBroken }
	hang := func(stop <-chan struct{}) error { <-stop; return errBroken }
	refuse := func(<-chan struct{}) error { return semel.ErrLost }
	refuseLate := func(<-chan struct{}) error { time.Sleep(late); return semel.ErrLost }
	tests := map[string]struct {
		claimed hook          // what follows on the store's step of the claim
		before  hook          // before the store's step of a renewal
		after   []hook        // after the step of the first, the second, … renewal; the last repeats
		told    time.Duration // when the work must stop, from the start of the claim
	}{
		"the claim's reply is late":  {claimed: slow, before: fail, told: trust},
		"a renewal's reply is late":  {after: []hook{slow, fail}, told: beat + trust},
		"every reply is lost":        {after: []hook{fail}, told: trust},
		"no renewal arrives":         {before: fail, told: trust},
		"the store hangs":            {before: hang, told: trust},
		"the store hangs afterwards": {after: []hook{hang}, told: trust},
		"refused":                    {before: refuse, told: beat},
		"refused late":               {before: refuseLate, told: beat + late},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, stop := newHooked(), make(chan struct{})
				bound := func(h hook) func() error {
					if h == nil {
						return nil
					}
					return func() error { return h(stop) }
				}
				renewal := 0
				store.set(store.after, "claim", bound(tt.claimed))
				store.set(store.before, "renew", bound(tt.before))
				if tt.after != nil {
					store.set(store.after, "renew", func() error {
						renewal++
						return tt.after[min(renewal, len(tt.after))-1](stop)
					})
				}
				g := newGuard(t, store, nil)
				began := time.Now()
				claim := mustClaim(t, g, testKey("a"))
				defer close(stop)
				awaitEnd(t, claim)
				if told := time.Since(began); told != tt.told {
					t.Errorf("promise 9: told %v after the claim was asked for, want %v", told, tt.told)
				}
				if cause := context.Cause(claim.Context()); !errors.Is(cause, semel.ErrLost) {
					t.Errorf("the cause is %v, want ErrLost", cause)
				}
			})
		})
	}
}

// skewed is a store whose clock takes a lease for another length than the
// host's does.
type skewed struct {
	*hooked

	tenths int64 // of the host's time
}

func (s *skewed) length(d time.Duration) time.Duration {
	return time.Duration(int64(d) / 10 * s.tenths)
}

func (s *skewed) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	p.Lease = s.length(p.Lease)
	return s.hooked.Claim(ctx, p)
}

func (s *skewed) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	return s.hooked.Renew(ctx, d, f, s.length(lease))
}

// Promise 9: where the host's clock runs a tenth slower or faster than the
// store's, a claim that is renewed is never lost, and one that is not ends
// before the store lets another attempt take over.
func TestClocksThatRunAtOtherSpeeds(t *testing.T) {
	t.Parallel()
	for _, tenths := range []int64{9, 10, 11} {
		t.Run(fmt.Sprint(tenths, " tenths"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &skewed{hooked: newHooked(), tenths: tenths}
				g := newGuard(t, store, nil)
				claim := mustClaim(t, g, testKey("a"))
				for range 1000 {
					time.Sleep(701 * time.Millisecond)
					rec, err := g.Lookup(t.Context(), testKey("a"))
					if err != nil || rec.Lapsed() || claim.Context().Err() != nil {
						t.Fatalf("while it is renewed: lapsed %t, %v, %v", rec.Lapsed(), context.Cause(claim.Context()), err)
					}
				}
				store.set(store.before, "renew", func() error { return errBroken })
				awaitEnd(t, claim)
				rec, err := g.Lookup(t.Context(), testKey("a"))
				if err != nil || time.Now().After(rec.LeaseUntil) {
					t.Errorf("promise 9: told at %v, and the lease ended at %v; %v", time.Now(), rec.LeaseUntil, err)
				}
			})
		})
	}
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
			t.Errorf("promise 9: the work's context ended %v after the lease had lapsed (error %v)", rec.ReadAt.Sub(rec.LeaseUntil), err)
		}
		if store.calls != 2 || rec.Attempt != 1 {
			t.Errorf("%d claims made attempt %d, want 2 and 1: the copy was not met", store.calls, rec.Attempt)
		}
	})
}
