package rules

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// ReleasedWhen says which answers mean that nothing happened, in addition to
// the statuses that always do, and to redirects to a sign-in page.
type ReleasedWhen struct {
	// None makes redirects to a sign-in page outcomes. Nothing else is set then.
	None bool
	// Status lists the statuses; empty for those of redirects, or, with a Header or
	// a Pointer, for 200 to 299.
	Status []int
	// Location lists path patterns as in [Match]; the path of the answer's
	// Location header must match one of them. Empty for any answer.
	Location []string
	// Header and Pointer name a header of the answer and a place in its JSON body;
	// at most one is set.
	Header, Pointer string
	// Equals lists values there, each a string, float64 or bool. Empty for any value
	// but null, false, 0, and an empty text, list or object.
	Equals []any

	muxes []*http.ServeMux // of Location, one each: they may overlap
}

// Holds reports whether the rule releases an answer with the status and the header
// to a request for the path, as far as its body does not matter: see Pointer.
func (w *ReleasedWhen) Holds(path string, status int, header http.Header) bool {
	location, class := header.Get("Location"), 3
	if w.Header != "" || w.Pointer != "" {
		class = 2
	}
	switch {
	case w.None:
		return false
	case len(w.Status) > 0 && !slices.Contains(w.Status, status), len(w.Status) == 0 && status/100 != class:
		return false
	case w.Header != "" && !slices.ContainsFunc(header.Values(w.Header), w.allows):
		return false
	case len(w.Location) == 0:
		return true
	case location == "":
		return false
	}
	to, err := (&url.URL{Path: path}).Parse(location)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(w.muxes, func(mux *http.ServeMux) bool {
		return matches(mux, to.Path) || matches(mux, strings.TrimRight(to.Path, "/"))
	})
}

// allows reports whether Equals allows the text of a header.
func (w *ReleasedWhen) allows(text string) bool {
	if len(w.Equals) == 0 {
		return text != "" && text != "0" && !strings.EqualFold(text, "false")
	}
	return slices.ContainsFunc(w.Equals, func(want any) bool { return fmt.Sprint(want) == text })
}

func matches(mux *http.ServeMux, path string) bool {
	_, pattern := mux.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}})
	return pattern != ""
}

// releasedWhen reads which answers mean that nothing happened.
func (r *reader) releasedWhen(n ast.Node) *ReleasedWhen {
	w := &ReleasedWhen{}
	if _, ok := yamlfile.Literal(n); ok {
		r.Choice(n, "released_when", "none")
		w.None = true
		return w
	}
	found := r.Mapping(n, "released_when", []yamlfile.Field{
		{"status", func(n ast.Node) { w.Status = r.statuses(n, 200) }},
		{"location", func(n ast.Node) { w.Location = r.locations(n) }},
		{"header", func(n ast.Node) { w.Header = r.header(n, "header") }},
		{"json_pointer", func(n ast.Node) { w.Pointer = r.pointer(n, "json_pointer") }},
		{"equals", func(n ast.Node) { w.Equals = r.scalars(n) }},
	})
	looks := found.Has("header") || found.Has("json_pointer")
	switch {
	case found != nil && len(found) == 0:
		r.Report(yamlfile.At(n), "add status, location, header or json_pointer", "released_when holds for every answer")
	case found.Has("header") && found.Has("json_pointer"):
		r.Report(found["header"], "keep one of the two", "released_when has header and json_pointer")
	case found.Has("equals") && !looks:
		r.Report(found["equals"], "add header or json_pointer: what to compare", "equals says nothing alone")
	case !looks && slices.ContainsFunc(w.Status, func(s int) bool { return s < 300 }):
		r.Report(found["status"], "add header or json_pointer: what tells a failure from a success", "released_when would release every success with that status")
	}
	for _, path := range w.Location {
		mux := http.NewServeMux()
		mux.Handle(path, http.NotFoundHandler())
		w.muxes = append(w.muxes, mux)
	}
	return w
}

// locations reads one path pattern or a list of them.
func (r *reader) locations(n ast.Node) []string {
	nodes := []ast.Node{n}
	if _, ok := yamlfile.Literal(n); !ok {
		nodes = r.Sequence(n, "location")
	}
	var out []string
	for _, node := range nodes {
		if path := r.path(node); path != "" {
			out = append(out, path)
		}
	}
	return out
}
