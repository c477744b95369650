package gateway

import "time"

// BusyFrom says when the gateway is busy.
func (g *Gateway) BusyFrom(rate int64, window time.Duration) {
	g.busy.rate, g.busy.window = rate, window
}

// ThroughTransport has net/http's transport send every request to the application.
func (g *Gateway) ThroughTransport() { g.upstream.http1 = nil }
