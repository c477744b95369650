package rules

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/rules/template"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
	"github.com/semel-dev/semel/internal/texts"
)

const (
	// maxConditions bounds the conditions of a route, and maxConditionValues the values of one.
	maxConditions      = 16
	maxConditionValues = 64
)

// MatchCondition is met by requests that have a value at a place, and no other value there.
type MatchCondition struct {
	// In is query, header, form or json.
	In string
	// Name is that of the parameter, the header (canonical) or the field, or the JSON pointer of the member.
	Name string
	// Values lists the allowed ones: texts, and in json also float64 and bool. Empty for any.
	Values []any
}

// String describes the condition, such as "query do = save or draft".
func (c *MatchCondition) String() string {
	if len(c.Values) == 0 {
		return c.In + " " + c.Name + " is present"
	}
	return c.In + " " + c.Name + " = " + strings.Join(texts.Of(c.Values, func(v any) string {
		if text, ok := v.(string); ok && c.In != "json" {
			return text
		}
		return string(must.Get(json.Marshal(v)))
	}), " or ")
}

// implies reports whether every request that meets c meets other.
func (c *MatchCondition) implies(other *MatchCondition) bool {
	return c.In == other.In && c.Name == other.Name && (len(other.Values) == 0 ||
		len(c.Values) > 0 && !slices.ContainsFunc(c.Values, func(v any) bool { return !slices.Contains(other.Values, v) }))
}

// excludes reports whether no request meets both conditions.
func (c *MatchCondition) excludes(other *MatchCondition) bool {
	return c.In == other.In && c.Name == other.Name && len(c.Values) > 0 && len(other.Values) > 0 &&
		!slices.ContainsFunc(c.Values, func(v any) bool { return slices.Contains(other.Values, v) })
}

// Implies reports whether every request that meets the conditions of m meets all of other.
func (m *Match) Implies(other *Match) bool {
	return !slices.ContainsFunc(other.Conditions, func(wanted MatchCondition) bool {
		return !slices.ContainsFunc(m.Conditions, func(c MatchCondition) bool { return c.implies(&wanted) })
	})
}

// excludes reports whether no request meets the conditions of both.
func (m *Match) excludes(other *Match) bool {
	return slices.ContainsFunc(m.Conditions, func(c MatchCondition) bool {
		return slices.ContainsFunc(other.Conditions, func(o MatchCondition) bool { return c.excludes(&o) })
	})
}

// looksIn reports whether a condition is about the place.
func (m *Match) looksIn(place string) bool {
	return slices.ContainsFunc(m.Conditions, func(c MatchCondition) bool { return c.In == place })
}

// conditions reads the conditions about one place.
func (r *reader) conditions(n ast.Node, place string, m *Match) {
	for _, entry := range r.Entries(n, place) {
		c := MatchCondition{In: place, Name: entry.Key}
		switch place {
		case "header":
			c.Name = http.CanonicalHeaderKey(c.Name)
			if why, fix := unfitHeader(c.Name); why != "" {
				r.Report(entry.At, fix, "header %q %s", yamlfile.Cut(entry.Key), why)
			}
		case "json":
			if !template.IsPointer(c.Name) {
				r.Report(entry.At, pointerFix, "json %q is not a JSON pointer", yamlfile.Cut(c.Name))
			}
		}
		if slices.ContainsFunc(m.Conditions, func(o MatchCondition) bool { return o.In == c.In && o.Name == c.Name }) {
			r.Report(entry.At, "keep one of the two", "header %q is listed twice", c.Name)
			continue
		}
		c.Values = r.conditionValues(entry.Value, &c)
		m.Conditions = append(m.Conditions, c)
	}
}

// unfitHeader returns why no condition can be about a header, and what to do; "" for all others.
func unfitHeader(name string) (why, fix string) {
	switch name {
	case "Host":
		return "has a key of its own", "write match.host"
	case "Authorization", "Proxy-Authorization", "Cookie":
		return "holds credentials, which do not tell requests apart", "use scope for callers, and another header for routes"
	case "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return "never reaches the application", "choose a header that the application reads"
	}
	if !isToken(name) {
		return "is not a header name", "write the bare name of the header, such as Next-Action"
	}
	return "", ""
}

// conditionValues reads one value, a list of values, or {present: true}.
func (r *reader) conditionValues(n ast.Node, c *MatchCondition) (values []any) {
	what := c.In + " " + yamlfile.Cut(c.Name)
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		before := r.Count()
		found := r.Mapping(n, what, []yamlfile.Field{{"present", func(n ast.Node) { r.Yes(n, "present") }}})
		if len(found) == 0 && r.Count() == before {
			r.Report(yamlfile.At(n), "write a value, a list of values, or {present: true}", "%s says nothing", what)
		}
		return nil
	}
	for _, node := range r.oneOrMore(n, what) {
		value := r.conditionValue(node, c.In, what)
		if value == nil {
			continue
		}
		if slices.Contains(values, value) {
			r.Report(yamlfile.At(node), "remove one of the two", "%v is listed twice in %s", value, what)
			continue
		}
		values = append(values, value)
	}
	if len(values) > maxConditionValues {
		r.Report(yamlfile.At(n), "write {present: true}, or tell the routes apart by something else", "%s has %d values, more than %d", what, len(values), maxConditionValues)
	}
	return values
}

// conditionValue reads one value; nil is one that was reported.
func (r *reader) conditionValue(n ast.Node, place, what string) any {
	if place == "json" {
		return r.scalar(n, what)
	}
	text, ok := yamlfile.Literal(n)
	switch {
	case !ok:
		r.Report(yamlfile.At(n), "put it in double quotes if it is meant as text; for any value write {present: true}", "%s must be text, not %s", what, yamlfile.Describe(n))
		return nil
	case text == "":
		r.Report(yamlfile.At(n), "write a value, or {present: true}", "%s is empty", what)
		return nil
	case place == "header" && strings.Contains(text, ","):
		r.Report(yamlfile.At(n), "write values without commas, each as an element of a list", "%s has the value %q, which readers take for several", what, yamlfile.Cut(text))
		return nil
	}
	return text
}

// conditionContradictions reports conditions that cannot hold together, or with the rest of the route.
func (r *reader) conditionContradictions(m *Match, at Position) {
	switch {
	case len(m.Conditions) > maxConditions:
		r.Report(at, "keep the ones by which it differs from other routes", "match has %d conditions, more than %d", len(m.Conditions), maxConditions)
	case m.looksIn("form") && m.looksIn("json"):
		r.Report(at, "keep one of the two", "match has form and json, and no body is both")
	}
}

// samePattern reports routes of one pattern that a request could both meet.
func (r *reader) samePattern(before []*Route, route *Route, pattern string) (reported bool) {
	for _, other := range before {
		up, down := route.Match.Implies(&other.Match), other.Match.Implies(&route.Match)
		switch {
		case up != down || route.Match.excludes(&other.Match):
			continue
		case up:
			r.Report(route.At, "add query, header, form or json to match in one of them, change a path, or merge the two routes",
				"routes %q (line %d) and %q (line %d) match the same requests: %s on the same conditions", other.Name, other.At.Line, route.Name, route.At.Line, pattern)
		default:
			r.Report(route.At, "repeat all conditions of one in its rival, or give the two different values of the same name",
				"routes %q (line %d) and %q (line %d) can both match a request of %s: neither has all conditions of its rival, and none excludes it",
				other.Name, other.At.Line, route.Name, route.At.Line, pattern)
		}
		return true
	}
	return false
}

// notFound reports routes that could not be found later: the background knows the path of a request alone, and a page that is shown
// again its query as well.
func (r *reader) notFound(same []*Route, pattern string) {
	if len(same) < 2 && len(same[0].Match.Conditions) == 0 {
		return
	}
	inForm := len(same) > 1 && slices.ContainsFunc(same, func(route *Route) bool { return route.Match.looksIn("form") || route.Match.looksIn("header") })
	for _, route := range same {
		if !strings.HasPrefix(pattern, route.Match.Methods[0]+" ") { // once
			continue
		}
		if route.Reconcile != nil && route.Reconcile.Background != nil {
			r.Report(route.At, "remove background, or the conditions of the routes of this path", "route %q asks in the background, which finds the route of a request by its path, and %s has routes with conditions", route.Name, pattern)
		}
		if inForm && route.Form != nil && route.Form.RestoreRedirect {
			r.Report(route.At, "remove restore_redirect, or tell the routes of this path apart by the query", "route %q has restore_redirect, which finds the route of a page by path and query, and %s has routes that differ in more", route.Name, pattern)
		}
	}
}
