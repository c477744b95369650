package semel

import (
	"context"
	"iter"
	"time"
)

const (
	backoffFirst = 5 * time.Millisecond
	backoffMost  = 500 * time.Millisecond
)

// backoffs yields growing pauses without end; the context that [sleep] obeys
// is the bound.
func backoffs() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for d := backoffFirst; yield(d); d = min(2*d, backoffMost) {
		}
	}
}

// sleep waits for d and reports whether it did: false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
