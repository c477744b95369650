package gateway

import (
	"context"
	"sync"

	"github.com/semel-dev/semel/internal/console"
	"github.com/semel-dev/semel/outcomelog"
)

// counts reads the metrics that the console shows. They are in memory.
func (m *metrics) counts() console.Counts {
	c := console.Counts{Requests: map[outcomelog.Outcome]uint64{}, Settled: map[string]uint64{}}
	families, err := m.counted.Gather()
	if err != nil {
		return c // a metric that is inconsistent; /metrics says which
	}
	for _, family := range families {
		for _, one := range family.GetMetric() {
			label := map[string]string{}
			for _, pair := range one.GetLabel() {
				label[pair.GetName()] = pair.GetValue()
			}
			count, latency := uint64(one.GetCounter().GetValue()), console.Latency{}
			for _, bucket := range one.GetHistogram().GetBucket() {
				latency.Bounds = append(latency.Bounds, bucket.GetUpperBound())
				latency.Counts = append(latency.Counts, bucket.GetCumulativeCount())
			}
			latency.Counts = append(latency.Counts, one.GetHistogram().GetSampleCount())
			switch family.GetName() {
			case metricNamespace + "_requests_total":
				c.Requests[outcomelog.Outcome(label["outcome"])] += count
			case metricNamespace + "_waited_total":
				c.Waited += count
			case metricNamespace + "_lost_total":
				c.Lost += count
			case metricNamespace + "_claim_seconds":
				c.Claim = latency
			case metricNamespace + "_settle_seconds":
				c.Settled[label["state"]] += one.GetHistogram().GetSampleCount()
				c.Settle.Add(latency)
			}
		}
	}
	return c
}

// observe keeps the counts of every minute, and watches for unknown outcomes, until ctx ends. The result waits for the end.
func (g *Gateway) observe(ctx context.Context) (wait func()) {
	var all sync.WaitGroup
	if g.history != nil {
		all.Go(func() { g.history.Run(ctx) })
	}
	if g.unknown != nil && g.config.AdminListen != adminOff {
		all.Go(func() { g.unknown.Run(ctx) })
	}
	return all.Wait
}
