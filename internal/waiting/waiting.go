// Package waiting holds what a guard waits with: rooms for the duplicates of a running
// attempt, gates, bounded contexts and pauses.
package waiting

import (
	"context"
	"maps"
	"slices"
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

// Wake wakes all that wait for the digest. Their room is gone from the map: later
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

// Gate counts what runs and lets one wait until nothing does. Unlike a
// sync.WaitGroup it may be entered while another goroutine waits.
type Gate struct {
	mu    sync.Mutex // guards the fields below
	n     int
	empty chan struct{} // made by a waiter, closed when n falls to 0
}

// Enter counts one more.
func (g *Gate) Enter() {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
}

// Exit counts one less.
func (g *Gate) Exit() {
	g.mu.Lock()
	g.n--
	if g.n == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
	g.mu.Unlock()
}

// Wait returns when nothing runs, or with ctx's error.
func (g *Gate) Wait(ctx context.Context) error {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty := g.empty
	g.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Group is a set that several goroutines change. The zero value is ready.
type Group[T comparable] struct {
	mu  sync.Mutex // guards all
	all map[T]struct{}
}

// Add adds a member.
func (g *Group[T]) Add(one T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = make(map[T]struct{})
	}
	g.all[one] = struct{}{}
}

// Remove removes a member.
func (g *Group[T]) Remove(one T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.all, one)
}

// All returns the present members.
func (g *Group[T]) All() []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.all))
}

// Solo holds the intents on which a transaction of this process works, so that
// a twin waits in memory instead of with a connection of its own.
type Solo struct {
	mu      sync.Mutex // guards running
	running map[[32]byte]int
}

// Enter takes the intent and reports whether it was free; Leave follows if so.
func (s *Solo) Enter(d [32]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[d] > 0 {
		return false
	}
	s.add(d)
	return true
}

// Join takes the intent although another transaction works on it; Leave follows.
func (s *Solo) Join(d [32]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(d)
}

func (s *Solo) add(d [32]byte) {
	if s.running == nil {
		s.running = make(map[[32]byte]int)
	}
	s.running[d]++
}

// Leave gives the intent back.
func (s *Solo) Leave(d [32]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[d]--; s.running[d] <= 0 {
		delete(s.running, d)
	}
}

// Oldest keeps work that nothing waits for, up to a number, the oldest first.
type Oldest[T comparable] struct {
	Most int
	Cut  func(T) // ends work

	mu     sync.Mutex // guards the fields below
	all    []T
	closed bool
}

// Add keeps work, and cuts the oldest where there is too much.
func (o *Oldest[T]) Add(work T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		o.Cut(work)
		return
	}
	o.all = append(o.all, work)
	if len(o.all) > o.Most {
		o.Cut(o.all[0])
		o.all = slices.Delete(o.all, 0, 1)
	}
}

// Remove forgets work that has ended.
func (o *Oldest[T]) Remove(work T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.all, work); i >= 0 {
		o.all = slices.Delete(o.all, i, i+1)
	}
}

// Close cuts all of it, and what is added from then on.
func (o *Oldest[T]) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for _, work := range o.all {
		o.Cut(work)
	}
	o.all = nil
}

// MostCaptured bounds the answers that are held back at one time, unless set otherwise, and likewise the long bodies of requests.
const MostCaptured = 32 << 20

// Bytes is memory that many share. Its fields are set before its first use.
type Bytes struct {
	Most   int64
	Bodies *Bytes // those of requests, next to these of answers
	used   atomic.Int64
}

// Take takes n bytes. It reports false, and takes none, when they exceed Most.
func (b *Bytes) Take(n int64) bool {
	if b.used.Add(n) > b.Most {
		b.used.Add(-n)
		return false
	}
	return true
}

// Return gives n bytes back.
func (b *Bytes) Return(n int64) { b.used.Add(-n) }

// Used returns the bytes that are taken.
func (b *Bytes) Used() int64 { return b.used.Load() }

type bytesKey struct{}

// With returns a context whose work shares the memory.
func (b *Bytes) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, bytesKey{}, b)
}

// SharedBytes returns the memory that work under ctx shares, or nil.
func SharedBytes(ctx context.Context) *Bytes {
	b, _ := ctx.Value(bytesKey{}).(*Bytes)
	return b
}
