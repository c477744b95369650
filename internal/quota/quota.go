// Package quota bounds what one scope takes: the claims that it holds at a time, and the
// records that it gets within their retention.
package quota

import (
	"fmt"
	"hash/maphash"
	"sync"
	"time"
)

const (
	// quotaShards is the number of locks for the live claims of all scopes.
	quotaShards = 16
	// quotaSlots divides a retention into the slots in which records are counted.
	quotaSlots = 16
	// quotaScopes bounds the scopes whose counts are remembered.
	quotaScopes = 16384
)

// Scopes bounds what each scope takes.
type Scopes struct {
	live    *live
	records *records // nil for no bound
	born    time.Time
}

// New bounds the claims that one scope holds at a time, and the records that it
// gets within their retention; 0 records for no bound of these.
func New(claims, most int) *Scopes {
	return &Scopes{live: newLive(claims), records: newRecords(most), born: time.Now()}
}

// Enter takes the seat of a live claim, and with a retention that of a new record.
// Leave, and Forget where there was a retention, give them back.
func (s *Scopes) Enter(scope string, retention time.Duration) error {
	if !s.live.enter(scope) {
		return fmt.Errorf("it holds %d claims already", s.live.most)
	}
	if s.records != nil && retention > 0 && !s.records.takeSeat(scope, time.Since(s.born), retention) {
		s.live.leave(scope)
		return fmt.Errorf("it has got %d records within %v already", s.records.most, retention)
	}
	return nil
}

// Leave gives the seat of a live claim back.
func (s *Scopes) Leave(scope string) { s.live.leave(scope) }

// Forget takes a record back: it is gone, or never came to be.
func (s *Scopes) Forget(scope string) {
	if s.records != nil {
		s.records.give(scope)
	}
}

// live bounds the claims that one scope holds at a time.
type live struct {
	most   int
	seed   maphash.Seed
	shards [quotaShards]struct {
		mu   sync.Mutex // guards live
		live map[string]int
	}
}

// newLive returns the bound for at most so many claims.
func newLive(most int) *live {
	q := &live{most: most, seed: maphash.MakeSeed()}
	for i := range q.shards {
		q.shards[i].live = map[string]int{}
	}
	return q
}

// enter takes a seat of the scope, if there is one; leave follows if so.
func (q *live) enter(scope string) bool {
	s := &q.shards[maphash.String(q.seed, scope)%quotaShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.live[scope]
	if n >= q.most {
		return false
	}
	s.live[scope] = n + 1
	return true
}

// leave gives a seat of the scope back.
func (q *live) leave(scope string) {
	s := &q.shards[maphash.String(q.seed, scope)%quotaShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.live[scope] - 1; n > 0 {
		s.live[scope] = n
		return
	}
	delete(s.live, scope)
}

// records bounds the records that a scope gets from this process within one
// retention, counted in quotaSlots slots of time: a sliding window. Where views
// of the guard give a scope's records several retentions, the longest counts.
type records struct {
	most int

	mu     sync.Mutex // guards scopes
	scopes map[string]*scopeWindow
}

// scopeWindow counts what one scope was given lately.
type scopeWindow struct {
	width time.Duration // of a slot
	slot  int64         // the present slot: how many have gone by since the guard was made
	total int
	slots [quotaSlots]int
}

// newRecords returns the bound for at most so many records; nil for none.
func newRecords(most int) *records {
	if most <= 0 {
		return nil
	}
	return &records{most: most, scopes: map[string]*scopeWindow{}}
}

// takeSeat counts one record of this retention, unless the scope has had its share.
// now is the time since the guard was made.
func (q *records) takeSeat(scope string, now, retention time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	w, ok := q.scopes[scope]
	if !ok {
		if len(q.scopes) >= quotaScopes {
			q.evict(now)
		}
		w = &scopeWindow{}
		q.scopes[scope] = w
	}
	w.advance(now)
	w.widen(now, max(1, retention/quotaSlots))
	if w.total >= q.most {
		return false
	}
	w.total++
	w.slots[w.slot%quotaSlots]++
	return true
}

func (q *records) give(scope string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w, ok := q.scopes[scope]
	if !ok {
		return
	}
	for back := range int64(quotaSlots) {
		if at := &w.slots[(w.slot+quotaSlots-back)%quotaSlots]; *at > 0 {
			*at--
			w.total--
			return
		}
	}
}

// evict makes room by forgetting, of a few scopes that come by chance, the one
// that was given least, so that a flooding scope is remembered.
func (q *records) evict(now time.Duration) {
	const few = 8
	least, seen := "", 0
	for scope, w := range q.scopes {
		w.advance(now)
		if seen == 0 || w.total < q.scopes[least].total {
			least = scope
		}
		if seen++; seen == few || w.total == 0 {
			break
		}
	}
	delete(q.scopes, least)
}

// widen makes slots this wide, unless they are already. What was counted in
// narrower ones counts as of now.
func (w *scopeWindow) widen(now, width time.Duration) {
	if width <= w.width {
		return
	}
	total := w.total
	*w = scopeWindow{width: width, slot: int64(now / width), total: total}
	w.slots[w.slot%quotaSlots] = total
}

// advance forgets the slots that have gone by.
func (w *scopeWindow) advance(now time.Duration) {
	if w.width == 0 {
		return // it is new
	}
	slot := int64(now / w.width)
	for gone := min(slot-w.slot, quotaSlots); gone > 0; gone-- {
		w.slot++
		w.total -= w.slots[w.slot%quotaSlots]
		w.slots[w.slot%quotaSlots] = 0
	}
	w.slot = max(w.slot, slot)
}
