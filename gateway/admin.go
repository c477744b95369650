package gateway

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/semel-dev/semel"
)

const readyTimeout = 2 * time.Second

// AdminHandler is for operators and their machines, and not to be reachable by
// callers: /healthz (the process lives), /readyz (it takes requests: not
// draining, and the store answers) and /metrics (Prometheus).
func (g *Gateway) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", g.ready)
	mux.Handle("GET /metrics", g.metrics.handler())
	return mux
}

func (g *Gateway) ready(w http.ResponseWriter, r *http.Request) {
	if g.draining.Load() {
		say(w, http.StatusServiceUnavailable, "draining")
		return
	}
	if err := g.storeAnswers(r.Context()); err != nil {
		g.log.LogAttrs(r.Context(), slog.LevelWarn, "store does not answer", slog.String("error", err.Error()))
		say(w, http.StatusServiceUnavailable, "store does not answer")
		return
	}
	say(w, http.StatusOK, "ready")
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // whoever asked may have gone
}

func isNotFound(err error) bool { return errors.Is(err, semel.ErrNotFound) }
