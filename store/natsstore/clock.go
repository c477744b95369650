package natsstore

import (
	"context"
	"sync"
	"time"
)

// clock reads the server's clock. Readers that come while one reading is under way
// share the next: each gets a time from after it asked.
type clock struct {
	// read asks the server.
	read func(ctx context.Context) (ms int64, err error)

	readers sync.WaitGroup
	mu      sync.Mutex // guards the fields below
	next    *reading   // that is being joined; nil when no verb waits
	running bool
}

// reading is one look at the clock.
type reading struct {
	done chan struct{} // closed when the fields below are set
	ms   int64
	err  error
}

// join takes part in the next reading.
func (c *clock) join() *reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		c.readers.Go(c.readTime)
		c.running = true
	}
	if c.next == nil {
		c.next = &reading{done: make(chan struct{})}
	}
	return c.next
}

// wait returns the time.
func (r *reading) wait(ctx context.Context) (ms int64, err error) {
	select {
	case <-r.done:
		return r.ms, r.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// readTime reads until no verb waits.
func (c *clock) readTime() {
	for {
		c.mu.Lock()
		r := c.next
		c.next = nil
		c.running = r != nil
		c.mu.Unlock()
		if r == nil {
			return
		}
		r.ms, r.err = c.read(context.Background()) // bounded by the link
		close(r.done)
	}
}

// serverTime asks the stream's leader for its clock. The answer has the stream's settings,
// too: no verb goes on with a stream that was changed so that it breaks a promise.
func (s *Store) serverTime(ctx context.Context) (ms int64, err error) {
	info, err := s.info(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.watch(ctx, info); err != nil {
		return 0, err
	}
	return s.opts.clock.now(info.TS.UnixMilli()), nil
}

// testClock is another clock than the server's, for tests; nil is the server's.
type testClock struct {
	from  func(server int64) int64 // what a test makes of the server's time
	slack time.Duration            // messages live so much longer by the server's clock
}

func (c *testClock) now(server int64) int64 {
	if c == nil {
		return server
	}
	return c.from(server)
}

func (c *testClock) outlive() time.Duration {
	if c == nil {
		return 0
	}
	return c.slack
}
