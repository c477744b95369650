package rules

import (
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
	// Status lists the statuses; empty for those of redirects.
	Status []int
	// Location lists path patterns as in [Match]; the path of the answer's
	// Location header must match one of them. Empty for any answer.
	Location []string

	muxes []*http.ServeMux // of Location, one each: they may overlap
}

// Holds reports whether the rule releases an answer with the status and the
// Location header, "" for none, to a request for the path.
func (w *ReleasedWhen) Holds(path string, status int, location string) bool {
	switch {
	case w.None:
		return false
	case len(w.Status) > 0 && !slices.Contains(w.Status, status), len(w.Status) == 0 && (status < 300 || status > 399):
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
		{"status", func(n ast.Node) { w.Status = r.statuses(n, 300) }},
		{"location", func(n ast.Node) { w.Location = r.locations(n) }},
	})
	if found != nil && len(found) == 0 {
		r.Report(yamlfile.At(n), "add status, location or both", "released_when holds for every answer")
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
