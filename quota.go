package semel

import (
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"
)

const (
	// DefaultLiveClaimsPerScope is the default of [Options.LiveClaimsPerScope].
	DefaultLiveClaimsPerScope = 16384
	// quotaShards is how many locks the live claims of all scopes share.
	quotaShards = 16
	// quotaSlots is how finely the records of a scope are counted in time.
	quotaSlots = 16
	// quotaScopes bounds the scopes whose counts are remembered.
	quotaScopes = 16384
	// retryQuota is the advice of Error.RetryAfter.
	retryQuota = 5 * time.Second
)

// liveQuota bounds the claims that one scope holds at a time.
type liveQuota struct {
	most   int
	seed   maphash.Seed
	shards [quotaShards]struct {
		mu   sync.Mutex // guards live
		live map[string]int
	}
}

func newLiveQuota(most int) *liveQuota {
	q := &liveQuota{most: most, seed: maphash.MakeSeed()}
	for i := range q.shards {
		q.shards[i].live = map[string]int{}
	}
	return q
}

// enter takes a seat of the scope, if there is one; leave follows if so.
func (q *liveQuota) enter(scope string) bool {
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

func (q *liveQuota) leave(scope string) {
	s := &q.shards[maphash.String(q.seed, scope)%quotaShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.live[scope] - 1; n > 0 {
		s.live[scope] = n
		return
	}
	delete(s.live, scope)
}

// recordQuota bounds the records that a scope gets from this process within one
// retention, counted in quotaSlots slots of time: a sliding window.
type recordQuota struct {
	most int

	mu     sync.Mutex // guards scopes
	scopes map[string]*scopeWindow
}

// scopeWindow is what one scope was given of late.
type scopeWindow struct {
	slot  int64 // the present slot: time since some moment, in slots
	total int
	slots [quotaSlots]int
}

func newRecordQuota(most int) *recordQuota {
	if most <= 0 {
		return nil
	}
	return &recordQuota{most: most, scopes: map[string]*scopeWindow{}}
}

// take counts one record, unless the scope has had its share.
func (q *recordQuota) take(scope string, slot int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	w, ok := q.scopes[scope]
	if !ok {
		if len(q.scopes) >= quotaScopes {
			q.evict(slot)
		}
		w = &scopeWindow{slot: slot}
		q.scopes[scope] = w
	}
	w.advance(slot)
	if w.total >= q.most {
		return false
	}
	w.total++
	w.slots[w.slot%quotaSlots]++
	return true
}

// give takes one record back: it is gone, or never came to be.
func (q *recordQuota) give(scope string) {
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
// that was given least: whoever floods is not forgotten.
func (q *recordQuota) evict(slot int64) {
	const few = 8
	least, seen := "", 0
	for scope, w := range q.scopes {
		w.advance(slot)
		if seen == 0 || w.total < q.scopes[least].total {
			least = scope
		}
		if seen++; seen == few || w.total == 0 {
			break
		}
	}
	delete(q.scopes, least)
}

// advance forgets the slots that have gone by.
func (w *scopeWindow) advance(slot int64) {
	for gone := min(slot-w.slot, quotaSlots); gone > 0; gone-- {
		w.slot++
		w.total -= w.slots[w.slot%quotaSlots]
		w.slots[w.slot%quotaSlots] = 0
	}
	w.slot = max(w.slot, slot)
}

// quotaSlot is the present slot of a retention.
func (c *core) quotaSlot(retention time.Duration) int64 {
	return int64(time.Since(c.born) / max(1, retention/quotaSlots))
}

// admit takes the attempt's seats within the quotas of its scope. What is taken
// over is a record already, and is counted no second time.
func (a *attempt) admit(takeOver Fence) error {
	c, scope := a.guard.core, a.key.Scope
	if !c.liveQuota.enter(scope) {
		return fmt.Errorf("%w: it holds %d claims already", ErrQuota, c.liveQuota.most)
	}
	if c.recordQuota == nil || takeOver != 0 {
		return nil
	}
	if !c.recordQuota.take(scope, c.quotaSlot(a.guard.policy.Retention)) {
		c.liveQuota.leave(scope)
		return fmt.Errorf("%w: it has got %d records within %v already", ErrQuota, c.recordQuota.most, a.guard.policy.Retention)
	}
	return nil
}

// dismiss gives the seats of an attempt back that won no claim.
func (a *attempt) dismiss(takeOver Fence) {
	c, scope := a.guard.core, a.key.Scope
	c.liveQuota.leave(scope)
	if c.recordQuota != nil && takeOver == 0 {
		c.recordQuota.give(scope)
	}
}

// lookOnly is what an attempt does that was not admitted: what is there already may
// be replayed or waited for, but nothing new is claimed.
func (a *attempt) lookOnly(takeOver Fence, refused error) step {
	if takeOver != 0 {
		return step{err: refused}
	}
	rec, err := a.lookup()
	if errors.Is(err, ErrNotFound) {
		err = refused
	}
	return step{rec: rec, err: err}
}
