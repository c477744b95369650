package mysqlstore

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// conflictTries bounds how often a statement is repeated that the server
	// undid because of another one.
	conflictTries = 16
	firstPause    = time.Millisecond
	longestPause  = 100 * time.Millisecond
	// rounds bounds how often a verb looks again because others changed the
	// row between two of its steps. Each time, one of them got ahead.
	rounds = 64
)

// retry repeats a step that the server undid because of a deadlock, or because
// it waited for a lock too long. Nothing of such a step has happened.
func retry(ctx context.Context, step func() error) error {
	pause := firstPause
	for try := 1; ; try++ {
		err := step()
		if !isConflict(err) || try == conflictTries || !sleep(ctx, pause/2+rand.N(pause)) { //nolint:gosec // it spreads the tries.
			return err
		}
		pause = min(2*pause, longestPause)
	}
}

// sleep waits, and reports false when the context ended.
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
