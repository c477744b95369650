package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

const (
	countTimeout = time.Second
	// maxDecisionAttrs bounds the attributes of one log line.
	maxDecisionAttrs = 12
	metricNamespace  = "semel"
)

// metrics are the gateway's own, in a registry of their own.
type metrics struct {
	registry         *prometheus.Registry
	counted          *prometheus.Registry // those of registry that the console shows
	requests         *prometheus.CounterVec
	waited           prometheus.Counter
	claimSeconds     prometheus.Histogram
	settleSeconds    *prometheus.HistogramVec
	upstreamFailures *prometheus.CounterVec
	reconciled       *prometheus.CounterVec
	lost, swept      prometheus.Counter
	cutOff           atomic.Int64 // claims that the drain cut off
	pages            *prometheus.CounterVec
	formTokens       *prometheus.CounterVec
	pageKeys         *prometheus.CounterVec
	pageUnprotected  *prometheus.CounterVec
}

func newMetrics(g *Gateway) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: metricNamespace, Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: metricNamespace, Name: name, Help: help}, value)
	}
	latencies := prometheus.ExponentialBuckets(0.00005, 2.5, 14) // 50 µs to 7 s
	m := &metrics{
		registry: cmp.Or(g.config.Metrics, prometheus.NewRegistry()),
		requests: counter("requests_total", "Requests with a key, without a required one, or ambiguous, by what they came to.", "route", "outcome"),
		waited:   counter("waited_total", "Requests that waited for a running twin.").WithLabelValues(),
		claimSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: metricNamespace, Name: "claim_seconds", Buckets: latencies,
			Help: "Time to decide about a request, without the time spent waiting for a twin.",
		}),
		settleSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: metricNamespace, Name: "settle_seconds", Buckets: latencies, Help: "Time to record how a claim ended.",
		}, []string{"state"}),
		upstreamFailures: counter("upstream_failures_total", "Requests that the upstream did not answer completely.", "class"),
		reconciled:       counter("reconciled_total", "Unknown outcomes that were asked about, by what was found.", "verdict"),
		lost:             counter("lost_total", "Claims lost while their request was running.").WithLabelValues(),
		swept:            counter("swept_total", "Expired records removed.").WithLabelValues(),
		pages:            counter("pages_total", "Pages that could have forms or scripts, by result.", "result"),
		pageKeys:         counter("page_keys_total", "Requests with a key of the page script.", "route"),
		pageUnprotected:  counter("page_unprotected_total", "Requests that scripts in pages sent without a key, by why, as the pages say.", "route", "kind"),
		formTokens:       counter("form_tokens_total", "Requests with a form token, by what it was worth.", "route", "verdict"),
	}
	m.registry.MustRegister(
		m.requests, m.waited, m.claimSeconds, m.settleSeconds, m.upstreamFailures, m.reconciled, m.lost, m.swept,
		m.pages, m.formTokens, m.pageKeys, m.pageUnprotected,
		gauge("live_claims", "Requests running under a claim now.", func() float64 { return float64(g.guard.LiveClaims()) }),
		gauge("detached", "Requests recorded whose answer is still streamed, or whose connection was upgraded; they count as live.",
			func() float64 { return float64(g.guard.Detached()) }),
		gauge("waiters", "Requests waiting for a running twin now.", func() float64 { return float64(g.guard.Waiting()) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	if log := g.config.OutcomeLog; log != nil {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: metricNamespace, Name: "outcome_log_dropped_total", Help: "Outcomes that the outcome log in the database has not kept.",
		}, func() float64 { return float64(log.Dropped()) }))
	}
	m.begin()
	m.counted = prometheus.NewRegistry()
	m.counted.MustRegister(m.requests, m.waited, m.claimSeconds, m.settleSeconds, m.lost, m.pageKeys, m.pageUnprotected)
	if counter, ok := semel.StoreAs[semel.Counter](g.config.Store); ok {
		m.registry.MustRegister(&recordsCollector{
			store: counter,
			desc:  prometheus.NewDesc(metricNamespace+"_records", "Records in the store, expired ones not swept yet included.", nil, nil),
		})
	}
	return m
}

// begin shows what alerts look at as 0 from the start: Prometheus sees no increase in a series whose first value is 1.
func (m *metrics) begin() {
	m.settleSeconds.WithLabelValues(semel.StateUnknown.String())
	for _, class := range []string{failureUnreachable, failureTimeout, failureNoAnswer, failureBrokenAnswer, failureCallerCancelled} {
		m.upstreamFailures.WithLabelValues(class)
	}
	for _, verdict := range []semel.Verdict{semel.Happened, semel.NotHappened, semel.StillUnknown} {
		m.reconciled.WithLabelValues(verdict.String())
	}
}

// beginRoute is begin for the outcomes of a route that need a person.
func (m *metrics) beginRoute(route string) {
	for _, outcome := range []outcomelog.Outcome{outcomelog.Unknown, outcomelog.Unprotected, outcomelog.NotStored, outcomelog.Unavailable} {
		m.requests.WithLabelValues(route, string(outcome))
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// recordsCollector asks the store when it is scraped. A store that does not
// answer leaves a gap.
type recordsCollector struct {
	store semel.Counter
	desc  *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *recordsCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c *recordsCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	if n, err := c.store.Count(ctx); err == nil {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n))
	}
}

// trace returns hooks that count, tell readiness how claims end, and then call those of next, which may be nil.
func (m *metrics) trace(next *semel.Trace, notes func(context.Context, semel.BeginInfo)) *semel.Trace {
	var t semel.Trace
	if next != nil {
		t = *next
	}
	began, settled, lost, reconciled, swept := t.Began, t.Settled, t.Lost, t.Reconciled, t.Swept
	t.Began = func(ctx context.Context, i semel.BeginInfo) {
		m.claimSeconds.Observe((i.Took - i.Waited).Seconds())
		if i.Waited > 0 {
			m.waited.Inc()
		}
		notes(ctx, i)
		call(began, ctx, i)
	}
	t.Settled = func(ctx context.Context, i semel.SettleInfo) {
		m.settleSeconds.WithLabelValues(i.State.String()).Observe(i.Took.Seconds())
		call(settled, ctx, i)
	}
	t.Lost = func(ctx context.Context, i semel.LostInfo) {
		m.lost.Inc()
		if errors.Is(i.Err, semel.ErrClosed) {
			m.cutOff.Add(1)
		}
		call(lost, ctx, i)
	}
	t.Reconciled = func(ctx context.Context, i semel.ReconcileInfo) {
		m.reconciled.WithLabelValues(i.Verdict.String()).Inc()
		call(reconciled, ctx, i)
	}
	t.Swept = func(ctx context.Context, i semel.SweepInfo) {
		m.swept.Add(float64(i.Removed))
		call(swept, ctx, i)
	}
	return &t
}

func call[T any](hook func(context.Context, T), ctx context.Context, info T) { //nolint:revive // the hook comes first, as the function that is called.
	if hook != nil {
		hook(ctx, info)
	}
}

// decided returns what counts and logs the decisions of one route: one line
// each, without key, query or any credential.
func (g *Gateway) decided(rule *rules.Route) func(context.Context, semelhttp.Decision) {
	route, noticeRerun := rule.Name, g.noticeReruns(rule)
	g.metrics.beginRoute(route)
	return func(ctx context.Context, d semelhttp.Decision) {
		noticeRerun(ctx, &d)
		g.busy.served.Add(1)
		g.metrics.requests.WithLabelValues(route, string(d.Outcome)).Inc()
		event := d.Event()
		event.Door, event.Route = outcomelog.Gateway, route
		if g.repeats != nil && !d.Executed {
			g.repeats.Keep(ctx, event)
		}
		if g.config.OutcomeLog != nil {
			g.config.OutcomeLog.Keep(ctx, event)
		}
		level := d.Outcome.Level()
		if !g.log.Enabled(ctx, level) {
			return
		}
		attrs := append(make([]slog.Attr, 0, maxDecisionAttrs),
			slog.String("outcome", string(d.Outcome)),
			slog.String("method", d.Method),
			slog.String("route", route),
			slog.Int("status", d.Status))
		if d.Digest != (semel.Digest{}) {
			attrs = append(attrs, slog.String("key", d.Digest.String()[:outcomelog.KeyDigits]))
			if d.Outcome == outcomelog.Unknown {
				attrs = append(attrs, slog.String("reference", refusal.Reference(d.Digest.String())))
			}
		}
		attrs = append(attrs,
			slog.Uint64("fence", uint64(d.Fence)),
			slog.Int("attempt", d.Attempt),
			slog.Float64("begin_ms", milliseconds(d.Begin)),
			slog.Float64("took_ms", milliseconds(d.Took)))
		if d.Err != nil {
			attrs = append(attrs, slog.String("error", d.Err.Error()))
		}
		attrs = append(attrs, event.Attr())
		g.log.LogAttrs(ctx, level, "decision", attrs...)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
