package rules

import (
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/rules/template"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// Page protects what scripts of the application's pages send to the route: the gateway adds a script to every page that
// it sees on its way to a browser, which gives each such request a key in a header.
type Page struct {
	// Ignore names the members of JSON and the fields that change with every sending: they do not make a request another
	// one. nil: not said.
	Ignore []string
	// GraphQL says whether the requests are operations of GraphQL, of which only mutations change something. nil: not said.
	GraphQL *bool
}

// page reads true, false or a mapping.
func (r *reader) page(n ast.Node) *Page {
	on, keys := r.switched(n, "page")
	if !on {
		return nil
	}
	p := &Page{}
	if keys {
		r.Mapping(n, "page", []yamlfile.Field{
			{"ignore", func(n ast.Node) { p.Ignore = r.ignored(n) }},
			{"graphql", func(n ast.Node) { graphQL := r.Boolean(n, "graphql"); p.GraphQL = &graphQL }},
		})
	}
	return p
}

// ignores reports whether the page script takes requests that differ in this place for the same.
func (p *Page) ignores(part template.Part) bool {
	name := part.Value
	if part.Source == template.JSON {
		name, _, _ = strings.Cut(strings.TrimPrefix(name, "/"), "/")
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	}
	return formguard.Changes(name) || slices.Contains(p.Ignore, name)
}

// pageContradictions reports what cannot hold together with page.
func (r *reader) pageContradictions(route *Route, found yamlfile.Present) {
	if route.Page == nil {
		return
	}
	at, k := found["page"], &route.Key
	switch {
	case k.WebhookID:
		r.Report(at, "remove one of the two: webhooks are not sent by pages", "page contradicts key.webhook_id")
	case k.JSONPointer != "" || k.FormField != "":
		r.Report(at, "remove page, or take the key from a header", "page adds a key to the header of requests, and the rule takes theirs from the body")
	}
	if route.Match.Path != "" && !slices.ContainsFunc(route.Match.Methods, scripted) {
		r.Report(at, "add POST or another method of the application's scripts, or remove page", "page says nothing in a route without a method that scripts can send")
	}
}

// samePages reports routes of one pattern that the page script would have to treat in two ways: it knows methods, hosts and paths alone.
func (r *reader) samePages(before []*Route, route *Route) (reported bool) {
	i := slices.IndexFunc(before, func(other *Route) bool {
		return other.Page != nil && route.Page != nil && (other.Key.Header != route.Key.Header || !reflect.DeepEqual(other.Page, route.Page))
	})
	if i < 0 {
		return false
	}
	r.Report(route.At, "give both the same page and the same key.header",
		"routes %q (line %d) and %q (line %d) differ in page or key.header, and the page script cannot tell their requests apart", before[i].Name, before[i].At.Line, route.Name, route.At.Line)
	return true
}

// scripted reports whether a browser lets scripts send requests of a method that rules may have.
func scripted(method string) bool { return method != "TRACK" }
