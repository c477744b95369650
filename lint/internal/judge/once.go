package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// fedOnce judges an UPDATE or DELETE that is joined with rows that exist at the first run only: those of
// INSERT … ON CONFLICT DO NOTHING RETURNING, say.
func (j *judge) fedOnce(t *target, where tree.Expr) (_ Judgement, ok bool) {
	f := j.effectsOf(where)
	(&tree.Select{From: t.others}).Exprs(j.adding(&f))
	if f.acts || f.stranger {
		return Judgement{}, false
	}
	by, ok := j.emptiedAny(t.others)
	for _, c := range tree.Conjuncts(where) {
		if !ok {
			by, ok = j.emptiedBy(c)
		}
	}
	return by, ok
}

// emptiedAny returns the judgement on a part of the statement that leaves one of the sources without rows at a second run.
func (j *judge) emptiedAny(list []tree.Source) (_ Judgement, ok bool) {
	for _, from := range list {
		if one, ok := j.emptied(from, 0); ok {
			return one, true
		}
	}
	return Judgement{}, false
}

// emptiedBy is the same for a condition that is never true then: EXISTS, IN or = of a query without rows.
func (j *judge) emptiedBy(c tree.Expr) (_ Judgement, ok bool) {
	switch e := c.(type) {
	case *tree.Query:
		if e.Kind == tree.Exists || e.Kind == tree.In || e.Kind == tree.Any {
			return j.rowless(e.Select, 0)
		}
	case *tree.Op:
		if !failsOnNull(e.Name) || len(e.Args) != 2 {
			return Judgement{}, false
		}
		for _, arg := range e.Args {
			if q, scalar := arg.(*tree.Query); scalar && q.Kind == tree.Scalar {
				if one, ok := j.rowless(q.Select, 0); ok {
					return one, true
				}
			}
		}
	}
	return Judgement{}, false
}

// emptied reports whether a source has no rows at a second run.
func (j *judge) emptied(from tree.Source, depth int) (_ Judgement, ok bool) {
	switch from := from.(type) {
	case *tree.Join:
		if from.Kind == "inner" || from.Kind == "cross" || from.Kind == "left" {
			if one, ok := j.emptied(from.Left, depth); ok {
				return one, true
			}
		}
		if from.Kind == "inner" || from.Kind == "cross" || from.Kind == "right" {
			return j.emptied(from.Right, depth)
		}
	case *tree.Derived:
		return j.rowless(from.Query, depth)
	case *tree.TableRef:
		w := j.with[strings.ToLower(from.Name.Name)]
		if w == nil || from.Name.Schema != "" || w.Recursive {
			break
		}
		if s, reads := w.Body.(*tree.Select); reads {
			return j.rowless(s, depth)
		}
		if one := j.statement(w.Body); one.Once && one.Verdict == Safe {
			res := judged(Safe, FedOnce, "its rows come from "+w.Name+", which a second run leaves empty")
			res.Once, res.Assumes = true, one.Assumes
			return res, true
		}
	}
	return Judgement{}, false
}

// rowless reports whether a query has no rows at a second run.
func (j *judge) rowless(s *tree.Select, depth int) (_ Judgement, ok bool) {
	if s == nil || depth > maxDepth || s.SetOp != "" || len(s.With) > 0 || s.Values != nil || j.aggregated(s) {
		return Judgement{}, false
	}
	for _, from := range s.From {
		if one, ok := j.emptied(from, depth+1); ok {
			return one, true
		}
	}
	return Judgement{}, false
}

// required reports whether a row of an INSERT takes a column that cannot be NULL from a query that has no rows at a
// second run, which is refused then, or has no row either.
func (j *judge) required(in *tree.Insert) (_ Judgement, ok bool) {
	t := j.schema.Table(in.Table)
	if t == nil || len(t.Triggers) > 0 || in.Columns == nil || in.Source == nil || in.Source.SetOp != "" || j.dialect != dialect.PostgreSQL {
		return Judgement{}, false
	}
	i := &insertion{Insert: in, t: j.target(in.Table, in.As, nil)}
	if i.spread() != "" || len(i.rows) == 0 {
		return Judgement{}, false
	}
	var all Judgement
	for n, row := range i.rows {
		one, found := Judgement{}, false
		for _, def := range t.Columns {
			q, scalar := row[strings.ToLower(def.Name)].(*tree.Query)
			if !found && scalar && q.Kind == tree.Scalar && def.NotNull {
				one, found = j.rowless(q.Select, 0)
			}
		}
		if !found {
			return Judgement{}, false
		}
		if n == 0 {
			all = one
		}
		all = worse(all, one)
	}
	return all, true
}

// refusedWhole judges a statement of several parts one of which is refused at a second run, and the others with it: a plain
// INSERT of rows that a unique key knows, in a table that the others leave alone.
func (j *judge) refusedWhole(st tree.Statement) (_ Judgement, ok bool) {
	parts := writesOf(st)
	var f effects
	tree.StatementExprs(st, j.adding(&f))
	if j.dialect != dialect.PostgreSQL || len(parts) < 2 || f.acts || f.stranger || j.ripple.hidden != "" {
		return Judgement{}, false
	}
	with, _ := tree.Parts(st)
	defer j.scope(with)()
	for _, part := range parts {
		_, table := tree.Parts(part)
		if table.Name == "" || j.isView(table) {
			return Judgement{}, false
		}
		if _, _, why := j.behind(table, "", nil, nil); why != "" || j.schema.Table(table).Rules {
			return Judgement{}, false
		}
	}
	for n, part := range parts {
		in, inserts := part.(*tree.Insert)
		if !inserts || !j.alwaysInserts(in) || j.ripple.tables[j.base(in.Table)] {
			continue
		}
		others := slices.Delete(slices.Clone(parts), n, n+1)
		if slices.ContainsFunc(others, func(one tree.Statement) bool { return j.reach(alone(one))[j.base(in.Table)] }) {
			continue
		}
		t, _, _ := j.behind(in.Table, in.As, nil, nil)
		i := &insertion{Insert: in, t: t}
		if i.spread() != "" {
			continue
		}
		if res := j.covered(i); res.Verdict == Safe {
			res.Why = "a second run is refused as a whole: " + t.table.Name.Name + " has a row with the same unique key"
			return res, true
		}
	}
	return Judgement{}, false
}

// alwaysInserts reports whether an INSERT has rows whatever the tables hold, and is refused when a key knows them.
func (j *judge) alwaysInserts(in *tree.Insert) bool {
	s := in.Source
	if s == nil || in.Conflict != nil || in.Ignore || in.Replace || s.SetOp != "" || len(s.With) > 0 {
		return false
	}
	if t := j.schema.Table(in.Table); slices.ContainsFunc(t.Triggers, func(one *tree.Trigger) bool { return one.Before && one.Insert }) {
		return false // which may leave out the row, or change its key
	}
	sets := false
	s.Exprs(func(e tree.Expr) bool {
		sets = sets || setReturning(e)
		return !sets
	})
	return !sets && (len(s.Values) > 0 || len(s.From) == 0 && s.Where == nil && j.plainRows(s))
}

// alone is a statement without its common table expressions.
func alone(st tree.Statement) tree.Statement {
	switch st := st.(type) {
	case *tree.Insert:
		one := *st
		one.With = nil
		return &one
	case *tree.Update:
		one := *st
		one.With = nil
		return &one
	case *tree.Delete:
		one := *st
		one.With = nil
		return &one
	case *tree.Merge:
		one := *st
		one.With = nil
		return &one
	}
	return st
}
