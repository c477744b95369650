package semelhttp

import "slices"

// uncountedBytes of each answer are not counted towards MaxCapturedBytes, and kept for the next request.
const uncountedBytes = 16 << 10

// count takes the memory that the answer has come to use from that of all answers. Beyond it the answer streams.
func (c *capture) count() error {
	grown := int64(cap(c.mem.envelope)) - max(c.taken, uncountedBytes)
	switch {
	case grown <= 0:
	case c.m.set.Captured.Take(grown):
		c.taken = int64(cap(c.mem.envelope))
	case c.held:
		c.unfit = errHeldTooLong
		return errHeldTooLong
	default:
		c.startStream()
	}
	return nil
}

// uncount gives the memory back.
func (c *capture) uncount() {
	if c.taken > 0 {
		c.m.set.Captured.Return(c.taken - uncountedBytes)
		c.taken = 0
	}
}

// shrink gives the memory back once the answer streams: an endless one must not keep it.
func (c *capture) shrink() {
	c.uncount()
	if e := c.mem.envelope; cap(e) > uncountedBytes {
		c.mem.envelope = slices.Clone(e[:min(len(e), max(c.bodyAt, uncountedBytes))])
	}
}
