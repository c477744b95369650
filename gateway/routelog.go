package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/rules/spelling"
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
			slog.Bool("protected", rule.Protect), slog.Bool("form", rule.Form != nil), slog.Int("line", rule.At.Line))
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
