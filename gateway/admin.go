package gateway

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"

	"github.com/semel-dev/semel/internal/adminapi"
	"github.com/semel-dev/semel/internal/console"
	"github.com/semel-dev/semel/internal/must"
)

// AdminHandler is for operators and their machines, and not to be reachable by
// callers: /healthz (the process lives), /readyz (it takes requests: not
// draining, the store takes claims, and its server is fit), /metrics (Prometheus) and, for those
// who have one of [Config.AdminTokens], the admin API under /v1/ and the console under
// /console/. Each handler counts wrong tokens for itself.
func (g *Gateway) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", g.serveReady)
	mux.Handle("GET /metrics", g.metrics.handler())
	api := must.Get(adminapi.New(g.guard, &adminapi.Options{Tokens: g.config.AdminTokens, Logger: g.log}))
	mux.Handle("/v1/", api) // it says that it is off where operators have no tokens
	if len(g.config.AdminTokens) > 0 {
		mux.Handle(console.Path, must.Get(console.New(g.guard, console.Options{
			API: api, Logger: g.log, History: g.history, LiveClaims: g.config.Guard.LiveClaims,
			Prometheus: g.config.PrometheusURL, Done: g.streams, OutcomeLog: g.config.OutcomeLog,
			Routes: g.shownRoutes(), Rules: g.config.Rules, Settings: g.config.settings(),
		})))
	}
	return mux
}

// warnOpenTokens says in the log that tokens could be read on their way.
func (c *Config) warnOpenTokens() {
	if len(c.AdminTokens) > 0 && !onLoopback(c.AdminListen) {
		c.Logger.LogAttrs(context.Background(), slog.LevelWarn,
			"admin tokens can be read on the way: the admin address is not on loopback and has no TLS; put a tunnel or a TLS proxy in front of it",
			slog.String("address", c.AdminListen))
	}
}

// onLoopback reports whether no other machine can reach an address.
func onLoopback(address string) bool {
	if address == adminOff {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the caller may have gone
}
