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

// Close lets everything end that has begun, and refuses what is new.
func TestCloseDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, g := memory(), newGate()
		b.before = g.pass
		s := wrap(t, b, &groupcommit.Options{InFlight: 1, MaxBatch: 4, MaxQueue: 8})
		var wg sync.WaitGroup
		for i := range 9 {
			wg.Go(func() {
				if _, won, err := s.Claim(t.Context(), params(fmt.Sprint(i/2))); err != nil || won != (i%2 == 0) && i/2 == 4 {
					t.Error(i, won, err)
				}
			})
			synctest.Wait()
		}
		wg.Go(func() { // it waits for a place
			if _, _, err := s.Claim(t.Context(), params("late")); !errors.Is(err, semel.ErrClosed) {
				t.Errorf("got %v, want ErrClosed", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if _, _, err := s.Claim(t.Context(), params("new")); !errors.Is(err, semel.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		if err := s.Settle(t.Context(), params("new").Digest, 1, completed("one")); !errors.Is(err, semel.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		close(g.open)
		wg.Wait()
	})
}

// No step waits for others when the store closes.
func TestCloseWaitsForNoCompany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := wrap(t, memory(), &groupcommit.Options{MaxDelay: time.Second})
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { claims(t, s, params(fmt.Sprint(i))) })
		}
		synctest.Wait()
		began := time.Now()
		if err := s.Close(); err != nil || time.Since(began) != 0 {
			t.Errorf("closed after %v: %v; want at once", time.Since(began), err)
		}
		wg.Wait()
	})
}

// Close does not wait for ever. What had not left is refused; of what was under
// way the outcome is unknown.
func TestCloseGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := memory()
		b.before = func(ctx context.Context, _ call) error {
			<-ctx.Done()
			return ctx.Err()
		}
		s := wrap(t, b, &groupcommit.Options{InFlight: 1, Timeout: 2 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		claim := func(name string, closed, hangs bool) {
			wg.Go(func() {
				if _, won, err := s.Claim(ctx, params(name)); won || err == nil || errors.Is(err, semel.ErrClosed) != closed {
					t.Errorf("%s: got %v, %v; want ErrClosed: %v", name, won, err, closed)
				}
				if hangs != (ctx.Err() != nil) {
					t.Errorf("%s: answered when its context had ended: %v", name, ctx.Err() != nil)
				}
			})
			synctest.Wait()
		}
		claim("hangs", false, true)
		claim("hangs", true, false) // behind it
		for i := range 6 {          // a batch that is lost; its first step is then repeated, and hangs
			claim(fmt.Sprint(i), false, i == 0)
		}
		time.Sleep(3 * time.Second) // the one that hangs no longer counts, and a batch is under way
		claim("waits", true, false)
		began := time.Now()
		wg.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != 2*time.Second {
				t.Errorf("closed after %v, want 2s", took)
			}
		})
		time.Sleep(3 * time.Second)
		cancel() // the store below knows no other end of what hangs
		wg.Wait()
	})
}

// A step that a lost batch may have taken must not look as if nothing had
// happened, although the store is closed when it is repeated.
func TestLostBatchAndClosedStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := memory()
		b.after = func(_ context.Context, c call) error {
			if !c.batch {
				return nil
			}
			_ = b.Close()
			return errBroken
		}
		_, errs := claimAll(t, b, wrap(t, b, &groupcommit.Options{InFlight: 1}), 3)
		for _, err := range errs {
			if !errors.Is(err, errBroken) || errors.Is(err, semel.ErrClosed) {
				t.Errorf("got %v, want the batch's error and not ErrClosed", err)
			}
		}
	})
}
