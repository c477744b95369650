package verb

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff says how a step is repeated that changed nothing, because another
// transaction was in its way.
type Backoff struct {
	Tries int           // at most; 0: until the context ends
	First time.Duration // about the first pause; each later one is twice as long
	Most  time.Duration // about the longest pause
}

// Do runs step until it succeeds, its error is not to be repeated, or the tries
// or ctx are at their end. It returns the error of the last try.
func (b Backoff) Do(ctx context.Context, again func(error) bool, step func() error) error {
	pause := b.First
	for try := 1; ; try++ {
		err := step()
		if err == nil || !again(err) || try == b.Tries || !Sleep(ctx, jitter(pause)) {
			return err
		}
		pause = min(2*pause, b.Most)
	}
}

// Pause is the first pause alone; false means that ctx ended before it did.
func (b Backoff) Pause(ctx context.Context) bool { return Sleep(ctx, jitter(b.First)) }

// jitter returns a pause around d, so that steps which collided do not do so again.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d) //nolint:gosec // it spreads load and protects nothing.
}

// Sleep waits for d; false means that ctx ended before.
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
