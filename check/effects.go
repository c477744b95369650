package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// tally holds the number of effects at one moment, by counter.
type tally struct {
	counts []int64 // zero for counters per intent, which had no effects
	at     time.Time
	err    error
}

// before counts the existing effects. The named intents had effects before; for others, a counter per intent has seen
// none. Without counters it does nothing.
func (p *probe) before(ctx context.Context, of ...*intent) tally {
	t := tally{counts: make([]int64, len(p.run.config.Counters))}
	if p.run.books.stale(p.run.sentSoFar()) && !p.run.letSettle(ctx) {
		t.err = ctx.Err()
		return t
	}
	t.at = time.Now()
	for i := range p.run.config.Counters {
		each, err := p.countEach(ctx, i, of)
		if t.counts[i], t.err = total(each), err; err != nil {
			return t
		}
	}
	p.run.books.countBefore(p.check.ID, p.run.sentSoFar(), p.run.altogether(t.counts))
	return t
}

// altogether leaves out the counts of single intents.
func (s *testRun) altogether(counts []int64) []int64 {
	counts = slices.Clone(counts)
	for i, counter := range s.config.Counters {
		if counter.PerIntent() {
			counts[i] = 0
		}
	}
	return counts
}

// countEach returns what the i-th counter counts for each of the intents, or once for everything. Two intents for which
// the counter gets the same question share one count.
func (p *probe) countEach(ctx context.Context, i int, of []*intent) ([]counted, error) {
	counter := p.run.config.Counters[i]
	if !counter.PerIntent() {
		of = []*intent{nil}
	}
	var all []counted
	had := map[string]bool{}
	for _, in := range of {
		n, filled, err := p.run.count(ctx, counter, in)
		if err != nil {
			return nil, err
		}
		if !had[filled] {
			all = append(all, counted{counter: i, in: in, where: p.check.ID, n: n})
		}
		had[filled] = true
	}
	return all, nil
}

func total(all []counted) int64 {
	var sum int64
	for _, one := range all {
		sum += one.n
	}
	return sum
}

// count asks a counter, for an intent or, with nil, for everything. It also returns the values that were filled in: two
// intents with the same values share one count.
func (s *testRun) count(ctx context.Context, counter Counter, in *intent) (n int64, filled string, err error) {
	s.mu.Lock()
	s.lookUps++
	doubtful := s.doubtful
	s.mu.Unlock()
	if doubtful != nil {
		return 0, "", doubtful
	}
	fill := func(text string) string {
		switch {
		case in != nil:
			text = in.values.Fill(text)
			filled += text + "\x00"
		case s.user != nil: // values from the log-in
			text = s.user.Values.Fill(text)
		}
		return text
	}
	if n, err = counter.Count(ctx, fill); err != nil {
		return 0, "", fmt.Errorf("%s: %w", counter.Name(), err)
	}
	return n, filled, nil
}

// effects finds out whether the intents together had between least and most effects since then. It waits for the least
// until the configuration's Settle, and is not a pass if no counter can tell.
func (p *probe) effects(ctx context.Context, since tally, least, most int64, of ...*intent) finding {
	if len(p.run.config.Counters) == 0 {
		return uncounted()
	}
	if since.err != nil {
		return incomplete("%v", since.err)
	}
	if !p.run.letSettle(ctx) {
		return incomplete("%v", ctx.Err())
	}
	deadline := time.Now().Add(p.run.config.Settle)
	for first := true; ; first = false {
		seen, err := p.seen(ctx, since, most, of)
		switch {
		case err != nil:
			return incomplete("%v", err)
		case seen.disagree() && time.Now().After(deadline):
			return incomplete("the counters disagree: %s", seen)
		case !seen.disagree() && seen.counts[0] > most:
			return miscounted(moreEffects, seen.counts[0], least, most)
		case !seen.disagree() && seen.counts[0] >= least:
			if !first && p.answersAll() {
				p.run.learnLag(time.Since(since.at))
			}
			return passed()
		case seen.counts[0] < 0 && time.Now().After(deadline):
			p.run.doubt("%s fell by %d: something is removed meanwhile, so count for one intent, such as by {{n}}", seen.names[0], -seen.counts[0])
			return incomplete("%v", p.run.isDoubtful())
		case time.Now().After(deadline):
			p.less.Store(true)
			return miscounted(fewerEffects, seen.counts[0], least, most)
		}
		if !waiting.Sleep(ctx, settleStep) {
			return incomplete("%v", ctx.Err())
		}
	}
}

func miscounted(off string, seen, least, most int64) finding {
	f := failed("%s instead of %s", effectsText(seen), rangeText(least, most))
	f.off = off
	return f
}

// answersAll reports whether the check counts after every request was answered, so that effects seen later are late.
func (p *probe) answersAll() bool {
	return slices.Contains([]string{sampling, groupBasics, groupKeySyntax, groupMismatch}, p.check.Group)
}

func uncounted() finding {
	return incomplete("answers can lie: say how effects are counted, such as with --count json:…")
}

// counted is effects for a check that has judged answers: without counters it passes, unless the check needs one.
func (p *probe) counted(ctx context.Context, since tally, least, most int64, of ...*intent) finding {
	if len(p.run.config.Counters) == 0 && !p.check.NeedsCount {
		return passed()
	}
	return p.effects(ctx, since, least, most, of...)
}

func (p *probe) once(ctx context.Context, since tally, in *intent) finding {
	return p.effects(ctx, since, 1, 1, in)
}

const settleStep = 50 * time.Millisecond

// learnLag remembers how long effects take to be seen, if a service works on after its answer or counts an earlier
// state.
func (s *testRun) learnLag(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lag = max(s.lag, min(2*took, s.config.Settle))
}

// letSettle waits until the effects of such a service can be seen; false means that the context ended.
func (s *testRun) letSettle(ctx context.Context) bool {
	s.mu.Lock()
	lag := s.lag
	s.mu.Unlock()
	return lag == 0 || waiting.Sleep(ctx, lag)
}

// sighting holds what each counter has counted since a tally.
type sighting struct {
	names  []string
	counts []int64
}

func (s sighting) disagree() bool {
	return slices.ContainsFunc(s.counts, func(n int64) bool { return n != s.counts[0] })
}

// String says what each counter counted.
func (s sighting) String() string {
	parts := make([]string, len(s.counts))
	for i, n := range s.counts {
		parts[i] = fmt.Sprintf("%s says %d", s.names[i], n)
	}
	return strings.Join(parts, ", ")
}

// seen counts again. It remembers the counts of single intents: each may reach most together with the others, and one
// alone.
func (p *probe) seen(ctx context.Context, since tally, most int64, of []*intent) (sighting, error) {
	var s sighting
	now := make([]int64, len(p.run.config.Counters))
	for i, counter := range p.run.config.Counters {
		each, err := p.countEach(ctx, i, of)
		if err != nil {
			return s, err
		}
		s.names = append(s.names, counter.Name())
		s.counts = append(s.counts, total(each)-since.counts[i])
		if !counter.PerIntent() {
			now[i] = total(each)
			continue
		}
		for _, one := range each {
			if one.most = max(one.n, most); len(each) > 1 {
				one.most = max(one.n, min(most, 1))
			}
			p.run.books.remember(one)
		}
	}
	p.run.books.countAfter(p.check.ID, p.run.sentSoFar(), now)
	return s, nil
}

func effectsText(n int64) string {
	switch n {
	case 0:
		return "no effect"
	case 1:
		return "one effect"
	}
	return fmt.Sprintf("%d effects", n)
}

func rangeText(least, most int64) string {
	switch {
	case least == most && least == 1:
		return "one"
	case least == most && least == 0:
		return "none"
	case least == most:
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}
