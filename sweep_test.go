package semel_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// slowSweeper takes a second for each step, and has some full ones.
type slowSweeper struct {
	semel.Store

	full int
	done chan time.Time // at the end of all
}

func (s *slowSweeper) Sweep(ctx context.Context, limit int) (int, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if s.full--; s.full >= 0 {
		return limit, nil
	}
	if s.full == -1 {
		s.done <- time.Now()
	}
	return 0, nil
}

// Sweeping takes a fifth of a connection's time at most, however much there is.
func TestSweepingLeavesTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowSweeper{Store: memstore.New(nil), full: 9, done: make(chan time.Time, 1)}
		g := newGuard(t, s, &semel.Options{SweepEvery: time.Minute})
		defer g.Close()
		began := time.Now().Add(time.Minute)
		took := (<-s.done).Sub(began)
		if want := 10*time.Second + 9*4*time.Second; took != want {
			t.Errorf("ten steps of a second took %v, want %v", took, want)
		}
	})
}
