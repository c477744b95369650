package command

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/semel-dev/semel/gateway/watch"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/schema/dedupe"
)

const (
	// outboxEvery is the time between two reads of the outbox, outboxTimeout the limit of each.
	outboxEvery   = 15 * time.Second
	outboxTimeout = 10 * time.Second
	// outboxFresh is the age after which numbers are no longer shown.
	outboxFresh = time.Minute
)

// outboxGauges shows what the last read of an outbox found. A scrape reads memory only.
type outboxGauges struct {
	waiting, oldest, held, stopped *prometheus.Desc

	mu    sync.Mutex // guards the fields below
	stats outbox.Stats
	at    time.Time // zero before the first look
}

func newOutboxGauges() *outboxGauges {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("semel_outbox_"+name, help, nil, nil)
	}
	return &outboxGauges{
		waiting: desc("waiting", "Messages that were not published yet, at most 100,000."),
		oldest:  desc("oldest_seconds", "Age of the oldest message that waits for no operator."),
		held:    desc("held", "Keys, and messages without one, that wait after a failure."),
		stopped: desc("stopped", "Those of them that wait for an operator."),
	}
}

// Describe implements prometheus.Collector.
func (g *outboxGauges) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{g.waiting, g.oldest, g.held, g.stopped} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector. Old numbers leave a gap.
func (g *outboxGauges) Collect(ch chan<- prometheus.Metric) {
	g.mu.Lock()
	stats, at := g.stats, g.at
	g.mu.Unlock()
	if at.IsZero() || time.Since(at) > outboxFresh {
		return
	}
	for desc, value := range map[*prometheus.Desc]float64{
		g.waiting: float64(stats.Waiting), g.oldest: stats.Oldest.Seconds(), g.held: float64(stats.Held), g.stopped: float64(stats.Stopped),
	} {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value)
	}
}

// poll reads the outbox until ctx ends. A database without the outbox, or one that does not answer, leaves a gap.
func (g *outboxGauges) poll(ctx context.Context, in *dedupe.Database, table string) {
	tick := time.NewTicker(outboxEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			g.look(ctx, in, table)
		case <-ctx.Done():
			return
		}
	}
}

func (g *outboxGauges) look(ctx context.Context, in *dedupe.Database, table string) {
	ctx, cancel := context.WithTimeout(ctx, outboxTimeout)
	defer cancel()
	box, err := outbox.Open(ctx, in.DB, &outbox.Options{Table: table, SkipMigrations: true})
	if err != nil {
		return
	}
	stats, err := box.Stats(ctx)
	if err != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stats, g.at = stats, time.Now()
}

// metrics returns the handler of /metrics, and starts the goroutines that collect its numbers. The returned function waits
// until they have ended; ctx ends them.
func (f *consoleFlags) metrics(ctx context.Context, l *ledger, in *dedupe.Database) (http.Handler, func(), error) {
	unknown, err := watch.New(l.guard)
	if err != nil {
		return nil, nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(unknown.Gauges()...)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { unknown.Run(ctx) })
	if in != nil {
		gauges := newOutboxGauges()
		registry.MustRegister(gauges)
		gauges.look(ctx, in, f.outbox)
		all.Go(func() { gauges.poll(ctx, in, f.outbox) })
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), func() { cancel(); all.Wait() }, nil
}
