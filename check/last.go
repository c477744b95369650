package check

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

func last() []Check {
	return []Check{{
		ID: "LAST-01", Group: groupLast, Level: LevelMust, NeedsCount: true,
		Says:   "Nothing happens late: at the end there are as many effects as the checks counted.",
		Source: "Semel promise 3", Advice: "Look for work that runs after the answer, such as in a queue that ignores keys. If something else uses the service at the same time, count per intent.",
		requests: sends(0), unfit: always, run: staysCounted,
	}}
}

func staysCounted(ctx context.Context, p *probe) finding {
	if len(p.run.config.Counters) == 0 {
		return uncounted()
	}
	for _, wait := range []time.Duration{0, p.run.config.Settle} {
		if !waiting.Sleep(ctx, wait) {
			return incomplete("%v", ctx.Err())
		}
		if now := p.before(ctx); now.err != nil {
			return incomplete("%v", now.err)
		}
	}
	late := p.run.books.drift()
	for _, one := range p.run.books.single() {
		now, _, err := p.run.count(ctx, p.run.config.Counters[one.counter], one.in)
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
