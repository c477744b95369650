package sqlitestore

import (
	"sync"
	"time"
)

// clock is the store's clock (promise 9), in Unix milliseconds: the host's
// wall clock when the store was opened plus the time that has passed since,
// so a wall clock that is set back moves nothing. It never runs backwards,
// and never behind what the file has seen of it.
type clock struct {
	now   func() time.Time
	start time.Time

	mu     sync.Mutex // guards the fields below
	offset int64      // added to the source
	last   int64      // the latest time shown
}

func newClock(now func() time.Time) *clock {
	return &clock{now: now, start: now()}
}

// read returns the time, which is at least floor, the latest time the file
// has seen. Where the source is behind, it is moved forward for good.
func (c *clock) read(floor int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	ms := c.source() + c.offset
	if least := max(floor, c.last); ms < least {
		c.offset += least - ms
		ms = least
	}
	c.last = ms
	return ms
}

// behind says how far the source is behind the latest time the file has seen.
func (c *clock) behind(floor int64) time.Duration {
	return time.Duration(max(0, floor-c.source())) * time.Millisecond
}

// source uses the monotonic reading of now, where it has one.
func (c *clock) source() int64 {
	return c.start.Add(c.now().Sub(c.start)).UnixMilli()
}
