package waiting

import (
	"context"
	"iter"
	"time"
)

const (
	backoffFirst = 5 * time.Millisecond
	backoffMost  = 500 * time.Millisecond
)

// Backoffs yields growing pauses without end; the context that [Sleep] obeys
// is the bound.
func Backoffs() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for d := backoffFirst; yield(d); d = min(2*d, backoffMost) {
		}
	}
}

// Sleep waits for d and reports whether it did: false when ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
