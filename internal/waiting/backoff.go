package waiting

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"
)

const (
	backoffFirst = 5 * time.Millisecond
	backoffMost  = 500 * time.Millisecond
)

// Backoffs yields growing pauses without end; the context that [Sleep] obeys
// is the bound.
func Backoffs() iter.Seq[time.Duration] { return growing(backoffFirst, backoffMost) }

func growing(first, most time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for d := first; yield(d); d = min(2*d, most) {
		}
	}
}

// Sleep waits for d and reports whether ctx goes on: false also when it ended
// before a wait of no time.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Backoff says how a step is repeated that changed nothing, because another one
// was in its way. Its pauses are spread, so that steps which collided do not do
// so again.
type Backoff struct {
	Tries int           // at most; 0: until the context ends
	First time.Duration // about the first pause; each later one is twice as long
	Most  time.Duration // about the longest pause
}

// Do runs step until it succeeds, its error is not to be repeated, or the tries
// or ctx are at their end. It returns the error of the last try.
func (b Backoff) Do(ctx context.Context, again func(error) bool, step func() error) (err error) {
	try := 0
	for pause := range b.Pauses() {
		try++
		if err = step(); err == nil || !again(err) || try == b.Tries || !Sleep(ctx, pause) {
			break
		}
	}
	return err
}

// Pauses yields the pauses, without end.
func (b Backoff) Pauses() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for d := range growing(b.First, b.Most) {
			if !yield(spread(d)) {
				return
			}
		}
	}
}

// Pause is the first pause alone; false means that ctx ended before it did.
func (b Backoff) Pause(ctx context.Context) bool { return Sleep(ctx, spread(b.First)) }

func spread(d time.Duration) time.Duration {
	return d/2 + rand.N(d) //nolint:gosec // it spreads load and protects nothing.
}
