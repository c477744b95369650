package rules

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/rules/yamlfile"
	"github.com/semel-dev/semel/internal/texts"
)

// Match says which requests a route is about.
type Match struct {
	// Methods are those of the route. Default POST and PATCH.
	Methods []string
	// Host is the host of the request, without port; empty for any.
	Host string
	// Path is a path pattern of net/http's ServeMux: "/orders",
	// "/orders/{order}/lines", "/files/{path...}", "/admin/", "/{$}".
	Path string
	// Conditions are those that a request has to meet as well; all of them.
	Conditions []MatchCondition
}

// Patterns returns the patterns of the match in the form of net/http's
// ServeMux, one per method.
func (m Match) Patterns() []string {
	return texts.Of(m.Methods, func(method string) string { return method + " " + m.Host + m.Path })
}

// Wildcards returns the names of the path's wildcards, in their order.
func (m Match) Wildcards() []string {
	var out []string
	for segment := range strings.SplitSeq(m.Path, "/") {
		if name, ok := wildcard(segment); ok {
			out = append(out, name)
		}
	}
	return out
}

// wildcard returns the name in a segment such as {name} or {name...}.
func wildcard(segment string) (string, bool) {
	name, ok := strings.CutPrefix(segment, "{")
	if !ok {
		return "", false
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, "}"), "...")
	return name, name != "$"
}

func (r *reader) match(n ast.Node, route *Route) {
	m := &route.Match
	found := r.Mapping(n, "match", []yamlfile.Field{
		{"methods", func(n ast.Node) { m.Methods = r.methods(n) }},
		{"host", func(n ast.Node) { m.Host = r.host(n) }},
		{"path", func(n ast.Node) { m.Path = r.path(n) }},
		{"query", func(n ast.Node) { r.conditions(n, "query", m) }},
		{"header", func(n ast.Node) { r.conditions(n, "header", m) }},
		{"form", func(n ast.Node) { r.conditions(n, "form", m) }},
		{"json", func(n ast.Node) { r.conditions(n, "json", m) }},
	})
	r.conditionContradictions(m, yamlfile.At(n))
	if found != nil && !found.Has("path") {
		r.Report(yamlfile.At(n), `add one, such as path: /orders, or path: "/{rest...}" for every path`, "match has no path")
	}
}

// methods reads the methods of a match.
func (r *reader) methods(n ast.Node) []string {
	var sound []string
	for _, method := range r.Texts(n, "methods") {
		switch {
		case safe(method):
			r.Report(yamlfile.At(n), "remove it; requests that only read are never held up", "method %s reads, so there is nothing to protect", method)
		case !isToken(method):
			r.Report(yamlfile.At(n), "write methods such as POST, PUT, PATCH or DELETE", "%q is not a method", yamlfile.Cut(method))
		case method != strings.ToUpper(method):
			r.Report(yamlfile.At(n), "write "+strings.ToUpper(method), "method %q would never match: methods are in capitals", yamlfile.Cut(method))
		default:
			sound = append(sound, method)
		}
	}
	return sound
}

func safe(method string) bool {
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodConnect}, strings.ToUpper(method))
}

// host reads the host of a match.
func (r *reader) host(n ast.Node) string {
	host, ok := r.Text(n, "host")
	if !ok {
		return ""
	}
	for _, c := range []byte(host) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
		case c >= 'A' && c <= 'Z':
			r.Report(yamlfile.At(n), "write "+strings.ToLower(host), "host %q has capitals", yamlfile.Cut(host))
			return ""
		default:
			r.Report(yamlfile.At(n), "write a name or an IPv4 address without scheme, port or wildcard, such as api.example.com", "host %q can never match", yamlfile.Cut(host))
			return ""
		}
	}
	return host
}

// path reads the path pattern of a match.
func (r *reader) path(n ast.Node) string {
	path, ok := r.Text(n, "path")
	switch {
	case !ok:
		return ""
	case !strings.HasPrefix(path, "/"):
		r.Report(yamlfile.At(n), "start it with a slash; methods and host have keys of their own", "path %q is not a path", yamlfile.Cut(path))
		return ""
	case strings.ContainsAny(path, "?# \t\r\n"):
		r.Report(yamlfile.At(n), "write the query as match.query; write a space as %20", "path %q holds a query, a fragment or a space", yamlfile.Cut(path))
		return ""
	}
	if refusal := refused(http.NewServeMux(), http.MethodPost+" "+path); refusal != "" {
		r.Report(yamlfile.At(n), `write a path such as /orders, /orders/{order}, "/files/{path...}" or "/{$}"`, "path %q is impossible: %s", yamlfile.Cut(path), refusal)
		return ""
	}
	return path
}

// refused adds a pattern to mux and returns why that is impossible, or "".
func refused(mux *http.ServeMux, pattern string) (why string) {
	defer func() {
		if p := recover(); p != nil {
			why = fmt.Sprint(p)
			if _, reason, ok := strings.Cut(why, ": at offset "); ok {
				_, why, _ = strings.Cut(reason, ": ")
			}
		}
	}()
	mux.Handle(pattern, http.NotFoundHandler())
	return ""
}

// conflicts reports routes that match the same requests without one of them
// being more specific.
func (r *reader) conflicts(routes []Route) {
	mux, same, patterns := http.NewServeMux(), map[string][]*Route{}, []string{}
	for i := range routes {
		route := &routes[i]
		if route.Match.Path == "" {
			continue
		}
		for _, pattern := range route.Match.Patterns() {
			before := same[pattern]
			same[pattern] = append(before, route)
			if len(before) > 0 {
				if r.samePattern(before, route, pattern) || r.samePages(before, route) {
					break
				}
				continue
			}
			patterns = append(patterns, pattern)
			if why := refused(mux, pattern); why != "" {
				r.reportConflict(routes[:i], route, pattern, why)
				break
			}
		}
	}
	for _, pattern := range patterns {
		r.notFound(same[pattern], pattern)
	}
}

func (r *reader) reportConflict(before []Route, route *Route, pattern, why string) {
	for i := range before {
		other := &before[i]
		if other.Match.Path == "" || !overlap(other.Match, pattern) {
			continue
		}
		such := ""
		if _, sample, ok := strings.Cut(why, "like \""); ok {
			sample, _, _ = strings.Cut(sample, `"`)
			such = ", such as " + sample
		}
		r.Report(route.At, "make one of the paths more specific, or merge the two routes",
			"routes %q (line %d) and %q (line %d) both match %s%s, and neither is more specific",
			other.Name, other.At.Line, route.Name, route.At.Line, strings.Fields(pattern)[0], such)
		return
	}
	r.Report(route.At, "change its methods, host or path", "route %q is impossible: %s", route.Name, why)
}

// overlap reports whether a pattern conflicts with those of the match.
func overlap(m Match, pattern string) bool {
	mux := http.NewServeMux()
	for _, own := range m.Patterns() {
		if refused(mux, own) != "" {
			return false
		}
	}
	return refused(mux, pattern) != ""
}

// isToken reports whether s is a token of RFC 9110, as methods, header names
// and cookie names are.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}
