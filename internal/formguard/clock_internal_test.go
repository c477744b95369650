package formguard

import (
	"testing"
	"time"
)

// TestClockIsNotSetBack: the host's clock moves forward only.
func TestClockIsNotSetBack(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	var wall time.Time
	var ran time.Duration
	c := &clock{wall: func() time.Time { return wall }, ran: func() time.Duration { return ran }}
	for _, x := range []struct {
		ran        time.Duration
		wall, want time.Time
	}{
		{0, noon, noon},
		{time.Minute, noon.Add(time.Minute), noon.Add(time.Minute)},
		{2 * time.Minute, noon.Add(-48 * time.Hour), noon.Add(2 * time.Minute)}, // set back
		{26 * time.Hour, noon.Add(-22 * time.Hour), noon.Add(26 * time.Hour)},
		{27 * time.Hour, noon.Add(100 * time.Hour), noon.Add(100 * time.Hour)}, // set ahead
		{28 * time.Hour, noon.Add(28 * time.Hour), noon.Add(101 * time.Hour)},  // and back
	} {
		wall, ran = x.wall, x.ran
		if got := c.now(); !got.Equal(x.want) {
			t.Errorf("after %v, wall %v: got %v, want %v", x.ran, x.wall, got, x.want)
		}
	}
	if got := time.Until(newClock().now()).Abs(); got > time.Hour {
		t.Errorf("the process's own clock is off by %v", got)
	}
}
