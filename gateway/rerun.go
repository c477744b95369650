package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/semel-dev/semel/internal/recent"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// noticeReruns returns what says once, for a route on which a failure releases,
// that an intent ran again after one: where the application can fail after its
// effect, that was a second effect. It remembers failed intents in bounded memory.
func (g *Gateway) noticeReruns(rule *rules.Route) func(context.Context, *semelhttp.Decision) {
	if rule.On5xx != rules.Release5xx {
		return func(context.Context, *semelhttp.Decision) {}
	}
	var once sync.Once
	return func(ctx context.Context, d *semelhttp.Decision) {
		if !d.Executed {
			return
		}
		if failed := g.failed.Load(); failed != nil && failed.Has(d.Digest) {
			once.Do(func() {
				g.log.LogAttrs(ctx, slog.LevelWarn, "a request that had failed was executed again: on_5xx: release takes a failure for \"nothing happened\"; "+
					"if the application can fail after its effect, write preset: payments or on_5xx: unknown (said once for each route)",
					slog.String("route", rule.Name), slog.Int("status", d.Status))
			})
		}
		if d.Outcome == outcomelog.Released && d.Status >= http.StatusInternalServerError && d.Status != http.StatusBadGateway && d.Status != http.StatusGatewayTimeout {
			// A released 502 or 504 is the gateway's own: nothing was sent.
			if g.failed.Load() == nil {
				g.failed.CompareAndSwap(nil, new(recent.Set))
			}
			g.failed.Load().Add(d.Digest)
		}
	}
}
