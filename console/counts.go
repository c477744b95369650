package console

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/semel-dev/semel/outcomelog"
)

// CountsOf reads the counts from the metrics of a gateway. They are in memory.
func CountsOf(metrics prometheus.Gatherer) func() Counts {
	return func() Counts { return countsOf(metrics) }
}

func countsOf(metrics prometheus.Gatherer) Counts {
	c := Counts{Requests: map[outcomelog.Outcome]uint64{}, Settled: map[string]uint64{}}
	families, err := metrics.Gather()
	if err != nil {
		return c // a metric that is inconsistent; /metrics says which
	}
	for _, family := range families {
		for _, one := range family.GetMetric() {
			label := map[string]string{}
			for _, pair := range one.GetLabel() {
				label[pair.GetName()] = pair.GetValue()
			}
			count, latency := uint64(one.GetCounter().GetValue()), Latency{}
			for _, bucket := range one.GetHistogram().GetBucket() {
				latency.Bounds = append(latency.Bounds, bucket.GetUpperBound())
				latency.Counts = append(latency.Counts, bucket.GetCumulativeCount())
			}
			latency.Counts = append(latency.Counts, one.GetHistogram().GetSampleCount())
			switch family.GetName() {
			case "semel_requests_total":
				c.Requests[outcomelog.Outcome(label["outcome"])] += count
			case "semel_waited_total":
				c.Waited += count
			case "semel_lost_total":
				c.Lost += count
			case "semel_claim_seconds":
				c.Claim = latency
			case "semel_settle_seconds":
				c.Settled[label["state"]] += one.GetHistogram().GetSampleCount()
				c.Settle.Add(latency)
			}
		}
	}
	return c
}
