package check

import (
	"context"
	"time"
)

// sample is what two different intents were answered, before any check. What
// differs between the two may differ for other reasons than a second execution,
// such as a date or the id of a request.
type sample struct {
	a, b    *intent
	first   reply // a's
	other   reply // b's
	effects finding
}

// sampleRequests is what the sample sends.
const sampleRequests = 2

// takeSample sends two intents, once each, and looks whether the oracles see
// exactly those two.
func (p *probe) takeSample(ctx context.Context) (*sample, error) {
	both, err := p.intents(ctx, sampleRequests)
	if err != nil {
		return nil, err
	}
	since := p.before(ctx)
	s := &sample{a: both[0], b: both[1]}
	s.first = p.send(ctx, "one intent", s.a)
	s.other = p.send(ctx, "another intent", s.b)
	began := time.Now()
	s.effects = p.effects(ctx, since, sampleRequests, sampleRequests, both...)
	if s.effects.ok() {
		p.run.learnLag(time.Since(began))
	}
	return s, nil
}
