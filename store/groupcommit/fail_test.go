package groupcommit_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/groupcommit"
)

// claimAll lets many callers claim behind one that is under way, so that they
// share batches, and returns what they got.
func claimAll(t *testing.T, b *batcher, s *groupcommit.Store, n int) (recs []semel.Record, errs []error) {
	t.Helper()
	g := newGate()
	after := b.before
	first := true
	b.before = func(ctx context.Context, c call) error {
		if first {
			first = false
			return g.pass(ctx, c)
		}
		if after == nil {
			return nil
		}
		return after(ctx, c)
	}
	recs, errs = make([]semel.Record, n), make([]error, n)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, _, err := s.Claim(t.Context(), params("first")); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	for i := range n {
		wg.Go(func() {
			var won bool
			recs[i], won, errs[i] = s.Claim(t.Context(), params(fmt.Sprint(i)))
			if won != (errs[i] == nil) {
				t.Errorf("caller %d: won %v, %v", i, won, errs[i])
			}
		})
	}
	synctest.Wait()
	close(g.open)
	wg.Wait()
	if _, batches := b.count("claim"); batches == 0 {
		t.Error("no caller shared a batch")
	}
	return recs, errs
}

// What fails a batch hits only the caller whose step it was.
func TestPoisonHitsItsOwnCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := memory()
		b.poison = params("7").Digest
		s := wrap(t, b, &groupcommit.Options{InFlight: 1})
		_, errs := claimAll(t, b, s, 20)
		for i, err := range errs {
			if (i == 7) != errors.Is(err, errPoison) || (i != 7 && err != nil) {
				t.Errorf("caller %d: got %v", i, err)
			}
		}
		// The first one, the batch, and each of its steps.
		if calls, batches := b.count("claim"); calls != 22 || batches != 1 {
			t.Errorf("%d calls, %d of them batches; want 22 and 1", calls, batches)
		}
		b.check(t, 1)
	})
}

// Whatever a batch does, every caller gets its answer by the store's own verb.
func TestBatchThatGoesWrong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, after func(context.Context, call) error
	}{
		"error before": {before: func(context.Context, call) error { return errBroken }},
		"error after":  {after: func(context.Context, call) error { return errBroken }},
		"panic before": {before: func(context.Context, call) error { panic("lost its mind") }},
		"panic after":  {after: func(context.Context, call) error { panic("lost its mind") }},
		"exit":         {before: func(context.Context, call) error { runtime.Goexit(); return nil }},
		"hangs":        {before: func(ctx context.Context, _ call) error { <-ctx.Done(); return ctx.Err() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := memory()
				batches := func(f func(context.Context, call) error) func(context.Context, call) error {
					return func(ctx context.Context, c call) error {
						if f == nil || !c.batch {
							return nil
						}
						return f(ctx, c)
					}
				}
				b.before, b.after = batches(tt.before), batches(tt.after)
				s := wrap(t, b, &groupcommit.Options{InFlight: 1})
				recs, errs := claimAll(t, b, s, 20)
				for i, err := range errs {
					if err != nil || recs[i].Name != fmt.Sprint(i) {
						t.Errorf("caller %d: got %v, %v", i, recs[i], err)
					}
				}
				b.check(t, 1)
			})
		})
	}
}

// wrong is a batcher that miscounts.
type wrong struct {
	*batcher

	extra int
}

func (w wrong) Batch(ctx context.Context, ps []semel.ClaimParams, ss []semel.SettleParams) ([]semel.ClaimAnswer, []error, error) {
	won, settled, err := w.batcher.Batch(ctx, ps, ss)
	if w.extra > 0 {
		return append(won, make([]semel.ClaimAnswer, w.extra)...), settled, err
	}
	return won[:len(won)+w.extra], settled, err
}

func TestBatchWithTheWrongNumberOfAnswers(t *testing.T) {
	t.Parallel()
	for _, extra := range []int{-1, 1} {
		synctest.Test(t, func(t *testing.T) {
			b := memory()
			recs, errs := claimAll(t, b, wrap(t, wrong{b, extra}, &groupcommit.Options{InFlight: 1}), 20)
			for i, err := range errs {
				if err != nil || recs[i].Name != fmt.Sprint(i) {
					t.Errorf("caller %d: got %v, %v", i, recs[i], err)
				}
			}
		})
	}
}

// Promise 8: a store that is down is not asked more at a time than one that is
// up, and not at all for those who have gone.
func TestStoreThatIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const callers = 40
		b := memory()
		b.before = func(ctx context.Context, _ call) error { // it swallows whatever is sent
			<-ctx.Done()
			return ctx.Err()
		}
		s := wrap(t, b, &groupcommit.Options{InFlight: 2, Timeout: 2 * time.Second})
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				if _, _, err := s.Claim(ctx, params(fmt.Sprint(i))); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want the end of the context", err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		// Two alone; a batch when they no longer count; its steps, two at a time,
		// until their callers have gone. Without batches it would be one each.
		if calls, _ := b.count("claim"); calls > 10 {
			t.Errorf("a store that is down was asked %d times for %d callers", calls, callers)
		}
		b.before = nil
		wins(t, s, params("later"))
	})
}

// A call that hangs for ever holds others up for the timeout and a quarter.
func TestCallThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, g := memory(), newGate()
		first := true
		b.before = func(_ context.Context, c call) error {
			if first {
				first = false
				g.arrived <- c
				<-g.open // whatever its context says
			}
			return nil
		}
		s := wrap(t, b, &groupcommit.Options{InFlight: 1, Timeout: 2 * time.Second})
		var wg sync.WaitGroup
		wg.Go(func() { claims(t, s, params("hangs")) })
		synctest.Wait()
		began := time.Now()
		for i := range 3 {
			wg.Go(func() {
				if _, won, err := s.Claim(t.Context(), params(fmt.Sprint(i))); err != nil || !won {
					t.Error(won, err)
				}
				if took := time.Since(began); took != 2500*time.Millisecond {
					t.Errorf("answered after %v, want 2.5s", took)
				}
			})
		}
		time.Sleep(3 * time.Second)
		if _, won, err := s.Claim(t.Context(), params("another")); err != nil || !won || time.Since(began) != 3*time.Second {
			t.Errorf("got %v, %v after %v; want it at once", won, err, time.Since(began))
		}
		close(g.open)
		wg.Wait()
		wins(t, s, params("after all"))
	})
}

// A call that hung for so long that it no longer counted does not make room
// when it returns: another caller is there by then.
func TestCallThatReturnsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, hung, next := memory(), newGate(), newGate()
		b.before = func(_ context.Context, c call) error {
			switch c.claims[0] {
			case params("hung").Digest:
				<-hung.open
			case params("next").Digest:
				<-next.open
			}
			return nil
		}
		s := wrap(t, b, &groupcommit.Options{InFlight: 1, Timeout: 2 * time.Second})
		var wg sync.WaitGroup
		claim := func(name string) {
			wg.Go(func() { claims(t, s, params(name)) })
			synctest.Wait()
		}
		claim("hung")
		time.Sleep(3 * time.Second)
		claim("next") // in the place of the one that hangs
		close(hung.open)
		synctest.Wait()
		claim("third")
		if calls, _ := b.count("claim"); calls != 2 {
			t.Errorf("%d calls were made, want the third to wait for the second", calls)
		}
		close(next.open)
		wg.Wait()
	})
}

// A panic of the store's own verb reaches its caller, and no other.
func TestPanicOfAVerb(t *testing.T) {
	t.Parallel()
	b := memory()
	var panics atomic.Bool
	b.before = func(context.Context, call) error {
		if panics.Load() {
			panic("lost its mind")
		}
		return nil
	}
	s := wrap(t, b, &groupcommit.Options{InFlight: 1})
	panics.Store(true)
	func() {
		defer func() {
			if p := recover(); p != "lost its mind" {
				t.Errorf("got %v, want the panic", p)
			}
		}()
		_, _, err := s.Claim(t.Context(), params("a"))
		t.Errorf("got %v, want a panic", err)
	}()
	panics.Store(false)
	wins(t, s, params("a"))
}
