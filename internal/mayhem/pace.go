package mayhem

import (
	"context"
	"math/rand/v2"
	"time"
)

// Around is a random duration between a fifth of the mean and nearly twice it.
// The mean is at least a microsecond.
func Around(r *rand.Rand, mean time.Duration) time.Duration {
	return mean/5 + time.Duration(r.Int64N(int64(mean)*8/5))
}

// Sleep waits and reports whether it did: false when ctx ended first.
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
