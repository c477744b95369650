package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/lint/tree"
)

// deletion judges what the condition of a DELETE reads. Queries of the table itself that find no more in fewer rows
// leave the rows that the first run has left.
func (j *judge) deletion(where tree.Expr, t *target) Judgement {
	res := judged(Safe, Deletes, "")
	fewer := j.onlyFewer(t)
	for _, c := range tree.Conjuncts(where) {
		if q, ok := c.(*tree.Query); ok && fewer && j.shrinks(q, t) {
			res = worse(res, worse(j.elsewhere(q.Select, t), j.selection(q.Left, t, true)))
		} else {
			res = worse(res, j.selection(c, t, true))
		}
	}
	var others []tree.Source
	for _, from := range t.others {
		if !fewer || !j.isTarget(from, t) {
			others = append(others, from)
		}
	}
	return worse(res, j.sources(others, t, true))
}

// onlyFewer reports whether a DELETE removes rows of the table, and changes none of them by a foreign key.
func (j *judge) onlyFewer(t *target) bool {
	return t.table != nil && t.table.View == nil && !slices.ContainsFunc(t.table.Foreign, func(f *tree.Foreign) bool {
		name := j.base(f.Table)
		return (name == t.name || t.changed[name]) && (tree.Acts(f.OnUpdate) || tree.Acts(f.OnDelete) && f.OnDelete != "cascade")
	})
}

func (j *judge) isTarget(from tree.Source, t *target) bool {
	ref, ok := from.(*tree.TableRef)
	return ok && j.schema.Table(ref.Name) == t.table && (ref.Name.Schema != "" || j.with[strings.ToLower(ref.Name.Name)] == nil)
}

// shrinks reports whether a condition is true of no more rows when the table has fewer.
func (j *judge) shrinks(q *tree.Query, t *target) bool {
	return (q.Kind == "in" || q.Kind == "any" || q.Kind == "exists") && j.fewerRows(q.Select, t, 0)
}

func (j *judge) fewerRows(s *tree.Select, t *target, depth int) bool {
	if s == nil || depth > maxDepth || s.SetOp != "" || s.Values != nil || len(s.GroupBy) > 0 || s.Having != nil || len(s.DistinctOn) > 0 || s.Limit != nil || s.Offset != nil || s.Into {
		return false
	}
	if j.aggregated(s) || slices.ContainsFunc(s.Items, func(item tree.Item) bool { return hasQuery(item.Expr) || windowed(item.Expr) }) {
		return false
	}
	j.skips = j.skips || s.Skips
	defer j.scope(s.With)()
	for _, from := range s.From {
		if !j.fewerOf(from, t, depth) {
			return false
		}
	}
	for _, c := range tree.Conjuncts(s.Where) {
		q, ok := c.(*tree.Query)
		switch {
		case ok && !hasQuery(q.Left) && (q.Kind == "in" || q.Kind == "any" || q.Kind == "exists"):
			if !j.fewerRows(q.Select, t, depth+1) {
				return false
			}
		case hasQuery(c):
			return false
		}
	}
	return true
}

// fewerOf reports whether a source has no more rows when the table has fewer.
func (j *judge) fewerOf(from tree.Source, t *target, depth int) bool {
	switch from := from.(type) {
	case *tree.TableRef:
		w := j.with[strings.ToLower(from.Name.Name)]
		if w == nil || from.Name.Schema != "" {
			return !j.isView(from.Name)
		}
		inner, reads := w.Body.(*tree.Select)
		return reads && !w.Recursive && (j.apartFromTarget(inner, t) || j.fewerRows(inner, t, depth+1))
	case *tree.Derived:
		return j.apartFromTarget(from.Query, t) || j.fewerRows(from.Query, t, depth+1)
	case *tree.Function:
		return !hasQuery(from.Call)
	case *tree.Join:
		return (from.Kind == "inner" || from.Kind == "cross") && !hasQuery(from.On) && j.fewerOf(from.Left, t, depth) && j.fewerOf(from.Right, t, depth)
	}
	return false
}

// apartFromTarget reports whether a query does not read the table.
func (j *judge) apartFromTarget(s *tree.Select, t *target) bool {
	own := false
	unknown := j.tablesOf(s, func(ref *tree.TableRef, _ *tree.Select) { own = own || j.base(ref.Name) == t.name })
	return unknown == "" && !own
}

func windowed(e tree.Expr) (found bool) {
	tree.Exprs(e, func(e tree.Expr) bool {
		c, ok := e.(*tree.Call)
		found = found || ok && c.Over
		return !found
	})
	return found
}

// elsewhere judges what a query reads of other tables.
func (j *judge) elsewhere(s *tree.Select, t *target) Judgement {
	var f effects
	for _, q := range j.reached(s) {
		j.addQuery(q, &f)
	}
	res, other := f.judgement(), false
	if unknown := j.tablesOf(s, func(ref *tree.TableRef, _ *tree.Select) {
		name := j.base(ref.Name)
		other = other || name != t.name && j.changed[name] && !j.unchanged(s, name)
	}); unknown != "" {
		res = worse(res, judged(CannotTell, UnknownTable, unknown))
	}
	if other {
		res = worse(res, judged(CannotTell, MovingSelection, "it reads a table that another part of the statement, a foreign key or a trigger changes"))
	}
	return res
}
