// Package quota bounds what one scope takes: the claims that it holds at a time, and the
// records that it gets within their retention.
package quota

import (
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

// Live bounds the claims that one scope holds at a time.
type Live struct {
	Most   int
	seed   maphash.Seed
	shards [quotaShards]struct {
		mu   sync.Mutex // guards live
		live map[string]int
	}
}

// NewLive returns the bound for at most so many claims.
func NewLive(most int) *Live {
	q := &Live{Most: most, seed: maphash.MakeSeed()}
	for i := range q.shards {
		q.shards[i].live = map[string]int{}
	}
	return q
}

// Enter takes a seat of the scope, if there is one; Leave follows if so.
func (q *Live) Enter(scope string) bool {
	s := &q.shards[maphash.String(q.seed, scope)%quotaShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.live[scope]
	if n >= q.Most {
		return false
	}
	s.live[scope] = n + 1
	return true
}

// Leave gives a seat of the scope back.
func (q *Live) Leave(scope string) {
	s := &q.shards[maphash.String(q.seed, scope)%quotaShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.live[scope] - 1; n > 0 {
		s.live[scope] = n
		return
	}
	delete(s.live, scope)
}

// Records bounds the records that a scope gets from this process within one
// retention, counted in quotaSlots slots of time: a sliding window. Where views
// of the guard give a scope's records several retentions, the longest counts.
type Records struct {
	Most int

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

// NewRecords returns the bound for at most so many records; nil for none.
func NewRecords(most int) *Records {
	if most <= 0 {
		return nil
	}
	return &Records{Most: most, scopes: map[string]*scopeWindow{}}
}

// Take counts one record of this retention, unless the scope has had its share.
// now is the time since the guard was made.
func (q *Records) Take(scope string, now, retention time.Duration) bool {
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
	if w.total >= q.Most {
		return false
	}
	w.total++
	w.slots[w.slot%quotaSlots]++
	return true
}

// Give takes one record back: it is gone, or never came to be.
func (q *Records) Give(scope string) {
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
func (q *Records) evict(now time.Duration) {
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
