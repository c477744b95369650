package formguard

import (
	"sync"
	"time"
)

// clock shows the host's time, and goes on evenly where that is set back: else a
// token would live longer than the record of what was done with it.
type clock struct {
	wall func() time.Time
	ran  func() time.Duration // by the monotonic clock, since some time

	mu   sync.Mutex // guards the fields below
	at   time.Time  // the wall's time when it was last ahead
	then time.Duration
}

func newClock() *clock {
	start := time.Now()
	return &clock{wall: time.Now, ran: func() time.Duration { return time.Since(start) }}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, ran := c.wall().Round(0), c.ran()
	steady := c.at.Add(ran - c.then)
	if !wall.After(steady) {
		return steady
	}
	c.at, c.then = wall, ran
	return wall
}
