package watch

import "github.com/prometheus/client_golang/prometheus"

// Gauges returns the gauges of a watch, which read memory alone.
func (u *Unknown) Gauges() []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "semel", Subsystem: "unknown", Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		gauge("oldest_seconds", "Age of the oldest unknown outcome that was found; 0 for none.", func() float64 {
			age, _ := u.Oldest()
			return age.Seconds()
		}),
		gauge("found", "Unknown outcomes that were found and not seen settled, at most 1000.", func() float64 {
			_, n := u.Oldest()
			return float64(n)
		}),
		gauge("scan_age_seconds", "How long ago the last complete scan of the store began.", func() float64 { return u.ScanAge().Seconds() }),
	}
}
