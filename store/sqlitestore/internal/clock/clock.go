// Package clock is the clock of a store in a SQLite file (promise 9): the
// host's, read when the store is opened, and from then on the monotonic one, so
// setting the wall clock back has no effect. It never runs backwards, nor
// behind the latest time that the file has seen.
package clock

import (
	"sync"
	"time"
)

// Clock shows Unix time. Make one with [New]; it is safe for concurrent use.
type Clock struct {
	now   func() time.Time
	start time.Time

	mu     sync.Mutex // guards the fields below
	offset int64      // added to the source, in microseconds
	last   int64      // the latest time shown, in microseconds
}

// New starts a clock that gets the time from now.
func New(now func() time.Time) *Clock {
	return &Clock{now: now, start: now()}
}

// Read returns the time in milliseconds, which is at least floor, the latest
// time the file has seen. Where the source is behind, it is moved forward for
// good.
func (c *Clock) Read(floor int64) int64 { return c.Micros(floor) / 1000 }

// Micros is Read in microseconds; floor is in milliseconds.
func (c *Clock) Micros(floor int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	us := c.source() + c.offset
	if least := max(floor*1000, c.last); us < least {
		c.offset += least - us
		us = least
	}
	c.last = us
	return us
}

// Behind says how far the source is behind the latest time the file has seen.
func (c *Clock) Behind(floor int64) time.Duration {
	return time.Duration(max(0, floor*1000-c.source())) * time.Microsecond
}

// source uses the monotonic reading of now, where it has one.
func (c *Clock) source() int64 {
	return c.start.Add(c.now().Sub(c.start)).UnixMicro()
}
