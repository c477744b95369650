package ids

import (
	"errors"
	"testing"
	"time"
)

// The last ULID of a millisecond is followed by an error, not by a smaller one, and the next millisecond has room.
func TestULIDOverflow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	g := ULIDs{Now: func() time.Time { return now }}
	if _, err := g.New(); err != nil {
		t.Fatal(err)
	}
	for i := 6; i < len(g.last); i++ {
		g.last[i] = 0xFF
	}
	g.last[15] = 0xFE
	last, err := g.New()
	if err != nil || last[15] != 0xFF {
		t.Fatalf("got %v, %v; want the last one", last, err)
	}
	for range 2 {
		if u, err := g.New(); !errors.Is(err, errOverflow) || u != (ULID{}) {
			t.Errorf("got %v, %v; want errOverflow", u, err)
		}
	}
	now = now.Add(time.Millisecond)
	if u, err := g.New(); err != nil || u.Time() != now {
		t.Errorf("got %v of %v, %v; want one of %v", u, u.Time(), err, now)
	}
}
