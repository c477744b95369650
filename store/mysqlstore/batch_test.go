package mysqlstore_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
)

// An outcome that is more than the server takes touches no other step.
func TestBatchWithTooLargeAnOutcome(t *testing.T) {
	t.Parallel()
	s, _, _ := ticking(t, fast, nil)
	answers, _, err := s.Batch(t.Context(), batchOf("k", 3), nil)
	noError(t, err)
	ss := settlementsOf(answers, retention)
	ss[1].Settlement.Outcome = make([]byte, 17<<20)
	if _, errs, err := s.Batch(t.Context(), nil, ss); err != nil || errs[0] != nil || !errors.Is(errs[1], semel.ErrFull) || errs[2] != nil {
		t.Errorf("got %v, error %v, want only the second to be %v", errs, err, semel.ErrFull)
	}
	wantFound(t, s, ss[1].Digest, semel.StateClaimed)
}

// A batch that releases an intent tells its holder so, although another caller
// claims the intent the instant it is free, and although the batch has a step
// that changes nothing (promise 1).
func TestBatchReleasesBeforeTheNextClaim(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	near := open(t, dsn, nil)
	farDSN, proxy := proxied(t, dsn)
	far := open(t, farDSN, nil)
	proxy.Latency(5 * time.Millisecond) // time enough for the next claim between two round trips of the holder's
	for n := range 10 {
		p := params(fmt.Sprint("k", n))
		held := wins(t, near, p)
		var takers sync.WaitGroup
		var taken atomic.Bool
		for i := range 3 {
			q := by(byte(2+i), p)
			takers.Go(func() {
				for !taken.Load() && t.Context().Err() == nil {
					if _, won, err := near.Claim(t.Context(), q); err != nil || won {
						taken.Store(true)
					}
				}
			})
		}
		_, errs, err := far.Batch(t.Context(), nil, []semel.SettleParams{
			{Digest: params("none").Digest, Fence: 1, Settlement: semel.Settlement{State: semel.StateReleased}},
			{Digest: held.Digest, Fence: held.Fence, Settlement: semel.Settlement{State: semel.StateReleased}},
		})
		takers.Wait()
		if err != nil || errs[1] != nil {
			t.Fatalf("round %d: the holder's release got error %v, %v", n, err, errs)
		}
	}
}
