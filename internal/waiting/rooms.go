// Package waiting holds what a guard waits with: rooms for the duplicates of a running
// attempt, gates, bounded contexts and pauses.
package waiting

import (
	"context"
	"sync"
	"sync/atomic"
)

// Rooms wakes, within this process, the attempts that wait for a running twin, and
// bounds their number (promise 8).
type Rooms struct {
	perKey, perScope, total int

	count atomic.Int64 // fast path: 0

	mu      sync.Mutex // guards the fields below
	byKey   map[[32]byte]*Room
	byScope map[string]int
}

// Room holds the attempts that wait for one key.
type Room struct {
	n      int
	done   chan struct{}      // closed to wake all of them
	told   atomic.Bool        // the store tells when the twin has ended
	ignore context.CancelFunc // ends the asking; nil when no store was asked
}

// NewRooms returns rooms with these bounds.
func NewRooms(perKey, perScope, total int) *Rooms {
	return &Rooms{
		perKey: perKey, perScope: perScope, total: total,
		byKey: make(map[[32]byte]*Room), byScope: make(map[string]int),
	}
}

// Join takes a seat and returns the channel that wakes it, or false when a
// bound is reached. Every successful join needs a Leave.
func (r *Rooms) Join(d [32]byte, scope string) (*Room, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	room := r.byKey[d]
	if int(r.count.Load()) >= r.total || r.byScope[scope] >= r.perScope || (room != nil && room.n >= r.perKey) {
		return nil, false
	}
	if room == nil {
		room = &Room{done: make(chan struct{})}
		r.byKey[d] = room
	}
	room.n++
	r.byScope[scope]++
	r.count.Add(1)
	return room, true
}

// Leave gives the seat back.
func (r *Rooms) Leave(d [32]byte, scope string, room *Room) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count.Add(-1)
	if r.byScope[scope]--; r.byScope[scope] == 0 {
		delete(r.byScope, scope)
	}
	if room.n--; room.n > 0 {
		return
	}
	if r.byKey[d] == room {
		delete(r.byKey, d)
	}
	if room.ignore != nil {
		room.ignore()
	}
}

// Listen lets await report to this room when the twin has ended, in a goroutine that run
// starts; only the first call for a room counts.
func (r *Rooms) Listen(life context.Context, d [32]byte, room *Room, run func(func()), await func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if room.ignore != nil {
		return
	}
	ctx, cancel := context.WithCancel(life)
	room.ignore = cancel
	room.told.Store(true)
	run(func() {
		defer cancel()
		err := await(ctx)
		room.told.Store(false)
		if err == nil {
			r.wakeRoom(d, room)
		}
	})
}

// Wake wakes all that wait for the digest. Their room is no longer reachable; later
// attempts get a new one.
func (r *Rooms) Wake(d [32]byte) {
	if r.count.Load() == 0 {
		return
	}
	r.mu.Lock()
	room := r.byKey[d]
	delete(r.byKey, d)
	r.mu.Unlock()
	if room != nil {
		close(room.done)
	}
}

// wakeRoom wakes those in this room, unless they were woken before.
func (r *Rooms) wakeRoom(d [32]byte, room *Room) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey[d] == room {
		delete(r.byKey, d)
		close(room.done)
	}
}

// Count returns the number of attempts that wait now.
func (r *Rooms) Count() int { return int(r.count.Load()) }

// Done is closed when the twin has ended.
func (r *Room) Done() <-chan struct{} { return r.done }

// Notified reports whether the store notifies this room, so that polling is the fallback.
func (r *Room) Notified() bool { return r.told.Load() }
