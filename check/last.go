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
		unfit:    countsEverything, run: staysCounted,
	}}
}

// countsEverything is for checks that have to see effects of whatever intent.
func countsEverything(c *Config) string {
	return unless(len(c.Oracles) == 0 || seesAll(c.Oracles), "no oracle counts everything")
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
	if late := p.run.books.drift(); len(late) > 0 {
		return failed("%s", strings.Join(late, "; "))
	}
	return passed()
}

// ledger keeps what was counted last, to see what changes although nothing was
// sent. It is safe for concurrent use.
type ledger struct {
	mu     sync.Mutex // guards the fields below
	counts []int64    // of every oracle; zero for those that count for one intent
	sent   int        // requests that had been sent then
	where  string     // the check that counted
	late   []string
}

// maxLate bounds how many changes are told of.
const maxLate = 5

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
