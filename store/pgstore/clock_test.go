package pgstore_test

import (
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
)

// Promise 9: a claim that was given while the database's clock was ahead lapses
// and expires by that clock as it is now, not by when it was given.
func TestClockSetBackAfterClaim(t *testing.T) {
	t.Parallel()
	inst := harness(t, testserver.Postgres(t), nil)(t)
	t.Cleanup(func() { inst.Store.Close() })
	s := inst.Store
	inst.Advance(2 * retention)
	running, done, lapsed := wins(t, s, params("running")), wins(t, s, params("done")), wins(t, s, params("lapsed"))
	inst.Advance(-2 * retention)
	for _, rec := range []semel.Record{running, lapsed} {
		noError(t, s.Renew(t.Context(), rec.Digest, rec.Fence, lease))
	}
	settles(t, s, done, completed("x"))
	claims := func(name string, rec semel.Record, wantWon bool, want semel.State) {
		t.Helper()
		p := params(name)
		p.Owner, p.TakeOver = semel.Owner{2}, rec.Fence
		got, won, err := s.Claim(t.Context(), p)
		if err != nil || won != wantWon || got.State != want || got.Lapsed() {
			t.Errorf("%s: won %v, %v, lapsed %v, error %v, want won %v, %v", name, won, got.State, got.Lapsed(), err, wantWon, want)
		}
	}
	claims("running", running, false, semel.StateClaimed)
	claims("done", done, false, semel.StateCompleted)
	if got, err := s.Lookup(t.Context(), done.Digest); err != nil || got.RetentionLeft() < retention-time.Minute {
		t.Errorf("got a retention of %v, error %v, want %v", got.RetentionLeft(), err, retention)
	}
	inst.Advance(lease + time.Minute)
	claims("lapsed", lapsed, true, semel.StateClaimed)
}
