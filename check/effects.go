package check

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// tally is how many effects there were at one moment, by oracle.
type tally struct {
	counts []int64 // zero for oracles that count for one intent, which had none
	err    error
}

// before counts what is there already. Intents that are named had effects
// before; of others, an oracle that counts for one intent has seen none. It costs
// nothing where there is nothing to count.
func (p *probe) before(ctx context.Context, of ...*intent) tally {
	t := tally{counts: make([]int64, len(p.run.config.Oracles))}
	for i, oracle := range p.run.config.Oracles {
		t.counts[i], t.err = p.countAll(ctx, oracle, of)
		if t.err != nil {
			return t
		}
	}
	return t
}

// countAll is what an oracle counts for all of the intents, or altogether.
// Intents that it cannot tell apart, such as two with the same {{n}}, count once.
func (p *probe) countAll(ctx context.Context, oracle Oracle, of []*intent) (int64, error) {
	if !oracle.PerIntent() {
		of = []*intent{nil}
	}
	var total int64
	asked := map[string]bool{}
	for _, in := range of {
		n, question, err := p.run.count(ctx, oracle, in)
		if err != nil {
			return 0, err
		}
		if !asked[question] {
			total += n
		}
		asked[question] = true
	}
	return total, nil
}

// count asks an oracle. question has everything of the intent that it wanted to
// know.
func (s *session) count(ctx context.Context, oracle Oracle, in *intent) (n int64, question string, err error) {
	s.mu.Lock()
	s.lookUps++
	s.mu.Unlock()
	fill := func(text string) string {
		switch {
		case in != nil:
			text = in.values.Fill(text)
		case s.user != nil: // what the log-in gave
			text = s.user.Values.Fill(text)
		}
		question += text + "\x00"
		return text
	}
	n, err = oracle.Count(ctx, fill)
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w", oracle.Name(), err)
	}
	return n, question, nil
}

// effects finds out whether the intents together had between least and most
// effects since then. It waits for the least until the configuration's Settle,
// and is not a pass where nobody can tell.
func (p *probe) effects(ctx context.Context, since tally, least, most int64, of ...*intent) finding {
	if len(p.run.config.Oracles) == 0 {
		return incomplete("answers can lie: say how effects are counted, such as with --count-json")
	}
	if since.err != nil {
		return incomplete("%v", since.err)
	}
	deadline := time.Now().Add(p.run.config.Settle)
	for {
		seen, err := p.seen(ctx, since, of)
		switch {
		case err != nil:
			return incomplete("%v", err)
		case seen.disagree() && time.Now().After(deadline):
			return incomplete("the oracles disagree: %s", seen)
		case !seen.disagree() && seen.counts[0] > most:
			return failed("%s instead of %s", effectsText(seen.counts[0]), rangeText(least, most))
		case !seen.disagree() && seen.counts[0] >= least:
			return passed()
		case time.Now().After(deadline):
			return failed("%s instead of %s", effectsText(seen.counts[0]), rangeText(least, most))
		}
		if !pause(ctx, settleStep) {
			return incomplete("%v", ctx.Err())
		}
	}
}

// once is effects for exactly one.
func (p *probe) once(ctx context.Context, since tally, in *intent) finding {
	return p.effects(ctx, since, 1, 1, in)
}

const settleStep = 50 * time.Millisecond

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// sighting is what each oracle counted since.
type sighting struct {
	names  []string
	counts []int64
}

func (s sighting) disagree() bool {
	for _, n := range s.counts {
		if n != s.counts[0] {
			return true
		}
	}
	return false
}

// String says what each oracle counted.
func (s sighting) String() string {
	parts := make([]string, len(s.counts))
	for i, n := range s.counts {
		parts[i] = fmt.Sprintf("%s says %d", s.names[i], n)
	}
	return strings.Join(parts, ", ")
}

func (p *probe) seen(ctx context.Context, since tally, of []*intent) (sighting, error) {
	var s sighting
	for i, oracle := range p.run.config.Oracles {
		total, err := p.countAll(ctx, oracle, of)
		if err != nil {
			return s, err
		}
		s.names = append(s.names, oracle.Name())
		s.counts = append(s.counts, total-since.counts[i])
	}
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
