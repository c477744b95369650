package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// A query that finds rows of the target by conditions on each row alone, and is joined with the target by a key, says
// the same as those conditions on the target:
//
//	WITH p AS (SELECT id FROM t JOIN s ON … WHERE …) UPDATE t SET … WHERE id IN (SELECT id FROM p)
//	WITH p AS (SELECT id, n FROM t WHERE …) UPDATE t SET m = p.n FROM p WHERE p.id = t.id
//
// inline puts the conditions in its place.

// picked is a query of rows of the target.
type picked struct {
	rest    []tree.Source        // what it joins them with
	where   tree.Expr            // on the target, in the words of the statement
	columns map[string]tree.Expr // its results, likewise
}

// inlined replaces such queries in what a statement joins, sets and asks for.
func (j *judge) inlined(t *target, where tree.Expr) tree.Expr {
	if j.dialect == dialect.MySQL || t.table == nil || t.table.View != nil || t.table.Unknown != "" {
		return where
	}
	var kept []tree.Expr
	for _, c := range tree.Conjuncts(where) {
		if p := j.pickedBy(c, t); p != nil {
			t.others = append(slices.Clip(t.others), p.rest...)
			c = p.where
		}
		if c != nil {
			kept = append(kept, c)
		}
	}
	where = tree.And(kept...)
	for i, from := range t.others {
		p := j.pickedFrom(from, t, where)
		if p == nil {
			continue
		}
		put := func(e tree.Expr) tree.Expr { return p.replaced(e, sourceName(from), t) }
		for column, a := range t.set {
			t.set[column] = assign{put(a.value), a.part}
		}
		t.others = append(append(slices.Clone(t.others[:i]), p.rest...), t.others[i+1:]...)
		return tree.And(put(where), p.where)
	}
	return where
}

// pickedBy reads (a, b) IN (SELECT a, b FROM …).
func (j *judge) pickedBy(c tree.Expr, t *target) *picked {
	q, ok := c.(*tree.Query)
	if !ok || q.Kind != tree.In && (q.Kind != tree.Any || q.Op != "=") {
		return nil
	}
	left := []tree.Expr{q.Left}
	if list, ok := q.Left.(*tree.List); ok {
		left = list.Items
	}
	s := j.through(q.Select)
	if s == nil || len(s.Items) != len(left) {
		return nil
	}
	p := j.picks(s, t)
	var fixed []string
	if p == nil {
		return nil
	}
	for i, item := range s.Items {
		of, ok := p.put(item.Expr).(*tree.Column)
		if !ok || t.column(of) == "" || t.column(of) != t.column(left[i]) {
			return nil
		}
		fixed = append(fixed, t.column(of))
	}
	if !t.keyed(fixed) {
		return nil
	}
	return &p.picked
}

// pickedFrom reads FROM p WHERE p.a = t.a AND p.b = t.b.
func (j *judge) pickedFrom(from tree.Source, t *target, where tree.Expr) *picked {
	var s *tree.Select
	switch from := from.(type) {
	case *tree.TableRef:
		if w := j.with[strings.ToLower(from.Name.Name)]; w != nil && from.Name.Schema == "" && len(w.Columns) == 0 && !w.Recursive {
			s, _ = w.Body.(*tree.Select)
		}
	case *tree.Derived:
		if len(from.Columns) == 0 && !from.Lateral {
			s = from.Query
		}
	}
	if s == nil {
		return nil
	}
	p := j.picks(s, t)
	if p == nil {
		return nil
	}
	if !p.outputs(s, t) {
		return nil
	}
	if !t.keyed(p.fixed(sourceName(from), where)) || j.usesElsewhere(t, from) {
		return nil
	}
	return &p.picked
}

// fixed returns the target's columns that a condition equates with the same column of the query, whose name is given.
func (p *pick) fixed(source string, where tree.Expr) (columns []string) {
	for _, c := range tree.Conjuncts(where) {
		for _, pair := range pairs(c) {
			for i := range pair {
				theirs, ok := pair[i].(*tree.Column)
				own := p.t.column(pair[1-i])
				if ok && strings.EqualFold(theirs.Table, source) && own != "" && p.t.column(p.columns[strings.ToLower(theirs.Name)]) == own {
					columns = append(columns, own)
				}
			}
		}
	}
	return columns
}

// outputs notes the columns of the query, each under a name of its own.
func (p *pick) outputs(s *tree.Select, t *target) bool {
	p.columns = map[string]tree.Expr{}
	for _, item := range s.Items {
		if star, ok := item.Expr.(*tree.Star); ok && (star.Table == "" && len(p.rest) == 0 || strings.EqualFold(star.Table, p.alias)) {
			for _, def := range t.table.Columns {
				p.columns[strings.ToLower(def.Name)] = &tree.Column{Table: t.called, Name: def.Name}
			}
			continue
		}
		name := item.As
		if c, ok := item.Expr.(*tree.Column); ok && name == "" {
			name = c.Name
		}
		if name == "" || p.columns[strings.ToLower(name)] != nil {
			return false
		}
		p.columns[strings.ToLower(name)] = p.put(item.Expr)
	}
	return true
}

// usesElsewhere reports whether a join of the statement names the source, whose columns would be gone.
func (*judge) usesElsewhere(t *target, from tree.Source) (found bool) {
	for _, other := range t.others {
		if other == from {
			continue
		}
		(&tree.Select{From: []tree.Source{other}}).Exprs(func(e tree.Expr) bool {
			c, ok := e.(*tree.Column)
			found = found || ok && (c.Table == "" || strings.EqualFold(c.Table, sourceName(from)))
			return !found
		})
	}
	return found
}

// pairs returns the operands of a = b, and those of (a, b) = (c, d) two by two.
func pairs(c tree.Expr) (all [][2]tree.Expr) {
	op, ok := c.(*tree.Op)
	if !ok || op.Name != "=" || len(op.Args) != 2 {
		return nil
	}
	left, isList := op.Args[0].(*tree.List)
	right, both := op.Args[1].(*tree.List)
	if !isList || !both || len(left.Items) != len(right.Items) {
		return [][2]tree.Expr{{op.Args[0], op.Args[1]}}
	}
	for i := range left.Items {
		all = append(all, [2]tree.Expr{left.Items[i], right.Items[i]})
	}
	return all
}

// through follows SELECT a, b FROM p to the query p, whose results those are.
func (j *judge) through(s *tree.Select) *tree.Select {
	if s == nil || len(s.From) != 1 {
		return s
	}
	ref, ok := s.From[0].(*tree.TableRef)
	if !ok || ref.Name.Schema != "" {
		return s
	}
	w := j.with[strings.ToLower(ref.Name.Name)]
	if w == nil {
		return s
	}
	inner, reads := w.Body.(*tree.Select)
	if !reads || len(w.Columns) > 0 || w.Recursive || s.Where != nil || !j.plainRows(s) {
		return nil
	}
	out := *inner
	out.Items = nil
	for _, item := range s.Items {
		c, ok := item.Expr.(*tree.Column)
		if !ok {
			return nil
		}
		if star, all := leading(inner.Items); all && (star.Table == "" && len(inner.From) == 1 || star.Table != "") {
			out.Items = append(out.Items, tree.Item{Expr: &tree.Column{Table: star.Table, Name: c.Name}})
			continue
		}
		i := slices.IndexFunc(inner.Items, func(one tree.Item) bool {
			of, plain := one.Expr.(*tree.Column)
			return strings.EqualFold(one.As, c.Name) || one.As == "" && plain && strings.EqualFold(of.Name, c.Name)
		})
		if i < 0 {
			return nil
		}
		out.Items = append(out.Items, inner.Items[i])
	}
	return &out
}

// leading returns the star that is the only result of a query.
func leading(items []tree.Item) (star *tree.Star, ok bool) {
	if len(items) != 1 {
		return nil, false
	}
	star, ok = items[0].Expr.(*tree.Star)
	return star, ok
}

// plainRows reports whether a query has one row for each that its sources and its condition have.
func (j *judge) plainRows(s *tree.Select) bool {
	return len(s.With) == 0 && s.SetOp == "" && s.Values == nil && len(s.GroupBy) == 0 && s.Having == nil && !s.Distinct && len(s.DistinctOn) == 0 &&
		s.Limit == nil && s.Offset == nil && !s.Into && !j.aggregated(s) && !slices.ContainsFunc(s.Items, func(item tree.Item) bool {
		over := false
		tree.Exprs(item.Expr, func(e tree.Expr) bool {
			c, ok := e.(*tree.Call)
			over = over || ok && (c.Over || !j.effectsOf(c).pure()) || setReturning(e)
			return !over
		})
		return over
	})
}

// setReturning reports whether an expression has several rows.
func setReturning(e tree.Expr) bool {
	c, ok := e.(*tree.Call)
	return ok && rowSets[c.Name]
}

// rowSets are the functions of PostgreSQL that return several rows.
//
//nolint:gochecknoglobals // a constant.
var rowSets = set(`unnest generate_series generate_subscripts json_array_elements json_array_elements_text json_each json_each_text json_object_keys
	jsonb_array_elements jsonb_array_elements_text jsonb_each jsonb_each_text jsonb_object_keys jsonb_path_query pg_get_catalog_foreign_keys
	pg_get_keywords pg_options_to_table regexp_matches regexp_split_to_table string_to_table`)

// pick is a query that is being read.
type pick struct {
	picked

	t     *target
	alias string // of the target's rows in the query
	only  bool   // it reads nothing else
}

// put writes an expression of the query in the words of the statement.
func (p *pick) put(e tree.Expr) tree.Expr {
	return substituted(e, func(c *tree.Column) tree.Expr {
		if strings.EqualFold(c.Table, p.alias) || c.Table == "" && (p.only || schema.Column(p.t.table, c.Name) != nil) {
			return &tree.Column{Table: p.t.called, Name: c.Name}
		}
		return c
	}, func(q *tree.Query) tree.Expr {
		if q.Left == nil || p.named(q.Select) {
			return &tree.Raw{Why: "a query within the query"}
		}
		apart := *q
		apart.Left = p.put(q.Left)
		return &apart
	})
}

// named reports whether a query within the query is about the target's row of that.
func (p *pick) named(s *tree.Select) (found bool) {
	s.Exprs(func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Column:
			found = found || e.Table == "" && !p.only || strings.EqualFold(e.Table, p.alias)
		case *tree.Star:
			found = found || strings.EqualFold(e.Table, p.alias)
		case *tree.Raw:
			found = true
		}
		return !found
	})
	return found
}

// sourcesOf notes the tables of inner joins, the target's own apart, and returns the conditions of the joins.
func (j *judge) sourcesOf(p *pick, list []tree.Source) (conditions []tree.Expr, ok bool) {
	for _, from := range list {
		switch from := from.(type) {
		case *tree.Join:
			inner, ok := j.sourcesOf(p, []tree.Source{from.Left, from.Right})
			if from.Kind != "inner" && from.Kind != "cross" || from.Natural || len(from.Using) > 0 || hasQuery(from.On) || !j.timeOnly(from.On) || !ok {
				return nil, false
			}
			conditions = append(append(conditions, inner...), from.On)
		case *tree.TableRef:
			own := j.with[strings.ToLower(from.Name.Name)] == nil && j.schema.Table(from.Name) == p.t.table
			switch {
			case own && p.alias != "":
				return nil, false
			case own:
				p.alias = sourceName(from)
			default:
				p.rest = append(p.rest, from)
			}
		default:
			return nil, false
		}
	}
	return conditions, true
}

// picks reads a query of the target's rows.
func (j *judge) picks(s *tree.Select, t *target) *pick {
	if s == nil || !j.plainRows(s) || !j.timeOnly(s.Where) || t.table.Unknown != "" {
		return nil
	}
	j.skips = j.skips || s.Skips
	p := &pick{t: t}
	joined, ok := j.sourcesOf(p, s.From)
	if !ok || p.alias == "" {
		return nil
	}
	conditions := append([]tree.Expr{s.Where}, joined...)
	for _, from := range p.rest { // one name must not mean two things
		name := sourceName(from)
		if t.aliases[strings.ToLower(name)] || slices.ContainsFunc(t.others, func(one tree.Source) bool { return hasName(one, name) }) {
			return nil
		}
	}
	p.only = len(p.rest) == 0
	if slices.ContainsFunc(append(conditions, results(s.Items)...), p.correlated) { // about the row around, not about its own
		return nil
	}
	p.where = p.put(tree.And(conditions...))
	return p
}

func results(items []tree.Item) (all []tree.Expr) {
	for _, item := range items {
		all = append(all, item.Expr)
	}
	return all
}

// correlated reports whether an expression of the query names the target's row of the statement around.
func (p *pick) correlated(e tree.Expr) (found bool) {
	around := func(table string) bool {
		return p.t.aliases[strings.ToLower(table)] && !strings.EqualFold(table, p.alias)
	}
	tree.Exprs(e, func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Column:
			found = found || around(e.Table)
		case *tree.Star:
			found = found || around(e.Table)
		}
		return !found
	})
	return found
}

func hasName(from tree.Source, name string) (found bool) {
	tree.Sources([]tree.Source{from}, func(one tree.Source) { found = found || strings.EqualFold(sourceName(one), name) })
	return found
}

// keyed reports whether the columns hold a unique key that the statement leaves as it is.
func (t *target) keyed(columns []string) bool {
	return t.unique(columns) && !slices.ContainsFunc(columns, func(name string) bool { return t.written[name] })
}

// replaced returns an expression with the results of a query in the place of its columns.
func (p *picked) replaced(e tree.Expr, source string, t *target) tree.Expr {
	gone := func(c *tree.Column) bool {
		return strings.EqualFold(c.Table, source) || c.Table == "" && schema.Column(t.table, c.Name) == nil
	}
	return substituted(e, func(c *tree.Column) tree.Expr {
		if !gone(c) {
			return c
		}
		if v := p.columns[strings.ToLower(c.Name)]; v != nil {
			return v
		}
		return &tree.Raw{Why: "column " + c.Name + " of " + source}
	}, func(q *tree.Query) tree.Expr {
		lost := false
		tree.Exprs(q, func(e tree.Expr) bool {
			c, ok := e.(*tree.Column)
			lost = lost || ok && (strings.EqualFold(c.Table, source) || c.Table == "" && p.columns[strings.ToLower(c.Name)] != nil)
			return !lost
		})
		if lost {
			return &tree.Raw{Why: "a query about " + source}
		}
		return q
	})
}

// substituted returns an expression with its columns and queries replaced.
func substituted(e tree.Expr, column func(*tree.Column) tree.Expr, query func(*tree.Query) tree.Expr) tree.Expr {
	all := func(list []tree.Expr) []tree.Expr {
		out := make([]tree.Expr, len(list))
		for i, one := range list {
			out[i] = substituted(one, column, query)
		}
		return out
	}
	switch e := e.(type) {
	case nil:
		return nil
	case *tree.Column:
		return column(e)
	case *tree.Op:
		return &tree.Op{Name: e.Name, Args: all(e.Args), Pipes: e.Pipes}
	case *tree.Cast:
		return &tree.Cast{Value: substituted(e.Value, column, query), Type: e.Type}
	case *tree.List:
		return &tree.List{Items: all(e.Items)}
	case *tree.Case:
		c := &tree.Case{Operand: substituted(e.Operand, column, query), Else: substituted(e.Else, column, query)}
		for _, w := range e.Whens {
			c.Whens = append(c.Whens, tree.Branching{If: substituted(w.If, column, query), Then: substituted(w.Then, column, query)})
		}
		return c
	case *tree.Call:
		if e.Filter == nil && len(e.OrderBy) == 0 && !e.Over {
			c := *e
			c.Args = all(e.Args)
			return &c
		}
	case *tree.Query:
		return query(e)
	case *tree.Literal, *tree.Param, *tree.Default:
		return e
	}
	return &tree.Raw{Why: "a part of a query that is joined by its key"}
}

// timeOnly reports whether an expression depends on nothing but its columns and the time.
func (j *judge) timeOnly(e tree.Expr) bool {
	f := j.effectsOf(e)
	return !f.random && !f.acts && !f.stranger
}
