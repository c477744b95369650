package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// ofArrays returns the column by which one row of unnested parameters is joined with a row of the target; "" for other
// sources. Each row of the target finds one of them when the arrays hold no value of the column twice.
func (j *judge) ofArrays(from tree.Source, conditions []tree.Expr, t *target) string {
	var s *tree.Select
	switch from := from.(type) {
	case *tree.TableRef:
		if w := j.with[strings.ToLower(from.Name.Name)]; w != nil {
			s, _ = w.Body.(*tree.Select)
		}
	case *tree.Derived:
		s = from.Query
	case *tree.Function:
		s = &tree.Select{Items: []tree.Item{{Expr: from.Call}}}
	}
	for depth := 0; s != nil && depth < maxDepth && len(s.From) == 1 && s.Where == nil && j.plainRows(s); depth++ { // SELECT * FROM (…) AS x
		d, ok := s.From[0].(*tree.Derived)
		if !ok {
			break
		}
		s = d.Query
	}
	if s == nil || !arrays(s) {
		return ""
	}
	for _, c := range conditions {
		for _, pair := range pairs(c) {
			for i := range pair {
				theirs, ok := pair[i].(*tree.Column)
				if ok && strings.EqualFold(theirs.Table, sourceName(from)) && t.column(pair[1-i]) != "" {
					return theirs.Name
				}
			}
		}
	}
	return ""
}

// arrays reports whether a query unnests parameters: in its results or in its only source.
func arrays(s *tree.Select) bool {
	of := func(e tree.Expr) bool {
		c, ok := e.(*tree.Call)
		return ok && c.Name == "unnest" && !slices.ContainsFunc(c.Args, func(e tree.Expr) bool { return !isParam(e) })
	}
	if s.SetOp != "" || s.Values != nil || len(s.GroupBy) > 0 || s.Limit != nil || s.Offset != nil || len(s.With) > 0 || s.Where != nil {
		return false
	}
	if len(s.From) == 1 {
		f, ok := s.From[0].(*tree.Function)
		return ok && of(f.Call)
	}
	found := false
	for _, item := range s.Items {
		found = found || of(uncast(item.Expr))
		if !of(uncast(item.Expr)) && !isParam(item.Expr) && literal(item.Expr) == nil {
			return false
		}
	}
	return len(s.From) == 0 && found
}
