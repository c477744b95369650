package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/rules/template"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// Template is a path, with or without a query, that has placeholders such as {key} or {json:/order/id}.
type Template = template.Template

// templates returns the templates of the route with the setting each belongs to.
func (r *Route) templates() map[string][]Template {
	all := map[string][]Template{}
	if r.Reconcile != nil {
		all["unknown"] = []Template{r.Reconcile.Get, r.Reconcile.Replay.Location}
	}
	if r.Authorize != nil {
		all["authorize"] = []Template{r.Authorize.Get}
	}
	return all
}

// placeholders reports templates that ask for what the route does not have, and
// for what a repetition may say differently: the question is about the first
// request, and its values come from the repetition. Key and fingerprint together
// must hold them (promises 3 and 5).
//
//	key                              what both requests agree in, besides method, host, path and query
//	header, json_pointer,            the whole body: the fingerprint counts it
//	form_field, webhook_id
//	webhook                          the whole body, or what names the event in it; not the path
//	derive without fields            the whole body: the key counts it
//	derive with fields               those fields, and what is below them
//	form (a request with a token)    every field but the token and form.ignore
//	page (a key of the page script)  all but page.ignore and fields that change with every rendering
func (r *reader) placeholders(route *Route, templates []Template, at Position) {
	wildcards := route.Match.Wildcards()
	for _, t := range templates {
		for _, part := range t.Parts {
			switch {
			case part.Source == template.Wildcard && route.Key.Webhook != nil:
				r.Report(at, "use {key}, or {json:/pointer}", "{%s} is a part of the path, which the sender of a webhook does not sign", yamlfile.Cut(part.Value))
			case part.Source == template.Wildcard && !slices.Contains(wildcards, part.Value):
				fix := "the path has no wildcard; use {key}, {json:/pointer} or {form:field}"
				if len(wildcards) > 0 {
					fix = "wildcards of the path: " + strings.Join(wildcards, ", ")
				}
				r.Report(at, fix, "{%s} is not a wildcard of path %q", yamlfile.Cut(part.Value), yamlfile.Cut(route.Match.Path))
			case part.Source == template.Key && (route.Key.Derive != nil || route.Form != nil):
				r.Report(at, "use {json:/pointer}, {form:field} or a wildcard", "{key} is a key that the upstream has never seen")
			case !route.holds(part):
				r.Report(at, route.heldFix(part), "%s may differ between a request and its repetition, because the key leaves it out: the question would be about something else", part)
			}
		}
	}
}

// holds reports whether all requests of one intent agree in the value of the
// placeholder.
func (r *Route) holds(part template.Part) bool {
	if part.Source != template.JSON && part.Source != template.Form {
		return true
	}
	if part.Source == template.Form && r.Form != nil && (part.Value == r.Form.Field || r.Form.ignores(part.Value)) {
		return false
	}
	if r.Page != nil && r.Page.ignores(part) {
		return false
	}
	if w := r.Key.Webhook; w != nil && w.pointer() != "" {
		return part.Source == template.JSON && part.Value == w.pointer()
	}
	d := r.Key.Derive
	if d == nil || d.Fields == nil {
		return true
	}
	return slices.ContainsFunc(d.Fields, func(field string) bool {
		if part.Source == template.Form {
			return field == part.Value
		}
		// Names in a pointer are escaped in one way only, so texts can be compared.
		pointer := field
		if !strings.HasPrefix(field, "/") {
			pointer = "/" + strings.ReplaceAll(strings.ReplaceAll(field, "~", "~0"), "/", "~1")
		}
		return part.Value == pointer || strings.HasPrefix(part.Value, pointer+"/")
	})
}

// heldFix says how the route can be changed to hold the placeholder.
func (r *Route) heldFix(part template.Part) string {
	switch {
	case part.Source == template.Form && r.Form != nil && part.Value == r.Form.Field:
		return "use another field: this one holds the gateway's token, which the upstream never sees"
	case part.Source == template.Form && r.Form != nil && r.Form.ignores(part.Value):
		return "use a field that form.ignore does not name, or a wildcard of the path"
	case r.Page != nil && r.Page.ignores(part):
		return "use a member or field that page.ignore does not name, or a wildcard of the path"
	case r.Key.Webhook != nil:
		return "use {key}, or let the whole body name the event with key.webhook.event: body"
	}
	return fmt.Sprintf("add %q to key.derive.fields, or use one of those fields or a wildcard of the path", part.Value)
}

// ignores reports whether a field does not make a form another one.
func (f *Form) ignores(name string) bool {
	return f.Ignore == nil && formguard.Changes(name) || slices.Contains(f.Ignore, name)
}
