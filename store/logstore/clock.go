package logstore

import (
	"sync"
	"time"
)

// clock is the store's clock. It never runs backwards, not even across a restart: it goes on from the latest time in the
// log, and when the host's clock jumps back it keeps its pace (promise 9). So no lease ends early, and
// no expired record comes back.
type clock struct {
	now func() time.Time

	mu   sync.Mutex // guards the fields below
	last time.Time  // what now returned
	at   time.Time  // the store's time
}

// start begins at the host's time, or at the latest in the log when that is later.
func (c *clock) start(latest int64) {
	c.last = c.now()
	c.at = c.last
	if t := time.UnixMilli(latest); t.After(c.at) {
		c.at = t
	}
}

// read returns the time in ms.
func (c *clock) read() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if passed := now.Sub(c.last); passed > 0 {
		c.at = c.at.Add(passed)
	}
	c.last = now
	if ms := now.UnixMilli(); ms > c.at.UnixMilli() {
		c.at = now
	}
	return c.at.UnixMilli()
}
