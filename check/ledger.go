package check

import (
	"fmt"
	"slices"
	"sync"
)

// counted is the count of one counter for one intent, or with nil for everything.
type counted struct {
	counter int // its place in the configuration
	in      *intent
	where   string // the check that counted
	n       int64
	most    int64 // the limit, if nothing more is sent
}

// ledger keeps the last counts, to find those that change although nothing was sent. It is safe for concurrent use.
type ledger struct {
	mu     sync.Mutex // guards the fields below
	counts []int64    // of every counter; zero for counters per intent
	sent   int        // requests that had been sent then
	where  string     // the check that counted
	late   []string
	last   []counted // the last counts of single intents
}

const (
	maxLate    = 5   // changes that are reported
	maxCounted = 200 // intents that are counted again at the end
)

func (l *ledger) remember(one counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = slices.DeleteFunc(l.last, func(had counted) bool {
		return had.counter == one.counter && had.in.key == one.in.key && had.in.values["n"] == one.in.values["n"]
	})
	if len(l.last) == maxCounted {
		l.last = slices.Delete(l.last, 0, 1)
	}
	l.last = append(l.last, one)
}

// forget drops an intent that is sent again: it may have more effects.
func (l *ledger) forget(in *intent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = slices.DeleteFunc(l.last, func(had counted) bool { return had.in.akin(in) })
}

func (l *ledger) single() []counted {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.last)
}

// akin reports whether two intents have the same key or the same values, so that they may share one count.
func (in *intent) akin(other *intent) bool {
	return in.key == other.key || in.values["n"] == other.values["n"]
}

func (l *ledger) countAfter(where string, sent int, counts []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts, l.sent, l.where = slices.Clone(counts), sent, where
}

// countBefore records a count at the beginning of a step, and compares it with the last one if nothing was sent in between.
func (l *ledger) countBefore(where string, sent int, counts []int64) {
	l.mu.Lock()
	if l.counts != nil && l.sent == sent && len(l.late) < maxLate {
		for i := range counts {
			if more := counts[i] - l.counts[i]; more != 0 {
				l.late = append(l.late, fmt.Sprintf("%+d between the last count of %s and the first of %s", more, l.where, where))
			}
		}
	}
	l.mu.Unlock()
	l.countAfter(where, sent, counts)
}

func (l *ledger) stale(sent int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent != sent
}

func (l *ledger) drift() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.late)
}
