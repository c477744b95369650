package forms

import (
	"log/slog"
	"net/url"
	"strings"
	"sync"
)

// Bounds of the forms that the log names because no rule takes them: in all, and
// those that are looked at in one page.
const (
	maxUnmatched     = 256
	maxUnmatchedPage = 64
)

// seenOnce holds what is logged once.
type seenOnce struct {
	mu   sync.Mutex // guards the field below
	seen map[string]bool
}

// first reports whether the name is new, and whether it is the last one to be logged.
func (u *seenOnce) first(name string) (first, last bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seen[name] || len(u.seen) >= maxUnmatched {
		return false, false
	}
	if u.seen == nil {
		u.seen = map[string]bool{}
	}
	u.seen[name] = true
	return true, len(u.seen) == maxUnmatched
}

// leadsTo returns the route that takes a form of the page, or nil. A form that posts
// to the application and that no rule takes is logged, once.
func (in *inserter) leadsTo(target *url.URL) *Route {
	p := in.page
	f := p.forms
	found := f.gateway.Find(p.request.Host, target)
	switch {
	case found != nil && found.Rule.Form != nil:
		if !found.InPage.Load() {
			found.InPage.Store(true)
		}
		if p.leads == nil {
			p.leads = found
		}
		return found
	case found != nil: // a rule without form takes it
		return nil
	}
	if p.unmatched++; p.unmatched > maxUnmatchedPage {
		return nil
	}
	action := likePath(target.Path)
	if first, last := f.unmatched.first(action); first {
		attrs := []slog.Attr{slog.String("action", action), slog.String("page", likePath(p.request.URL.Path))}
		if near := f.gateway.Nearest(target.Path); near != "" {
			attrs = append(attrs, slog.String("nearest", near))
		}
		if last {
			attrs = append(attrs, slog.String("note", "further forms are not named"))
		}
		f.config.Log.LogAttrs(p.request.Context(), slog.LevelWarn, "a form is taken by no rule, so sending it twice is not safe (write a rule with form: true for it, or with protect: false to keep it so)", attrs...)
	}
	return nil
}

// likePath returns a path with segments that look like ids, or are long, as
// wildcards: what a log may hold, and what stays the same from page to page.
func likePath(path string) string {
	const longest = 40
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if len(segment) > longest || strings.ContainsAny(segment, "0123456789") || strings.ContainsFunc(segment, func(r rune) bool { return r <= ' ' }) {
			segments[i] = "{…}"
		}
		if i == 12 {
			return strings.Join(segments[:i], "/") + "/…"
		}
	}
	return strings.Join(segments, "/")
}
