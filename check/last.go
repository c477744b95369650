package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

func last() []Check {
	return []Check{{
		ID: "LAST-01", Group: Last, Level: LevelMust, NeedsOracle: true,
		Says:     "Nothing happens late: there are as many effects in the end as the checks counted.",
		Source:   "Semel promise 3",
		Advice:   "Look for work that runs after the answer, such as in a queue that knows no keys. If somebody else uses the service at the same time, count per intent.",
		requests: sends(0),
		unfit:    always, run: staysCounted,
	}}
}

func staysCounted(ctx context.Context, p *probe) finding {
	if len(p.run.config.Oracles) == 0 {
		return uncounted()
	}
	for _, wait := range []time.Duration{0, p.run.config.Settle} {
		if !pause(ctx, wait) {
			return incomplete("%v", ctx.Err())
		}
		if now := p.before(ctx); now.err != nil {
			return incomplete("%v", now.err)
		}
	}
	late := p.run.books.drift()
	for _, one := range p.run.books.single() {
		now, _, err := p.run.count(ctx, p.run.config.Oracles[one.oracle], one.in)
		switch {
		case err != nil:
			return incomplete("%v", err)
		case now > one.most && len(late) < maxLate:
			late = append(late, fmt.Sprintf("an intent of %s had %s when it was counted, and has %d now", one.where, effectsText(one.n), now))
		}
	}
	if len(late) > 0 {
		return failed("%s", strings.Join(late, "; "))
	}
	return passed()
}

// counted is what one oracle counted for one intent, or with nil for everything.
type counted struct {
	oracle int // its place in the configuration
	in     *intent
	where  string // the check that counted
	n      int64
	most   int64 // that it may come to, if nothing more is sent
}

// ledger keeps what was counted last, to see what changes although nothing was
// sent. It is safe for concurrent use.
type ledger struct {
	mu     sync.Mutex // guards the fields below
	counts []int64    // of every oracle; zero for those that count for one intent
	sent   int        // requests that had been sent then
	where  string     // the check that counted
	late   []string
	last   []counted // what was counted last for single intents
}

const (
	maxLate    = 5   // changes that are told of
	maxCounted = 200 // intents that are counted again in the end
)

// remember keeps what was counted for a single intent.
func (l *ledger) remember(one counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = slices.DeleteFunc(l.last, func(had counted) bool {
		return had.oracle == one.oracle && had.in.key == one.in.key && had.in.values["n"] == one.in.values["n"]
	})
	if len(l.last) == maxCounted {
		l.last = slices.Delete(l.last, 0, 1)
	}
	l.last = append(l.last, one)
}

// forget is for an intent of which more is sent: it may have more effects.
func (l *ledger) forget(in *intent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = slices.DeleteFunc(l.last, func(had counted) bool { return had.in.akin(in) })
}

// single is what was remembered of single intents.
func (l *ledger) single() []counted {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.last)
}

// akin reports whether two intents have the same key or the same values, so that
// they may be counted by one answer.
func (in *intent) akin(other *intent) bool {
	return in.key == other.key || in.values["n"] == other.values["n"]
}

// close notes a count at the end of something.
func (l *ledger) close(where string, sent int, counts []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts, l.sent, l.where = slices.Clone(counts), sent, where
}

// open notes a count at the beginning of something, and compares it with the
// last one if nothing was sent in between.
func (l *ledger) open(where string, sent int, counts []int64) {
	l.mu.Lock()
	if l.counts != nil && l.sent == sent && len(l.late) < maxLate {
		for i := range counts {
			if more := counts[i] - l.counts[i]; more != 0 {
				l.late = append(l.late, fmt.Sprintf("%+d between the last count of %s and the first of %s", more, l.where, where))
			}
		}
	}
	l.mu.Unlock()
	l.close(where, sent, counts)
}

// stale reports whether requests were sent since the last count.
func (l *ledger) stale(sent int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent != sent
}

// drift is what changed by itself.
func (l *ledger) drift() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.late)
}

// learnLag remembers how long effects take, where a service works after it has
// answered.
func (s *session) learnLag(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if took > settleStep {
		s.lag = min(2*took, s.config.Settle)
	}
}

// letSettle waits as long as effects take in a service that works after it has
// answered; false means that the context ended.
func (s *session) letSettle(ctx context.Context) bool {
	s.mu.Lock()
	lag := s.lag
	s.mu.Unlock()
	return lag == 0 || pause(ctx, lag)
}
