package waiting

import (
	"sync"
	"sync/atomic"
	"time"
)

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
