package gateway

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel/internal/rules/spelling"
	"github.com/semel-dev/semel/internal/waiting"
)

// unmetAfter is the time after the start when the log names the routes that nothing
// has matched. It names them once more when the gateway ends.
const unmetAfter = time.Hour

// logRules logs the routes, and the warnings of the rules file. The returned function
// logs, for the last time, the routes that nothing matched.
func (g *Gateway) logRules(ctx context.Context) (end func()) {
	if g.config.Rules == nil {
		return func() {}
	}
	for _, rt := range g.router.all {
		rule := &rt.rule
		g.log.LogAttrs(ctx, slog.LevelInfo, "route", slog.String("route", rule.Name),
			slog.String("methods", strings.Join(rule.Match.Methods, ",")), slog.String("host", rule.Match.Host), slog.String("path", rule.Match.Path),
			slog.Bool("protected", rule.Protect), slog.Bool("form", rule.Form != nil), slog.Bool("page", rule.Page != nil), slog.Int("line", rule.At.Line),
			slog.String("conditions", strings.Join(shownConditions(rule), ", ")))
	}
	for _, w := range g.config.Rules.Warnings() {
		g.log.LogAttrs(ctx, slog.LevelWarn, "rules: look again", slog.String("warning", w.Text), slog.String("file", g.config.Rules.Name), slog.Int("line", w.At.Line))
	}
	timer := time.AfterFunc(unmetAfter, func() { g.logUnmet(ctx) })
	return func() {
		timer.Stop()
		g.logUnmet(ctx)
	}
}

// logUnmet logs the routes that no request and no form of a page has matched: a
// misspelt path protects nothing.
func (g *Gateway) logUnmet(ctx context.Context) {
	for _, rt := range g.router.all {
		if rt.met.Load() || rt.form.InPage.Load() {
			continue
		}
		rule := &rt.rule
		g.log.LogAttrs(ctx, slog.LevelWarn, "no request has matched this route, and no form of a page leads to it", slog.String("route", rule.Name),
			slog.String("methods", strings.Join(rule.Match.Methods, ",")), slog.String("path", rule.Match.Path), slog.Int("line", rule.At.Line))
	}
}

// The rate of requests with a key, a second, and for how long, from which on a gateway is busy.
const (
	busyRate   = 2000
	busyWindow = 10 * time.Second
)

// busyness counts the requests with a key.
type busyness struct {
	served atomic.Int64
	rate   int64
	window time.Duration
}

// adviseWhenBusy logs the advice of the config once the gateway is busy. It ends with that, or with ctx.
func (g *Gateway) adviseWhenBusy(ctx context.Context) {
	for before := g.busy.served.Load(); waiting.Sleep(ctx, g.busy.window) && ctx.Err() == nil; {
		now := g.busy.served.Load()
		if perSecond := (now - before) * int64(time.Second) / int64(g.busy.window); perSecond > g.busy.rate {
			g.log.LogAttrs(ctx, slog.LevelInfo, "this gateway is busy", slog.String("advice", g.config.BusyAdvice), slog.Int64("keyed_per_second", perSecond))
			return
		}
		before = now
	}
}

// nearestPath returns the path of the rule with POST that was probably meant for
// the path, "" for none: one that is nearly spelled like it, or ends like it.
func nearestPath(all []*route, path string) string {
	var paths []string
	for _, rt := range all {
		if rt.rule.Protect && slices.Contains(rt.rule.Match.Methods, http.MethodPost) {
			paths = append(paths, rt.rule.Match.Path)
		}
	}
	if near := spelling.Nearest(path, paths); near != "" {
		return near
	}
	end := func(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
	for _, candidate := range paths {
		if last := end(candidate); last != "" && last[0] != '{' && last == end(path) {
			return candidate
		}
	}
	return ""
}

// quietly returns an error's text without what it quotes. net/http quotes the
// bytes of an answer or a request that it cannot read, and those may hold a
// secret; logs and notes get the rest.
func quietly(err error) string { return unquoted(err.Error()) }

// unquoted cuts a text before its first quotation.
func unquoted(text string) string {
	said, _, quotes := strings.Cut(text, `"`)
	if !quotes {
		return text
	}
	return strings.TrimRight(said, " :(") + " (what it quotes is left out)"
}

// newErrorLog is for what net/http has to say, at debug level.
func newErrorLog(to *slog.Logger) *log.Logger {
	return log.New(&quietWriter{under: slog.NewLogLogger(to.Handler(), slog.LevelDebug)}, "", 0)
}

// quietWriter gets one message at a time.
type quietWriter struct{ under *log.Logger }

// Write implements io.Writer.
func (w *quietWriter) Write(line []byte) (int, error) {
	w.under.Print(unquoted(string(bytes.TrimRight(line, "\n"))))
	return len(line), nil
}
