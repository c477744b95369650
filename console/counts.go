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
			label := labels(one.GetLabel())
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

// ScriptCounts counts the requests of scripts in pages to a route with page.
type ScriptCounts struct {
	Keyed       uint64            // with a key
	Unprotected map[string]uint64 // without one, by kind, as the pages report
}

// ScriptCountsOf reads the counts of each route with page from the metrics of a gateway. They are in memory.
func ScriptCountsOf(metrics prometheus.Gatherer) func() map[string]ScriptCounts {
	return func() map[string]ScriptCounts {
		all := map[string]ScriptCounts{}
		families, err := metrics.Gather()
		if err != nil {
			return all // as above
		}
		for _, family := range families {
			for _, one := range family.GetMetric() {
				label, count := labels(one.GetLabel()), uint64(one.GetCounter().GetValue())
				of := all[label["route"]]
				switch family.GetName() {
				case "semel_page_keys_total":
					of.Keyed = count
				case "semel_page_unprotected_total":
					of.Unprotected = with(of.Unprotected, label["kind"], count)
				default:
					continue
				}
				all[label["route"]] = of
			}
		}
		return all
	}
}

// with returns the counts with one more, unless that is 0.
func with(counts map[string]uint64, kind string, n uint64) map[string]uint64 {
	if n == 0 {
		return counts
	}
	if counts == nil {
		counts = map[string]uint64{}
	}
	counts[kind] = n
	return counts
}

func labels[P interface {
	GetName() string
	GetValue() string
}](pairs []P) map[string]string {
	all := map[string]string{}
	for _, pair := range pairs {
		all[pair.GetName()] = pair.GetValue()
	}
	return all
}
