package sqlitestore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// A sweep is not held up by records that were due but live on, however many
// there are and however small its steps.
func TestSweepPassesTheLiving(t *testing.T) {
	t.Parallel()
	clock := newHands()
	path := filepath.Join(t.TempDir(), "semel.db")
	s := open(t, path, &sqlitestore.Options{Now: clock.Now})
	const living, dead = 300, 5
	var recs []semel.Record
	for i := range living + dead {
		rec, _, err := s.Claim(t.Context(), params(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, rec)
	}
	clock.Advance(lease)
	for _, rec := range recs[:living] {
		if err := s.Renew(t.Context(), rec.Digest, rec.Fence, lease); err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(retention)
	for want := dead; want > 0; want-- {
		if removed, err := s.Sweep(t.Context(), 1); err != nil || removed != 1 {
			t.Fatalf("swept %d, error %v, want 1 of %d", removed, err, want)
		}
	}
	if removed, err := s.Sweep(t.Context(), 1000); err != nil || removed != 0 {
		t.Errorf("swept %d, error %v, want none", removed, err)
	}
	if n, err := s.Count(t.Context()); err != nil || n != living {
		t.Errorf("got %d records, error %v, want %d", n, err, living)
	}
	check(t, path)
	clock.Advance(lease)
	if removed, err := s.Sweep(t.Context(), 1000); err != nil || removed != living {
		t.Errorf("swept %d, error %v, want %d", removed, err, living)
	}
}

// A fence is never given twice, not even when every record of the file was
// released or swept and the file was opened anew (promise 1).
func TestFencesOutliveTheirRecords(t *testing.T) {
	t.Parallel()
	clock := newHands()
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
			if err := s.Settle(t.Context(), rec.Digest, rec.Fence, semel.Settlement{State: state, Retention: retention}); err != nil {
				t.Fatal(err)
			}
		}
		clock.Advance(lease + retention)
		if removed, err := s.Sweep(t.Context(), 10); err != nil || removed != 1 {
			t.Fatalf("swept %d, error %v, want 1", removed, err)
		}
		if n, err := s.Count(t.Context()); err != nil || n != 0 {
			t.Fatalf("got %d records, error %v, want none", n, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A fence that SQLite cannot hold is one that was never given.
func TestFencesNeverGiven(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "semel.db"), nil)
	rec, _, err := s.Claim(t.Context(), params("k"))
	if err != nil {
		t.Fatal(err)
	}
	huge := semel.Fence(1<<63) + rec.Fence
	if err := s.Renew(t.Context(), rec.Digest, huge, lease); !errors.Is(err, semel.ErrLost) {
		t.Errorf("renew: got %v, want %v", err, semel.ErrLost)
	}
	if err := s.Settle(t.Context(), rec.Digest, huge, completed("x")); !errors.Is(err, semel.ErrLost) {
		t.Errorf("settle: got %v, want %v", err, semel.ErrLost)
	}
	if _, err := s.List(t.Context(), semel.ListParams{After: fmt.Sprint(uint64(huge))}); !errors.Is(err, semel.ErrCursor) {
		t.Errorf("list: got %v, want %v", err, semel.ErrCursor)
	}
}
