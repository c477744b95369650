package storecheck

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// warnings keeps the log of a store's opening.
type warnings struct {
	mu    sync.Mutex // guards lines
	lines []string
}

// Enabled implements [slog.Handler].
func (w *warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements [slog.Handler].
func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	line.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		line.WriteString("; " + a.Key + ": " + a.Value.String())
		return true
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line.String())
	return nil
}

// WithAttrs implements [slog.Handler]; no store uses it.
func (w *warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements [slog.Handler]; no store uses it.
func (w *warnings) WithGroup(string) slog.Handler { return w }

// settings reports the store's warnings.
func (c *checker) settings(_ context.Context, f Finding) Finding {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	f.Verdict = Held
	if len(c.log.lines) > 0 {
		f.Verdict, f.Details = Warned, c.log.lines[:min(len(c.log.lines), maxDetails)]
		f.Advice = "Change these settings, or accept what a crash can lose."
	}
	return f
}
