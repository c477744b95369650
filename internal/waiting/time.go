package waiting

import (
	"context"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
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

// Bound bounds one call of the store. It works like the context of
// context.WithDeadline, but a store that never waits, and so never asks for Done, pays neither
// for a timer nor for a channel. End frees what it holds.
type Bound struct {
	parent context.Context //nolint:containedctx // it is a context.
	until  time.Time

	mu     sync.Mutex      // guards the fields below
	inner  context.Context //nolint:containedctx // made by the first that waits.
	cancel context.CancelFunc
}

// Within returns a context that ends with parent, or at the time.
func Within(parent context.Context, until time.Time) *Bound {
	return &Bound{parent: parent, until: until}
}

// made returns the context that others wait on.
func (v *Bound) made() context.Context {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.inner == nil {
		v.inner, v.cancel = context.WithDeadline(v.parent, v.until)
	}
	return v.inner
}

// now returns the context that was made, or the parent.
func (v *Bound) now() context.Context {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.inner != nil {
		return v.inner
	}
	return v.parent
}

// Deadline implements context.Context.
func (v *Bound) Deadline() (time.Time, bool) {
	if outer, ok := v.parent.Deadline(); ok && outer.Before(v.until) {
		return outer, true
	}
	return v.until, true
}

// Done implements context.Context.
func (v *Bound) Done() <-chan struct{} { return v.made().Done() }

// Err implements context.Context.
func (v *Bound) Err() error {
	if err := v.now().Err(); err != nil {
		return err
	}
	if !time.Now().Before(v.until) {
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context.
func (v *Bound) Value(key any) any { return v.now().Value(key) }

// End frees the timer, if there is one.
func (v *Bound) End() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cancel != nil {
		v.cancel()
	}
}

// Idle cuts off work that nothing waits for once it makes no progress.
type Idle struct {
	From time.Time // when the work began

	moved atomic.Int64 // when it last progressed, counted from From

	mu    sync.Mutex  // guards the fields below
	timer *time.Timer // nil until [Idle.Watch]
	ended bool
}

// Moved notes that the work has progressed.
func (i *Idle) Moved() { i.moved.Store(int64(time.Since(i.From))) }

// Watch calls cut when the work does not move for limit. It calls begun first, and only the first call counts: not
// one after [Idle.End].
func (i *Idle) Watch(limit time.Duration, cut, begun func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended || i.timer != nil {
		return
	}
	i.Moved()
	i.timer = time.AfterFunc(limit, func() { i.expire(limit, cut) })
	begun()
}

func (i *Idle) expire(limit time.Duration, cut func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended {
		return
	}
	if left := limit - time.Since(i.From) + time.Duration(i.moved.Load()); left > 0 {
		i.timer.Reset(left)
		return
	}
	cut()
}

// End stops the watch. It returns false when it was called before.
func (i *Idle) End() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	first := !i.ended
	i.ended = true
	if i.timer != nil {
		i.timer.Stop()
	}
	return first
}
