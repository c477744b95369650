package groupcommit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/groupcommit"
)

// Claims and settlements share one batch, and each gets its own answer, although the
// batch is lost before or after it was taken (promises 1, 2 and 7).
func TestClaimsAndSettlementsShareABatch(t *testing.T) {
	t.Parallel()
	lost := func(_ context.Context, c call) error {
		if c.batch {
			return errBroken
		}
		return nil
	}
	for name, tt := range map[string]struct {
		before, after func(context.Context, call) error
		calls         int // in all
	}{
		"kept":        {calls: 2},
		"lost before": {before: lost, calls: 2 + 21},
		"lost after":  {after: lost, calls: 2 + 21},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := memory()
				s := wrap(t, b, &groupcommit.Options{InFlight: 1})
				var held []semel.Record
				for i := range 10 {
					held = append(held, wins(t, s, params(fmt.Sprint("held ", i))))
				}
				b.calls, b.after = nil, tt.after
				claimAndSettle(t, b, s, tt.before, held)
				if len(b.calls) != tt.calls || b.mixed() != 1 {
					t.Errorf("%d calls, %d of them batches of both; want %d and 1", len(b.calls), b.mixed(), tt.calls)
				}
				b.check(t, 1)
			})
		})
	}
}

// claimAndSettle claims as many intents as it settles, by turns, behind a claim that
// is under way.
func claimAndSettle(t *testing.T, b *batcher, s *groupcommit.Store, before func(context.Context, call) error, held []semel.Record) {
	t.Helper()
	g := newGate()
	b.before = g.pass
	var wg sync.WaitGroup
	wg.Go(func() { claims(t, s, params("first")) })
	synctest.Wait()
	b.before = before
	for i, rec := range held {
		wg.Go(func() { claims(t, s, params(fmt.Sprint("new ", i))) })
		synctest.Wait()
		wg.Go(func() {
			if err := s.Settle(t.Context(), rec.Digest, rec.Fence, completed(fmt.Sprint("answer ", i))); err != nil {
				t.Errorf("settlement %d: %v", i, err)
			}
		})
		synctest.Wait()
	}
	wg.Go(func() {
		if err := s.Settle(t.Context(), params("none").Digest, 1, completed("late")); !errors.Is(err, semel.ErrLost) {
			t.Errorf("a settlement without a claim: got %v, want it refused", err)
		}
	})
	synctest.Wait()
	close(g.open)
	wg.Wait()
	for i, rec := range held {
		if found, err := s.Lookup(t.Context(), rec.Digest); err != nil || string(found.Outcome) != fmt.Sprint("answer ", i) {
			t.Errorf("settlement %d: got %q, %v", i, found.Outcome, err)
		}
		if found, err := s.Lookup(t.Context(), params(fmt.Sprint("new ", i)).Digest); err != nil || found.State != semel.StateClaimed {
			t.Errorf("claim %d: got %v, %v", i, found.State, err)
		}
	}
}

// A settlement does not wait for the claims of its duplicates, one of which hangs, nor
// do they wait for it: they may share a batch.
func TestDuplicateDoesNotHoldUpItsHolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, g := memory(), newGate()
		s := wrap(t, b, &groupcommit.Options{InFlight: 2, Timeout: time.Minute})
		rec := wins(t, s, params("a"))
		twin := params("a")
		twin.Owner[0]++
		b.before = g.pass
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, won, err := s.Claim(t.Context(), twin); err != nil || won {
				t.Error(won, err)
			}
		})
		synctest.Wait()
		b.before = nil
		settles(t, s, rec, completed("one"))
		b.before = g.pass
		wg.Go(func() { claims(t, s, params("b")) })
		synctest.Wait()
		wg.Go(func() {
			if got, won, err := s.Claim(t.Context(), twin); err != nil || won || string(got.Outcome) != "one" {
				t.Error(got, won, err)
			}
		})
		close(g.open)
		wg.Wait()
	})
}
