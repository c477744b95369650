package stage

import (
	"context"
	"net/http"
	"sync"
)

// watch wraps a handler and tracks the requests that may change something: when one arrives, and when none is under way
// any more. The zero watch is ready for use.
type watch struct {
	mu       sync.Mutex // guards the fields below
	arrivals int
	running  int

	change news
}

// around returns the handler with this watch in front of it. notify, unless nil, is called when a request that may
// change something arrives, and when it ends.
func (w *watch) around(next http.Handler, notify func()) http.Handler {
	move := func(by int) {
		w.move(by)
		if notify != nil {
			notify()
		}
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if reads(r) {
			next.ServeHTTP(rw, r)
			return
		}
		move(1)
		defer move(-1)
		next.ServeHTTP(rw, r)
	})
}

func (w *watch) move(by int) {
	w.mu.Lock()
	w.running += by
	w.arrivals += max(by, 0)
	w.mu.Unlock()
	w.change.notify()
}

// forget restarts the count at zero. No caller may be waiting.
func (w *watch) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arrivals = 0
}

// arrived returns how many requests have arrived so far.
func (w *watch) arrived() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.arrivals
}

// underWay returns how many requests have arrived and not ended.
func (w *watch) underWay() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running
}

// untilArrived waits until that many requests have arrived.
func (w *watch) untilArrived(ctx context.Context, arrivals int) error {
	return w.until(ctx, func() bool { return w.arrivals >= arrivals })
}

// untilIdle waits until no request is under way.
func (w *watch) untilIdle(ctx context.Context) error {
	return w.until(ctx, func() bool { return w.running == 0 })
}

// until waits for the condition, which is called with the lock held.
func (w *watch) until(ctx context.Context, holds func() bool) error {
	for {
		change := w.change.listen()
		w.mu.Lock()
		held := holds()
		w.mu.Unlock()
		if held {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
