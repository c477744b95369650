package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

const otherRows = "pick the row first, or claim it in the same transaction, and change it by its key: WHERE id = …"

// selection judges the queries in an expression: whether they find the same at the second run.
// deletes says that rows are removed, so that every column of them counts as written.
func (j *judge) selection(e tree.Expr, t *target, deletes bool) Judgement {
	res := judged(Safe, PlainValues, "its queries read nothing that it writes")
	tree.Exprs(e, func(e tree.Expr) bool {
		q, ok := e.(*tree.Query)
		if !ok {
			return true
		}
		res = worse(worse(res, j.subquery(q.Select, t, deletes)), worse(j.ordering(q, t), j.selection(q.Left, t, deletes)))
		return false
	})
	return res
}

// sources judges what FROM and USING read.
func (j *judge) sources(list []tree.Source, t *target, deletes bool) Judgement {
	res := judged(Safe, PlainValues, "it reads nothing that it writes")
	tree.Sources(list, func(from tree.Source) {
		switch from := from.(type) {
		case *tree.Function:
			res = worse(res, worse(j.selection(from.Call, t, deletes), j.effectsOf(from.Call).judgement()))
		case *tree.Derived:
			res = worse(res, j.subquery(from.Query, t, deletes))
		case *tree.TableRef:
			whole := &tree.Select{Items: []tree.Item{{Expr: &tree.Star{}}}, From: []tree.Source{from}}
			res = worse(res, j.subquery(whole, t, deletes))
		}
	})
	for _, from := range list {
		res = worse(res, j.conditions(from, t, deletes))
	}
	return res
}

// conditions judges those of joins.
func (j *judge) conditions(from tree.Source, t *target, deletes bool) Judgement {
	join, ok := from.(*tree.Join)
	if !ok {
		return judged(Safe, PlainValues, "")
	}
	res := worse(j.selection(join.On, t, deletes), j.effectsOf(join.On).judgement())
	return worse(res, worse(j.conditions(join.Left, t, deletes), j.conditions(join.Right, t, deletes)))
}

// subquery judges one query that a write uses.
func (j *judge) subquery(s *tree.Select, t *target, deletes bool) Judgement {
	res := judged(Safe, PlainValues, "its queries read nothing that it writes")
	var f effects
	for _, q := range j.reached(s) {
		j.addQuery(q, &f)
	}
	res = worse(res, f.judgement())
	var own []*tree.Select
	other := false
	unknown := j.tablesOf(s, func(ref *tree.TableRef, in *tree.Select) {
		name := strings.ToLower(ref.Name.Name)
		switch {
		case name == t.name:
			own = append(own, in)
		case j.changed[name]:
			other = other || !deletes || !j.ownChildren(s, in, name, t)
		}
	})
	if unknown != "" {
		res = worse(res, judged(CannotTell, UnknownTable, unknown))
	}
	if other {
		res = worse(res, judged(CannotTell, MovingSelection, "it reads a table that another part of the statement, a foreign key or a trigger changes"))
	}
	if len(own) == 0 {
		return worse(worse(res, j.limited(s)), j.unsorted(s))
	}
	if j.dialect == dialect.PostgreSQL && j.numbers(s) {
		res = worse(res, guardedBy(judged(NotSafe, OpenOrder, "it numbers rows without an order, so that a row may get another number the next time"), "number them in the order of a unique column: OVER (ORDER BY id)"))
	}
	res = worse(res, j.inOrder(s, t))
	for _, in := range own {
		res = worse(res, j.ownRows(s, in, t, deletes))
	}
	return res
}

// limited judges the LIMIT of a query that reads other tables, which stay as they are.
func (j *judge) limited(s *tree.Select) Judgement {
	res := judged(Safe, PlainValues, "")
	j.eachReached(s, func(q *tree.Select) {
		if (q.Limit != nil || q.Offset != nil || len(q.DistinctOn) > 0) && len(q.OrderBy) == 0 && !isOne(q) {
			res = worse(res, judged(CannotTell, OpenOrder, "LIMIT without ORDER BY may find other rows the next time"))
		}
	})
	return res
}

// isOne reports whether a query has at most one row: aggregates without groups.
func isOne(q *tree.Select) bool {
	if len(q.GroupBy) > 0 || len(q.Items) == 0 {
		return false
	}
	for _, item := range q.Items {
		c, ok := item.Expr.(*tree.Call)
		if !ok || c.Over || !aggregates[c.Name] || len(c.Args) > 1 {
			return false
		}
	}
	return true
}

//nolint:gochecknoglobals // a constant.
var aggregates = set("count sum avg min max bool_and bool_or every")

// eachReached calls visit with the queries of s, of common table expressions and of views.
func (j *judge) eachReached(s *tree.Select, visit func(*tree.Select)) {
	done := map[*tree.Select]bool{}
	for _, one := range j.reached(s) {
		eachQuery(one, func(q *tree.Select) {
			if !done[q] {
				done[q] = true
				visit(q)
			}
		})
	}
}

// eachQuery calls visit with a query and those in its FROM and its set operations.
func eachQuery(s *tree.Select, visit func(*tree.Select)) {
	if s == nil {
		return
	}
	visit(s)
	eachQuery(s.Left, visit)
	eachQuery(s.Right, visit)
	for _, w := range s.With {
		if q, ok := w.Body.(*tree.Select); ok {
			eachQuery(q, visit)
		}
	}
	tree.Sources(s.From, func(from tree.Source) {
		if d, ok := from.(*tree.Derived); ok {
			eachQuery(d.Query, visit)
		}
	})
	s.Exprs(func(e tree.Expr) bool {
		if q, ok := e.(*tree.Query); ok {
			eachQuery(q.Select, visit)
			return false
		}
		return true
	})
}

// ownRows judges a query that reads the table that is written, in its part in.
func (j *judge) ownRows(whole, in *tree.Select, t *target, deletes bool) Judgement {
	touches := deletes || t.table == nil
	everything := func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Star, *tree.Raw:
			touches = true
		case *tree.Column:
			touches = touches || t.written[strings.ToLower(e.Name)] || t.system(&tree.Column{Name: e.Name})
		}
		return true
	}
	limits, outer := false, false
	for _, q := range j.reached(whole) {
		q.Exprs(everything)
	}
	j.eachReached(whole, func(q *tree.Select) {
		if q.Limit != nil || q.Offset != nil || len(q.DistinctOn) > 0 {
			limits, outer = true, outer || q != in
		}
	})
	switch {
	case limits && touches:
		return guardedBy(judged(NotSafe, MovingSelection, "the query picks rows by what the statement changes: the next run picks others"), otherRows)
	case limits && (outer || !j.ordered(in, t)):
		return guardedBy(judged(NotSafe, OpenOrder, "LIMIT without an order by a unique column that stays as it is: the next run may pick other rows"), otherRows)
	case touches:
		return guardedBy(judged(CannotTell, MovingSelection, "a query reads the table that the statement changes, in columns that it changes"), otherRows)
	}
	return judged(Safe, PlainValues, "its queries read nothing that it writes")
}

func guardedBy(j Judgement, guard string) Judgement {
	j.Guard = guard
	return j
}

// ordered reports whether the order of a query over the target's rows is total and stays.
func (j *judge) ordered(q *tree.Select, t *target) bool {
	if len(q.From) != 1 || t.table == nil {
		return false
	}
	if _, plain := q.From[0].(*tree.TableRef); !plain {
		return false
	}
	var names []string
	for _, o := range q.OrderBy {
		c, ok := o.Expr.(*tree.Column)
		if !ok || t.written[strings.ToLower(c.Name)] {
			return false
		}
		for _, item := range q.Items { // the name of a result hides that of a column
			if of, same := item.Expr.(*tree.Column); strings.EqualFold(item.As, c.Name) && (!same || !strings.EqualFold(of.Name, c.Name)) {
				return false
			}
		}
		names = append(names, strings.ToLower(c.Name))
	}
	return t.unique(names)
}

// unique reports whether some key of the table lies in these columns, none of which is NULL.
func (t *target) unique(names []string) bool { return t.holdsKey(names, false) }

// holdsKey is the same; compared says that a row with a NULL in them is not found.
func (t *target) holdsKey(names []string, compared bool) bool {
	if t.table == nil {
		return false
	}
	return slices.ContainsFunc(t.table.Keys, func(k *tree.Key) bool {
		if k.Where != nil || !k.Unique && !k.Primary || len(k.Parts) == 0 {
			return false
		}
		return !slices.ContainsFunc(k.Parts, func(part tree.Expr) bool {
			c, ok := part.(*tree.Column)
			def := schema.Column(t.table, name(c))
			return !ok || !slices.Contains(names, strings.ToLower(c.Name)) || !compared && !k.Primary && (def == nil || !def.NotNull)
		})
	})
}

func name(c *tree.Column) string {
	if c == nil {
		return ""
	}
	return c.Name
}

// judgement of functions in a condition or a query.
func (f effects) judgement() Judgement {
	switch {
	case f.acts:
		return judged(NotSafe, SideEffect, f.names[changes]+" changes something at every call")
	case f.random:
		return judged(NotSafe, RandomValue, f.names[random]+" gives another value at every run")
	case f.stranger:
		return judged(CannotTell, UnknownFunction, f.names[stranger]+" is not known")
	case f.clock:
		return judged(Time, Timestamp, f.names[clock]+" is the time of the run")
	}
	return judged(Safe, PlainValues, "")
}
