package sqlitestore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// A sweep is not held up by records that were due but live on, however many
// there are and however small its steps.
func TestSweepPassesTheLiving(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	path := filepath.Join(t.TempDir(), "semel.db")
	s := open(t, path, &sqlitestore.Options{Now: clock.Now})
	const living, dead = 300, 5
	var recs []semel.Record
	for i := range living + dead {
		rec := wins(t, s, params(fmt.Sprint(i)))
		recs = append(recs, rec)
	}
	clock.Advance(lease)
	for _, rec := range recs[:living] {
		noError(t, s.Renew(t.Context(), rec.Digest, rec.Fence, lease))
	}
	clock.Advance(retention)
	for want := dead; want > 0; want-- {
		sweeps(t, s, 1, 1)
	}
	sweeps(t, s, 1000, 0)
	if n, err := s.Count(t.Context()); err != nil || n != living {
		t.Errorf("got %d records, error %v, want %d", n, err, living)
	}
	check(t, path)
	clock.Advance(lease)
	sweeps(t, s, 1000, living)
}

// A fence is never given twice, not even when every record of the file was
// released or swept and the file was opened anew (promise 1).
func TestFencesOutliveTheirRecords(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	path := filepath.Join(t.TempDir(), "semel.db")
	last := semel.Fence(0)
	for range 3 {
		s := open(t, path, &sqlitestore.Options{Now: clock.Now})
		for _, state := range []semel.State{semel.StateReleased, semel.StateCompleted} {
			rec, won, err := s.Claim(t.Context(), params("k"))
			if err != nil || !won || rec.Fence != last+1 {
				t.Fatalf("won %v, fence %d, error %v, want fence %d", won, rec.Fence, err, last+1)
			}
			last = rec.Fence
			settles(t, s, rec, semel.Settlement{State: state, Retention: retention})
		}
		clock.Advance(lease + retention)
		sweeps(t, s, 10, 1)
		if n, err := s.Count(t.Context()); err != nil || n != 0 {
			t.Fatalf("got %d records, error %v, want none", n, err)
		}
		noError(t, s.Close())
	}
}

// A fence that SQLite cannot hold is one that was never given.
func TestFencesNeverGiven(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "semel.db"), nil)
	rec := wins(t, s, params("k"))
	huge := semel.Fence(1<<63) + rec.Fence
	wantErr(t, "renew: ", s.Renew(t.Context(), rec.Digest, huge, lease), semel.ErrLost)
	wantErr(t, "settle: ", s.Settle(t.Context(), rec.Digest, huge, completed("x")), semel.ErrLost)
	if _, err := s.List(t.Context(), semel.ListParams{After: fmt.Sprint(uint64(huge))}); !errors.Is(err, semel.ErrCursor) {
		t.Errorf("list: got %v, want %v", err, semel.ErrCursor)
	}
}
