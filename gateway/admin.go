package gateway

import (
	"context"
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
)

// View is a gateway as its operators see it.
type View struct {
	// Guard has the records of the gateway's store.
	Guard *semel.Guard
	// Routes has one entry for each rule, and a last one for requests that no rule matches.
	Routes []Route
	// Settings are the configuration, without secrets.
	Settings []Setting
	// Metrics holds the counters and histograms. Reading it never queries the store.
	Metrics prometheus.Gatherer
	// Repeats has the repetitions that this process has met.
	Repeats *outcomelog.Repeats
	// Ended is closed when event streams have to end.
	Ended <-chan struct{}
}

// Operators serve the people who run a gateway, besides health and metrics.
type Operators struct {
	// Admin serves /v1/ on [Gateway.AdminHandler], and Console /console/. A nil handler answers 404.
	Admin, Console http.Handler
	// Run, unless nil, runs while the gateway serves, and returns when its context ends.
	Run func(context.Context)
}

// AdminHandler is for operators and their machines, and not to be reachable by
// callers: /healthz (the process lives), /readyz (it takes requests: not
// draining, the store takes claims, and its server is fit), /metrics (Prometheus), and what
// [Config.Operators] has made.
func (g *Gateway) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", g.serveReady)
	mux.Handle("GET /metrics", g.metrics.handler())
	for path, handler := range map[string]http.Handler{"/v1/": g.operators.Admin, "/console/": g.operators.Console} {
		if handler != nil {
			mux.Handle(path, handler)
		}
	}
	return mux
}

// makeOperators calls Config.Operators.
func (g *Gateway) makeOperators() error {
	if g.config.Operators == nil {
		return nil
	}
	g.repeats = outcomelog.NewRepeats() // requests come after New
	made, err := g.config.Operators(View{
		Guard: g.guard, Routes: g.shownRoutes(), Settings: g.config.settings(), Metrics: g.metrics.counted, Repeats: g.repeats, Ended: g.streams,
	})
	g.operators = made
	return err
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the caller may have gone
}
