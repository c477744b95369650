package failover_test

import (
	"errors"
	"testing"

	"github.com/semel-dev/semel"
)

// Without synchronous replication, what was acknowledged shortly before the primary died may be lost: outcomes (promise
// 2), claims with their fences (promise 1), and so the protection against doing it twice (promise 3). What the standby
// had is kept.
func TestAsynchronousPromotion(t *testing.T) {
	t.Parallel()
	const each = 100 // more than the 32 fences that a standby hears of in advance
	p := newPair(t, false)
	s := p.store(t)
	kept := acknowledge(t, s, 0, each)
	p.waitReplayed(t)
	p.link.Down()
	lost := acknowledge(t, s, 1, each)
	p.fail()

	for i, fence := range kept {
		rec := lookup(t, s, digest(0, i))
		if rec.Fence != fence || rec.State != semel.StateCompleted || string(rec.Outcome) != outcome(0, i) {
			t.Errorf("what the standby had is lost: %v", rec)
		}
	}
	for i := range lost {
		if rec, err := s.Lookup(t.Context(), digest(1, i)); !errors.Is(err, semel.ErrNotFound) {
			t.Errorf("got %v, error %v for what the standby never heard of, want absent", rec, err)
		}
	}
	// The same request again: it is claimed and would be executed a second time, under a fence that was given before.
	again, err := claim(t.Context(), s, digest(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	if newest := kept[len(kept)-1]; again <= newest {
		t.Errorf("fence %d is not above fence %d, which the standby had", again, newest)
	}
	if newest := lost[len(lost)-1]; again > newest {
		t.Errorf("fence %d is above %d, which was lost: this test no longer shows that fences can come again", again, newest)
	}
}

// acknowledge claims and settles n keys and returns their fences.
func acknowledge(t *testing.T, s semel.Store, writer, n int) []semel.Fence {
	t.Helper()
	var fences []semel.Fence
	for i := range n {
		h, err := twoPhases(t.Context(), s, writer, i)
		if err != nil {
			t.Fatal(err)
		}
		fences = append(fences, h.fence)
	}
	return fences
}
