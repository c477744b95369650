package failover_test

import (
	"context"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

// Promises 1 and 2: with synchronous replication, whatever was acknowledged survives the primary, and fences go on
// growing and are never given twice. The store finds the new primary on its own.
func TestSynchronousPromotion(t *testing.T) {
	t.Parallel()
	const before, after = 300, 300
	p := newPair(t, true)
	s := p.store(t)
	p.link.Latency(5 * time.Millisecond) // at any moment, the primary has something that the standby has not
	w := startWriters(t, 8, func(ctx context.Context, writer, i int) (heard, error) { return twoPhases(ctx, s, writer, i) })
	w.waitDone(t, before)
	p.link.Down() // with what is on its way
	p.fail()
	w.waitDone(t, after)
	w.end()

	given := map[semel.Fence]bool{}
	for writer, keys := range w.heard {
		var last semel.Fence
		for i, h := range keys {
			if h.fence == 0 {
				continue
			}
			if given[h.fence] || h.fence <= last {
				t.Errorf("fence %d was given twice, or after fence %d", h.fence, last)
			}
			last, given[h.fence] = h.fence, true
			rec, err := s.Lookup(t.Context(), digest(writer, i))
			switch {
			case err != nil || rec.Fence != h.fence:
				t.Errorf("claim %d/%d with fence %d was lost: it is %v with fence %d, error %v", writer, i, h.fence, rec.State, rec.Fence, err)
			case h.done && (rec.State != semel.StateCompleted || string(rec.Outcome) != outcome(writer, i)):
				t.Errorf("the outcome of %d/%d was lost: it is %v, %q", writer, i, rec.State, rec.Outcome)
			}
		}
	}
	if w.lost == 0 {
		t.Error("no verb was interrupted")
	}
	t.Logf("%d claims acknowledged, %d verbs interrupted", len(given), w.lost)
}

// Promises 1 and 7: with synchronous replication, nothing is acknowledged that the standby did not get.
func TestSynchronousStandbyCutOff(t *testing.T) {
	t.Parallel()
	p := newPair(t, true)
	s := p.store(t)
	settled, unheard := digest(0, 0), digest(0, 1)
	fence, err := claim(t.Context(), s, settled)
	if err != nil {
		t.Fatal(err)
	}
	p.link.Down()
	if err := briefly(t, func(ctx context.Context) error { return settle(ctx, s, settled, fence, "lost") }); err == nil {
		t.Error("a settlement was acknowledged")
	}
	if err := briefly(t, func(ctx context.Context) error { _, err := claim(ctx, s, unheard); return err }); err == nil {
		t.Error("a claim was acknowledged")
	}
	p.fail()

	rec := lookup(t, s, settled)
	if rec.State != semel.StateClaimed || rec.Fence != fence {
		t.Errorf("got %v with fence %d, want the claim with fence %d", rec.State, rec.Fence, fence)
	}
	if rec := lookup(t, s, unheard); rec.State != semel.StateAbsent {
		t.Errorf("got %v for what the standby did not get, want absent", rec.State)
	}
}

// briefly runs a verb that is not given the time to wait for the standby.
func briefly(t *testing.T, verb func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	return verb(ctx)
}
