package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// A writing CTE of PostgreSQL is steady if its RETURNING gives the same rows at a second run: an UPDATE whose condition reads no
// column that it sets, or an upsert of literal rows.

// steady reports whether a common table expression returns the same at each run.
func (j *judge) steady(w *tree.With) bool {
	if len(w.Columns) > 0 || j.dialect != dialect.PostgreSQL {
		return false
	}
	same, known := j.steadies[w]
	if !known {
		defer func(before []*tree.Select) { j.seen = before }(j.seen)
		switch body := w.Body.(type) {
		case *tree.Update:
			same = j.steadyUpdate(body)
		case *tree.Insert:
			same = j.steadyUpsert(body)
		}
		if j.steadies == nil {
			j.steadies = map[*tree.With]bool{}
		}
		j.steadies[w] = same
	}
	return same
}

func (j *judge) steadyUpdate(u *tree.Update) bool {
	t, where, why := j.behind(u.Table, u.As, u.From, u.Where)
	if why != "" || j.isView(u.Table) || len(u.From) > 0 || len(u.With) > 0 || u.Limit != nil || !t.plain() {
		return false
	}
	t.sets(u)
	if len(t.readsWritten(where)) > 0 || hasQuery(where) || !j.effectsOf(where).pure() || j.statement(u).Verdict >= CannotTell {
		return false
	}
	return j.same(u.Returning, t, func(column string) Judgement { return j.value(column, t, where) })
}

func (j *judge) steadyUpsert(in *tree.Insert) bool {
	t, _, why := j.behind(in.Table, in.As, nil, nil)
	i := &insertion{Insert: in, t: t}
	if why != "" || j.isView(in.Table) || len(in.With) > 0 || in.Conflict == nil || in.Conflict.Nothing || in.Conflict.If != nil || in.Source == nil || in.Source.Values == nil ||
		!t.plain() || i.spread() != "" || j.statement(in).Verdict >= CannotTell {
		return false
	}
	for _, a := range in.Conflict.Set {
		t.assign(strings.ToLower(a.Column), a.Value, a.Of)
	}
	t.derive()
	return j.same(in.Returning, t, func(column string) (res Judgement) {
		for _, row := range i.rows {
			res = worse(res, j.sameRow(i, row, column))
		}
		return res
	})
}

// plain reports whether nothing but the statement changes the rows that are there.
func (t *target) plain() bool { return len(t.table.Triggers) == 0 && !t.table.Rules }

// same reports whether the items return the same at a second run; value judges the value that a column is set to.
func (j *judge) same(items []tree.Item, t *target, value func(column string) Judgement) bool {
	moves := map[string]bool{}
	for column := range t.written {
		if _, set := t.set[column]; !set || t.moved[column] || value(column).Verdict != Safe {
			moves[column] = true
		}
	}
	return !slices.ContainsFunc(items, func(item tree.Item) bool {
		other := !j.effectsOf(item.Expr).pure()
		tree.Exprs(item.Expr, func(e tree.Expr) bool {
			switch e := e.(type) {
			case *tree.Column:
				other = other || !t.has(e) || schema.Column(t.table, e.Name) == nil || t.system(e) || moves[strings.ToLower(e.Name)]
			case *tree.Star: // old.* is the row before
				other = other || len(moves) > 0 || e.Table != "" && !t.aliases[strings.ToLower(e.Table)]
			case *tree.Query, *tree.Raw:
				other = true
			}
			return !other
		})
		return other
	})
}

// returns reports whether conditions fix a unique key of the rows that a steady part of the statement returns.
func (j *judge) returns(w *tree.With, as string, conditions []tree.Expr) bool {
	_, table := tree.Parts(w.Body)
	var items []tree.Item
	switch body := w.Body.(type) {
	case *tree.Update:
		items = body.Returning
	case *tree.Insert:
		items = body.Returning
	}
	if !j.steady(w) {
		return false
	}
	var fixed []string
	for _, c := range conditions {
		for _, pair := range pairs(c) {
			for n := range pair {
				theirs, ok := pair[n].(*tree.Column)
				if !ok || !strings.EqualFold(theirs.Table, as) || mayName(pair[1-n], as) {
					continue
				}
				fixed = append(fixed, columnsNamed(items, theirs.Name)...)
			}
		}
	}
	return j.target(table, "", nil).unique(fixed)
}

// columnsNamed are the columns that a query returns under a name.
func columnsNamed(items []tree.Item, name string) (all []string) {
	for _, item := range items {
		of, ok := item.Expr.(*tree.Column)
		if ok && (strings.EqualFold(item.As, name) || item.As == "" && strings.EqualFold(of.Name, name)) {
			all = append(all, strings.ToLower(of.Name))
		}
	}
	return all
}

// mayName reports whether an expression may read a source.
func mayName(e tree.Expr, as string) (found bool) {
	tree.Exprs(e, func(e tree.Expr) bool {
		c, ok := e.(*tree.Column)
		found = found || ok && (c.Table == "" || strings.EqualFold(c.Table, as))
		return !found
	})
	return found
}

// oneMember reports whether conditions leave one member of an object that jsonb_each takes apart for each row of the target: an
// object of that type has no key twice.
func (j *judge) oneMember(from tree.Source, conditions []tree.Expr, t *target) bool {
	key := j.memberKey(from)
	return key != "" && slices.ContainsFunc(conditions, func(c tree.Expr) bool {
		return slices.ContainsFunc(pairs(c), func(pair [2]tree.Expr) bool {
			for n := range pair {
				theirs, ok := pair[n].(*tree.Column)
				def := schema.Column(t.table, t.column(pair[1-n]))
				if ok && strings.EqualFold(theirs.Table, sourceName(from)) && strings.EqualFold(theirs.Name, key) && def != nil && typeOf(def.Type) == text && def.Collation == "" {
					return true
				}
			}
			return false
		})
	})
}

// memberKey returns the name of the keys in a source that takes an object apart.
func (j *judge) memberKey(from tree.Source) string {
	key, columns := "", []string(nil)
	switch from := from.(type) {
	case *tree.Function:
		c, ok := from.Call.(*tree.Call)
		if ok && j.dialect == dialect.PostgreSQL && c.Schema == "" && (c.Name == "jsonb_each" || c.Name == "jsonb_each_text") && len(c.Args) == 1 && (isParam(c.Args[0]) || literal(uncast(c.Args[0])) != nil) {
			key, columns = "key", from.Columns
		}
	case *tree.Derived:
		if _, all := leading(from.Query.Items); all && len(from.Query.From) == 1 && from.Query.Where == nil && j.plainRows(from.Query) {
			key, columns = j.memberKey(from.Query.From[0]), from.Columns
		}
	}
	if key != "" && len(columns) > 0 {
		return columns[0]
	}
	return key
}

// whole reports whether a condition is true of all rows of the target or of none, and stays as it is unless the statement changes
// the target: a number or the existence of rows of it, or of a table that the statement leaves alone.
func (j *judge) whole(c tree.Expr, t *target) bool {
	ok := hasQuery(c) && j.effectsOf(c).pure() && j.dialect != dialect.MySQL
	tree.Exprs(c, func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Column, *tree.Star, *tree.Raw:
			ok = false
		case *tree.Query:
			ok = ok && (e.Kind == tree.Exists || e.Kind == tree.Scalar && j.oneRow(e.Select, 0)) && j.byItself(e.Select, t, 0)
			return false
		}
		return ok
	})
	return ok
}

// oneRow reports whether a query always returns one row: an aggregate, or everything from a CTE that is one.
func (j *judge) oneRow(s *tree.Select, depth int) bool {
	if depth > maxDepth {
		return false
	}
	if len(s.From) == 1 && s.Where == nil && j.plainRows(s) {
		if ref, ok := s.From[0].(*tree.TableRef); ok && ref.Name.Schema == "" {
			if w := j.with[strings.ToLower(ref.Name.Name)]; w != nil && len(w.Columns) == 0 {
				inner, reads := w.Body.(*tree.Select)
				return reads && j.oneRow(inner, depth+1)
			}
		}
	}
	return isOne(s) && !slices.ContainsFunc(s.Items, func(item tree.Item) bool { // whose rows may come in any order
		c, ok := item.Expr.(*tree.Call)
		return !ok || c.Name != "count" && c.Name != "min" && c.Name != "max"
	})
}

// byItself reports whether a query reads only the target or unchanged tables, and no column of the outer statement. Inside a CTE
// (depth > 0), a name of both a CTE and a table may mean either, so it fails.
func (j *judge) byItself(s *tree.Select, t *target, depth int) bool {
	if depth > maxDepth || len(s.From) != 1 || s.SetOp != "" || len(s.With) > 0 || s.Values != nil || len(s.GroupBy) > 0 || s.Having != nil || s.Limit != nil || s.Offset != nil || len(s.DistinctOn) > 0 || s.Skips {
		return false
	}
	ref, ok := s.From[0].(*tree.TableRef)
	if !ok {
		return false
	}
	var holds func(name string) bool
	if w := j.with[strings.ToLower(ref.Name.Name)]; w != nil && ref.Name.Schema == "" {
		inner, reads := w.Body.(*tree.Select)
		if !reads || w.Recursive || len(w.Columns) > 0 || depth > 0 && j.schema.Table(ref.Name) != nil || !j.byItself(inner, t, depth+1) {
			return false
		}
		holds = func(name string) bool {
			return slices.ContainsFunc(inner.Items, func(item tree.Item) bool { return strings.EqualFold(item.As, name) }) || columnsNamed(inner.Items, name) != nil
		}
	} else {
		of := j.schema.Table(ref.Name)
		if of == nil || of.View != nil || of.Unknown != "" || j.base(ref.Name) != t.name && j.changed[j.base(ref.Name)] {
			return false
		}
		holds = func(name string) bool { return schema.Column(of, name) != nil }
	}
	return j.sourceEffects(s).pure() && readsOnly(s, sourceName(ref), holds)
}

// readsOnly reports whether a query reads only columns of its source, and contains no sub-query and no window function.
func readsOnly(s *tree.Select, source string, holds func(column string) bool) bool {
	ok := true
	s.Exprs(func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Column:
			ok = ok && holds(e.Name) && (e.Table == "" || strings.EqualFold(e.Table, source))
		case *tree.Query, *tree.Raw:
			ok = false
		case *tree.Call:
			ok = ok && !e.Over
		}
		return ok
	})
	return ok
}
