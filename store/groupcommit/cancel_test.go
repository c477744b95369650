package groupcommit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/groupcommit"
)

// A caller whose context ends gets its error at once; no other caller notices, and
// the step is taken only if it had left.
func TestCallerThatGoesAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, g := memory(), newGate()
		b.before = g.pass
		s := wrap(t, b, &groupcommit.Options{InFlight: 1, MaxBatch: 4, Timeout: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		claim := func(ctx context.Context, name string, want error) {
			wg.Go(func() {
				_, won, err := s.Claim(ctx, params(name))
				if !errors.Is(err, want) || won != (want == nil) {
					t.Errorf("%s: got %v, %v; want %v", name, won, err, want)
				}
			})
			synctest.Wait()
		}
		claim(t.Context(), "alone", nil)
		claim(ctx, "in the batch, and cancelled", context.Canceled)
		claim(t.Context(), "in the batch", nil)
		claim(t.Context(), "in the batch too", nil)
		g.open <- struct{}{} // the first returns, the next three leave together
		synctest.Wait()
		claim(ctx, "waits, and cancelled", context.Canceled)
		claim(t.Context(), "waits", nil)
		claim(ctx, "waits", context.Canceled) // behind the one before
		claim(t.Context(), "waits too", nil)
		cancel()
		synctest.Wait()
		close(g.open)
		wg.Wait()
		for name, want := range map[string]error{
			"alone": nil, "in the batch": nil, "in the batch too": nil, "waits": nil, "waits too": nil,
			"in the batch, and cancelled": nil, "waits, and cancelled": semel.ErrNotFound,
		} {
			if _, err := s.Lookup(t.Context(), params(name).Digest); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", name, err, want)
			}
		}
		if calls, batches := b.count("claim"); calls != 3 || batches != 2 {
			t.Errorf("%d calls, %d of them batches; want 3 and 2", calls, batches)
		}
	})
}

// A caller that goes away may use the memory of its outcome again, and what
// others ask must not come to lie there.
func TestCallerThatGoesAwayTakesItsMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, g := memory(), newGate()
		s := wrap(t, b, &groupcommit.Options{InFlight: 1, Timeout: time.Minute})
		var recs []semel.Record
		for i := range 40 {
			rec := wins(t, s, params(fmt.Sprint(i)))
			recs = append(recs, rec)
		}
		b.before = g.pass
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		settle := func(ctx context.Context, i int) {
			wg.Go(func() {
				to := completed(fmt.Sprint("the answer ", i))
				err := s.Settle(ctx, recs[i].Digest, recs[i].Fence, to)
				copy(to.Outcome, strings.Repeat("X", len(to.Outcome)))
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			})
		}
		settle(t.Context(), 0)
		synctest.Wait()
		for i := 1; i < 20; i++ {
			settle(ctx, i)
		}
		synctest.Wait()
		g.open <- struct{}{} // the nineteen are under way
		synctest.Wait()
		cancel()
		synctest.Wait()
		for i := 20; i < 40; i++ {
			settle(t.Context(), i)
		}
		synctest.Wait()
		close(g.open)
		wg.Wait()
		synctest.Wait()
		for i := range recs {
			if rec, err := s.Lookup(t.Context(), recs[i].Digest); err != nil || string(rec.Outcome) != fmt.Sprint("the answer ", i) {
				t.Errorf("got %q, %v; want the answer %d", rec.Outcome, err, i)
			}
		}
	})
}

// A context that ends in the very moment in which the answer or the turn comes
// loses neither; run under the race detector.
func TestCallersThatGoAwayAtAnyTime(t *testing.T) {
	t.Parallel()
	b := memory()
	b.before = slow
	s := wrap(t, b, &groupcommit.Options{InFlight: 2, MaxBatch: 4, MaxQueue: 8})
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for j := range 60 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(j*i%23)*10*time.Microsecond)
				p := params(fmt.Sprint(j % 7)) // many want the same
				p.Owner[1], p.Owner[2] = byte(i), byte(j)
				rec, won, err := s.Claim(ctx, p)
				cancel()
				switch {
				case err != nil && !errors.Is(err, context.DeadlineExceeded):
					t.Error(err)
				case err == nil && rec.Digest != p.Digest:
					t.Errorf("got the record of another: %+v", rec)
				case err == nil && won:
					if err := s.Settle(t.Context(), rec.Digest, rec.Fence, semel.Settlement{State: semel.StateReleased}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	b.check(t, 2)
	// Nothing is stuck: every key can still be asked for.
	for j := range 7 {
		_, _, err := s.Claim(t.Context(), params(fmt.Sprint(j)))
		noError(t, err)
	}
}
