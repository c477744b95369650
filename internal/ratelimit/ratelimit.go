// Package ratelimit bounds how often each of many callers may act, in bounded
// memory.
package ratelimit

import (
	"math"
	"sync"
	"time"
)

// few is the number of keys that are compared when one has to be forgotten.
const few = 8

// Limiter gives every key a bucket of tokens that refills with time. It
// remembers a bounded number of keys; to make room it forgets the fullest
// bucket of a few random ones: a flooding caller is not forgotten, and a caller
// that is forgotten gains next to nothing. Safe for concurrent use. Make one
// with [New].
type Limiter struct {
	every time.Duration
	spare time.Duration // the time in which all tokens but one come back
	most  int

	mu     sync.Mutex // guards fullAt
	fullAt map[string]time.Time
}

// New returns a limiter that allows burst at once, then one per interval, and
// remembers a bounded number of keys. All three are at least 1.
func New(every time.Duration, burst, keys int) *Limiter {
	every = max(1, every)
	spare := time.Duration(min(int64(max(1, burst)-1), math.MaxInt64/2/int64(every))) * every
	return &Limiter{every: every, spare: spare, most: max(1, keys), fullAt: map[string]time.Time{}}
}

// Allow takes one of the key's tokens. If none is left, it returns the time
// until the next.
func (l *Limiter) Allow(key string) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if wait := l.until(key, now); wait > 0 {
		return wait, false
	}
	full, known := l.fullAt[key]
	if !known && len(l.fullAt) >= l.most {
		l.forget(now)
	}
	if full.Before(now) {
		full = now
	}
	l.fullAt[key] = full.Add(l.every)
	return 0, true
}

// Wait returns the time until Allow will be true for the key; 0 for now. It
// takes no token and remembers no key.
func (l *Limiter) Wait(key string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until(key, time.Now())
}

// Keys is the number of keys that are remembered now.
func (l *Limiter) Keys() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.fullAt)
}

// until returns the time until the key has a token.
func (l *Limiter) until(key string, now time.Time) time.Duration {
	full, known := l.fullAt[key]
	if !known {
		return 0
	}
	return max(0, full.Sub(now)-l.spare)
}

// forget makes room for one key. It is called with the lock held.
func (l *Limiter) forget(now time.Time) {
	fullest, seen := "", 0
	for key, full := range l.fullAt {
		if seen == 0 || full.Before(l.fullAt[fullest]) {
			fullest = key
		}
		if seen++; seen == few || !full.After(now) {
			break
		}
	}
	delete(l.fullAt, fullest)
}
