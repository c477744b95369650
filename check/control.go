package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// premise establishes what a run relies on: counts that do not change while nothing is sent, and two plain requests
// that are executed. Otherwise the checks would say nothing about the service.
func (p *probe) premise(ctx context.Context) (*sample, error) {
	since := p.before(ctx)
	if since.err != nil {
		return nil, fmt.Errorf("count the effects before anything is sent: %w", since.err)
	}
	if err := p.watch(ctx, since); err != nil {
		return nil, err
	}
	since.at = time.Now() // what is seen late is late from here
	s, err := p.takeSample(ctx, since)
	if err != nil {
		return nil, err
	}
	if !p.run.client.HTTP2 && s.needsH2(ctx, p.run.config) {
		p.run.client.HTTP2 = true
		p.run.addNote("The service speaks HTTP/2 only, and so does the run: what has no counterpart there, such as a head that is cut, is left out.")
		if s, err = p.takeSample(ctx, since); err != nil {
			return nil, err
		}
	}
	if !s.first.answered() && !s.other.answered() {
		return nil, fmt.Errorf("a plain request gets no answer: %w", errors.Join(s.first.err, ctx.Err()))
	}
	return s, nil
}

// watch observes for Settle whether counts change although nothing is sent. If so, counting ends.
func (p *probe) watch(ctx context.Context, since tally) error {
	if !slices.ContainsFunc(p.run.config.Counters, func(o Counter) bool { return !o.PerIntent() }) {
		return nil // nothing had an effect so far
	}
	for range 2 {
		if !waiting.Sleep(ctx, p.run.config.Settle/2) {
			return ctx.Err()
		}
		now := p.before(ctx)
		if now.err != nil {
			return now.err
		}
		for i, counter := range p.run.config.Counters {
			if more := now.counts[i] - since.counts[i]; more != 0 {
				p.run.doubt("%s changed by %+d before anything was sent: something else uses the service, so count for one intent, such as by {{n}}", counter.Name(), more)
				return nil
			}
		}
	}
	return nil
}

// doubt ends the counting: from then on, checks that count cannot judge. The first reason is kept.
func (s *testRun) doubt(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doubtful == nil {
		s.doubtful = fmt.Errorf(format, args...)
	}
}

// isDoubtful returns why counting has ended; nil while counts are trusted.
func (s *testRun) isDoubtful() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doubtful
}

// refused returns why no check can be judged: neither request of the sample was
// executed. Otherwise it returns a pass.
func (s *sample) refused() finding {
	switch {
	case s.idle != "":
		return incomplete("even undisturbed, the request is not carried out (see %s)", sampleCheck)
	case slices.ContainsFunc(s.replies(), reply.fine):
		return passed()
	}
	return incomplete("even undisturbed, the request is answered %s", s.other).saying(s.other)
}

// ended describes, for a reason, a total count that did not grow.
func (s *testRun) ended(since tally) string {
	for i, counter := range s.config.Counters {
		if !counter.PerIntent() {
			return fmt.Sprintf(": %s stays at %d. If that is a list, the list ends at %d: count a total, by SQL, or one intent by {{n}}",
				counter.Name(), since.counts[i], since.counts[i])
		}
	}
	return ": something else is counted"
}
