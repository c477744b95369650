// Package ratelimit bounds how often each of many callers may act, in bounded
// memory.
package ratelimit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
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
	burst int
	most  int

	mu      sync.Mutex // guards buckets
	buckets map[string]*rate.Limiter
}

// New returns a limiter that allows burst at once, then one per interval, and
// remembers a bounded number of keys. All three are at least 1.
func New(every time.Duration, burst, keys int) *Limiter {
	return &Limiter{every: max(1, every), burst: max(1, burst), most: max(1, keys), buckets: map[string]*rate.Limiter{}}
}

// Allow takes one of the key's tokens. If none is left, it returns the time
// until the next.
func (l *Limiter) Allow(key string) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	b := l.buckets[key]
	if b == nil {
		if len(l.buckets) >= l.most {
			l.forget(now)
		}
		b = rate.NewLimiter(rate.Every(l.every), l.burst)
		l.buckets[key] = b
	}
	if b.AllowN(now, 1) {
		return 0, true
	}
	return l.until(b, now), false
}

// Wait returns the time until Allow will be true for the key; 0 for now. It
// takes no token and remembers no key.
func (l *Limiter) Wait(key string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		return 0
	}
	return l.until(b, time.Now())
}

// Keys is the number of keys that are remembered now.
func (l *Limiter) Keys() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.buckets)
}

// until returns the time until the bucket holds one token.
func (l *Limiter) until(b *rate.Limiter, now time.Time) time.Duration {
	missing := 1 - b.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(1, time.Duration(missing*float64(l.every)))
}

// forget makes room for one key. It is called with the lock held.
func (l *Limiter) forget(now time.Time) {
	fullest, most, seen := "", -1.0, 0
	for key, b := range l.buckets {
		if tokens := b.TokensAt(now); tokens > most {
			fullest, most = key, tokens
		}
		if seen++; seen == few || most >= float64(l.burst) {
			break
		}
	}
	delete(l.buckets, fullest)
}
