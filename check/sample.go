package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/waiting"
)

// sample holds the answers to two different intents, before any check. Differences between the two may have other
// reasons than a second execution, such as a date or a request id.
type sample struct {
	a, b    *intent
	first   reply // a's
	other   reply // b's
	effects finding
	// idle says that neither request was carried out, although both were answered as if they were; empty otherwise.
	idle string
}

// sampleCheck judges the sample.
const sampleCheck = "BASIC-01"

func (s *sample) replies() []reply { return []reply{s.first, s.other} }

const (
	// sampleRequests is the number of requests in the sample.
	sampleRequests = 2
	// sampleTries is the most times that each is sent to a service that is busy, and samplePause precedes the second.
	sampleTries = 3
	samplePause = 250 * time.Millisecond
)

func (p *probe) sendSample(ctx context.Context, label string, in *intent) reply {
	got, wait := p.send(ctx, label, in), samplePause
	for range sampleTries - 1 {
		if !got.busy() || !waiting.Sleep(ctx, max(wait, comeAgain(got))) {
			break
		}
		p.run.hear(got)
		got, wait = p.send(ctx, label, in), 2*wait
	}
	return got
}

// sampling is the group of requests that belong to no check.
const sampling = "sample"

// takeSample sends two intents, once each, and checks whether the counters see exactly those two. The second begins
// after the first is over: two pages that are open at once are a question of their own.
func (p *probe) takeSample(ctx context.Context, since tally) (*sample, error) {
	var err error
	s := &sample{}
	if s.a, err = p.intent(ctx); err != nil {
		return nil, err
	}
	s.first = p.sendSample(ctx, "one intent", s.a)
	if err = p.tryForms(ctx, s); err != nil {
		return nil, err
	}
	if s.b, err = p.intent(ctx); err != nil {
		return nil, err
	}
	s.other = p.sendSample(ctx, "another intent", s.b)
	s.effects = p.effects(ctx, since, sampleRequests, sampleRequests, s.a, s.b)
	if !p.run.config.Template.Varies() && (s.effects.verdict == Fail || !s.other.fine()) {
		p.run.addNote("the request is the same for every intent, as it has no place: write {{n}} or {{uuid}} where intents should differ")
	}
	if s.effects.verdict == Fail && s.refused().ok() {
		p.doubtSample(ctx, s, since)
	}
	if detour := cmp.Or(p.detour(s.first), p.detour(s.other)); detour != "" && s.effects.verdict == Incomplete {
		s.idle = fmt.Sprintf("the request is answered %s: %s", s.other, detour)
	}
	return s, nil
}

// doubtSample checks whether the service could be responsible for a wrong count of two plain requests. It is not if the
// count does not change, or grows by more than one for each: then something else is counted, which is left to BASIC-01
// and says nothing about repetitions.
func (p *probe) doubtSample(ctx context.Context, s *sample, since tally) {
	seen, err := p.seen(ctx, since, sampleRequests, []*intent{s.a, s.b})
	if err != nil || seen.disagree() || seen.counts[0] > 0 && seen.counts[0] < 2*sampleRequests {
		return
	}
	s.effects.reason += fmt.Sprintf(", though they were answered %s and %s", s.first, s.other)
	end := ""
	if seen.counts[0] == 0 {
		if took := p.late(ctx, since, s); took > 0 {
			p.run.doubt("two plain requests were counted only %s after their answers: run again with a --settle above that", took.Round(time.Second/10))
			s.effects = incomplete("%v", p.run.isDoubtful())
			return
		}
		if detour := cmp.Or(p.detour(s.first), p.detour(s.other)); detour != "" {
			end = ": " + detour
		} else if since.counts[0] > 0 {
			end = p.run.ended(since)
		}
		s.idle = s.effects.reason + end
	}
	p.run.doubt("of two plain requests %s was seen, so something else may be counted (see %s)%s", effectsText(seen.counts[0]), sampleCheck, end)
}

// lateFactor bounds, in times of Settle, how much longer a run waits for the effects of the sample.
const lateFactor = 4

// late returns how long after its answers the effects of the sample were counted; 0 if none were.
func (p *probe) late(ctx context.Context, since tally, s *sample) time.Duration {
	begun := time.Now()
	for time.Since(begun) < lateFactor*p.run.config.Settle && waiting.Sleep(ctx, settleStep) {
		seen, err := p.seen(ctx, since, sampleRequests, []*intent{s.a, s.b})
		if err == nil && !seen.disagree() && seen.counts[0] == sampleRequests {
			return time.Since(begun) + p.run.config.Settle
		}
	}
	return 0
}

// needsH2 reports whether answers are missing because the service only accepts HTTP/2.
func (s *sample) needsH2(ctx context.Context, c *Config) bool {
	for _, r := range s.replies() {
		if r.answered() || r.request == nil || errors.Is(r.err, wire.ErrUnreachable) || errors.Is(r.err, wire.ErrTimeout) {
			return false
		}
	}
	over, err := wire.OpenH2(ctx, s.first.request.URL, c.TLS)
	if err == nil {
		_ = over.Close()
	}
	return err == nil
}
