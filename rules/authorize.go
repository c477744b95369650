package rules

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/rules/template"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// Authorize has the upstream say, before a stored answer is given, whether the
// caller may still see it: by a GET that the gateway sends with the credentials
// of the request that asks. 2xx means yes; 401 and 403 are passed on; anything
// else leaves it open, and the caller is asked to come back (503).
type Authorize struct {
	// Get is the path and query to ask.
	Get Template
}

// authorize reads how the right to a stored answer is checked.
func (r *reader) authorize(n ast.Node) *Authorize {
	var a Authorize
	found := r.Mapping(n, "authorize", []yamlfile.Field{
		{"get", func(n ast.Node) { a.Get = r.template(n, "get") }},
	})
	if found == nil {
		return nil
	}
	if !found.Has("get") {
		r.Report(yamlfile.At(n), `add a path that answers 2xx to who may see the answer, and 401 or 403 to who may not, such as get: "/session"`, "authorize has no get")
	}
	if a.Get.Uses(template.Answer) {
		r.Report(found["get"], "use {key}, a wildcard, {json:/pointer} or {form:field}", "get cannot use its own answer")
	}
	return &a
}
