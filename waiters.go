package semel

import (
	"context"
	"sync"
	"sync/atomic"
)

// waiters wakes, within this process, those who wait for a running twin, and
// bounds how many there are (promise 8).
type waiters struct {
	perKey, perScope, total int

	count atomic.Int64 // fast path: nobody waits

	mu      sync.Mutex // guards the fields below
	byKey   map[Digest]*waitRoom
	byScope map[string]int
}

// waitRoom is where the waiters of one key sit.
type waitRoom struct {
	n      int
	done   chan struct{}      // closed to wake all of them
	told   atomic.Bool        // the store tells when the twin has ended
	ignore context.CancelFunc // ends the asking; nil when nobody asks
}

func newWaiters(perKey, perScope, total int) *waiters {
	return &waiters{
		perKey: perKey, perScope: perScope, total: total,
		byKey: make(map[Digest]*waitRoom), byScope: make(map[string]int),
	}
}

// join takes a seat and returns the channel that wakes it, or false when a
// bound is reached. Every successful join needs a leave.
func (w *waiters) join(d Digest, scope string) (*waitRoom, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	room := w.byKey[d]
	if int(w.count.Load()) >= w.total || w.byScope[scope] >= w.perScope || (room != nil && room.n >= w.perKey) {
		return nil, false
	}
	if room == nil {
		room = &waitRoom{done: make(chan struct{})}
		w.byKey[d] = room
	}
	room.n++
	w.byScope[scope]++
	w.count.Add(1)
	return room, true
}

// leave gives the seat back.
func (w *waiters) leave(d Digest, scope string, room *waitRoom) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count.Add(-1)
	if w.byScope[scope]--; w.byScope[scope] == 0 {
		delete(w.byScope, scope)
	}
	if room.n--; room.n > 0 {
		return
	}
	if w.byKey[d] == room {
		delete(w.byKey, d)
	}
	if room.ignore != nil {
		room.ignore()
	}
}

// join takes a seat; where the store can tell what other processes settle, the
// first one in the room asks it.
func (c *core) join(d Digest, scope string) (*waitRoom, bool) {
	room, ok := c.waiters.join(d, scope)
	if !ok || c.notifier == nil {
		return room, ok
	}
	w := c.waiters
	w.mu.Lock()
	defer w.mu.Unlock()
	if room.ignore != nil {
		return room, true
	}
	ctx, cancel := context.WithCancel(c.life)
	room.ignore = cancel
	room.told.Store(true)
	c.background.enter()
	go func() {
		defer c.background.exit()
		defer cancel()
		err := c.notifier.Await(ctx, d)
		room.told.Store(false)
		if err == nil {
			w.wakeRoom(d, room)
		}
	}()
	return room, true
}

// wake wakes everybody who waits for the digest. They sit in a room that is
// no longer reachable; whoever comes later gets a new one.
func (w *waiters) wake(d Digest) {
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	room := w.byKey[d]
	delete(w.byKey, d)
	w.mu.Unlock()
	if room != nil {
		close(room.done)
	}
}

// wakeRoom wakes those who sit in this room, unless they were woken before.
func (w *waiters) wakeRoom(d Digest, room *waitRoom) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey[d] == room {
		delete(w.byKey, d)
		close(room.done)
	}
}
