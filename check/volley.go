package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel/check/wire"
)

// gatherTime bounds how long a volley waits until all of it is ready: a service does not wait for the rest of a request
// for ever.
const gatherTime = 5 * time.Second

// volley sends one attempt of each intent, all at the same moment: all connections are open, and everything but the end
// is sent, before the first is complete. Nothing is repeated, not even after a 429. Replies are in the order of the
// intents; one without a connection is ErrUnreachable.
func (p *probe) volley(ctx context.Context, label string, intents ...*intent) []reply {
	return p.volleyThen(ctx, label, func(int, reply) {}, intents...)
}

// volleyThen is volley, and calls then with each reply as soon as it arrives, while others may still be under way.
func (p *probe) volleyThen(ctx context.Context, label string, then func(i int, r reply), intents ...*intent) []reply {
	replies := make([]reply, len(intents))
	ready := make([]*racer, len(intents))
	for i, in := range intents { // at the allowed rate, before the first connection waits for the others
		ready[i], replies[i].err = p.enter(ctx, fmt.Sprintf("%s %d", label, i+1), in)
	}
	within, cancel := context.WithTimeout(ctx, gatherTime)
	defer cancel()
	each(len(intents), func(i int) {
		if ready[i] != nil {
			replies[i].err = p.prepare(within, ready[i])
		}
	})
	each(len(intents), func(i int) {
		if ready[i] != nil && ready[i].held != nil {
			replies[i] = p.release(ctx, ready[i])
			then(i, replies[i])
		}
	})
	p.noneThere(replies)
	return replies
}

// racer is a request that is about to be complete.
type racer struct {
	label   string
	intent  *intent
	request *wire.Request
	held    *wire.Held
}

// enter renders the request and counts it.
func (p *probe) enter(ctx context.Context, label string, in *intent) (*racer, error) {
	r, err := p.request(in)
	if err != nil {
		return nil, err
	}
	if err := p.spend(); err != nil {
		return nil, err
	}
	if err := p.run.pace.Wait(ctx); err != nil {
		return nil, err
	}
	return &racer{label: label, intent: in, request: r}, nil
}

// prepare connects, and sends all but the end.
func (p *probe) prepare(ctx context.Context, one *racer) error {
	began := time.Now()
	held, err := p.run.client.Prepare(ctx, one.request)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: no connection within %s", wire.ErrUnreachable, gatherTime)
	}
	if err != nil {
		p.keep(one.label, began, reply{err: err, request: one.request, of: one.intent})
	}
	one.held = held
	return err
}

func (p *probe) release(ctx context.Context, one *racer) reply {
	began := time.Now()
	answer, err := one.held.Release(ctx)
	got := reply{Answer: answer, err: err, request: one.request, of: one.intent}
	p.keep(one.label, began, got)
	p.run.keepCookies(one.intent, one.request, answer)
	return got
}

// noneThere ends the run if no request of a volley reached the service. A service that accepts some of many connections
// is busy, and not gone.
func (p *probe) noneThere(replies []reply) {
	for _, r := range replies {
		if !errors.Is(r.err, wire.ErrUnreachable) && !errors.Is(r.err, wire.ErrTLS) {
			return
		}
	}
	if len(replies) > 0 {
		p.run.lost(replies[0].err)
	}
}

// each calls do for 0 to n-1 at once, and waits for all.
func each(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// countReplies counts equal replies, such as "1 × 201 Created, 9 × 409 Conflict".
func countReplies(replies []reply) string {
	times := map[string]int{}
	for _, r := range replies {
		times[r.String()]++
	}
	var parts []string
	for _, text := range slices.Sorted(maps.Keys(times)) {
		parts = append(parts, fmt.Sprintf("%d × %s", times[text], text))
	}
	return strings.Join(parts, ", ")
}

// clearRefusal reports whether the refusal of a request with a running twin, or by a busy service, is one that a client
// understands.
func (p *probe) clearRefusal(r reply) bool {
	return p.refusedDuplicate(r) || r.in(p.run.config.Profile.InFlight...) || r.in(http.StatusTooEarly, http.StatusTooManyRequests) ||
		r.in(http.StatusServiceUnavailable) && r.Header.Get("Retry-After") != ""
}

// atOnce returns how many of n requests may be sent at once.
func atOnce(c *Config, n int) int { return min(n, c.Parallel) }

// wantsParallel requires more than one request at once.
func wantsParallel(c *Config) string {
	return unless(c.Parallel >= 2, "only one request at a time was allowed")
}
