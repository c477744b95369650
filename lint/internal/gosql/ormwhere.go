package gosql

import (
	"go/ast"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/lint/internal/gormmodel"
)

// condition is one part of a WHERE.
type condition struct {
	sql value
	or  bool // it is joined by OR
}

// where reads one call of Where, Not or Or, or the conditions behind the value of another method.
func (w *ormWriter) where(s chainCall, plan *ormPlan) {
	if len(s.args) == 0 {
		return
	}
	if s.spread {
		plan.where = append(plan.where, condition{sql: unknown(describe(s.args[len(s.args)-1]) + "...")})
		return
	}
	sql, some := w.condition(s.args[0], s.args[1:], plan)
	if !some {
		return
	}
	switch {
	case s.unsure && s.name != "Or":
		plan.perhaps = "the condition that is added sometimes"
		return
	case s.name == "Not":
		sql = concat(concat(literal("NOT ("), sql), literal(")"))
	}
	plan.where = append(plan.where, condition{sql: sql, or: s.name == "Or"})
}

// condition writes a condition as GORM's BuildCondition does. It reports whether there is one.
func (w *ormWriter) condition(query ast.Expr, args []ast.Expr, plan *ormPlan) (value, bool) {
	t := w.p.pass.TypesInfo.Types[query]
	switch {
	case isText(t.Type):
		return w.textual(query, args)
	case isWhole(t.Type):
		return w.keys(plan, w.operand(query)), true
	}
	if lit, ok := ast.Unparen(query).(*ast.CompositeLit); ok {
		if name := w.p.clause(lit); name != "" {
			return w.comparison(name, lit), true
		}
	}
	if call, ok := ast.Unparen(query).(*ast.CallExpr); ok && ormName(t.Type) == "DB" {
		return w.group(call)
	}
	switch u := types.Unalias(t.Type).Underlying().(type) {
	case *types.Map:
		return w.equal(w.content(query), nil, plan)
	case *types.Struct, *types.Pointer:
		if m := w.p.modelOf(t.Type); m != nil && !opaqueType(t.Type) && !writesItself(t.Type) {
			return w.equal(w.content(query), w.chosen(args), plan)
		}
	case *types.Slice:
		if b, ok := u.Elem().Underlying().(*types.Basic); ok && b.Kind() != types.Byte {
			return w.keys(plan, w.operands(query)), true
		}
	}
	return unknown(describe(query)), true
}

// chosen returns the names of the fields that a condition on a struct is about.
func (w *ormWriter) chosen(args []ast.Expr) []string {
	var names []string
	for _, x := range args {
		name, ok := w.p.eval(x, w.env).single()
		if !ok {
			name = "\x00"
		}
		names = append(names, name)
	}
	return names
}

// textual writes a condition that is a text.
func (w *ormWriter) textual(query ast.Expr, args []ast.Expr) (value, bool) {
	sql := w.p.eval(query, w.env)
	s, known := sql.single()
	_, err := strconv.Atoi(s)
	switch {
	case !known:
		return w.filled(sql, args, false), true
	case err == nil:
		return w.keys(nil, literal(s)), true
	case s == "" && len(args) == 0:
		return value{}, false
	case len(args) != 1 || strings.ContainsAny(s, "?@") || strings.Contains(strings.TrimSpace(s), " "):
		return w.filled(sql, args, false), true
	}
	return w.compare(s, args[0]), true
}

// compare writes that a column equals a value, or one of several.
func (w *ormWriter) compare(column string, x ast.Expr) value {
	v := w.operands(x)
	s, _ := v.single()
	switch {
	case s == "NULL":
		return concat(w.column(column), literal(" IS NULL"))
	case isListed(w.p.pass.TypesInfo.TypeOf(x)):
		return concat(concat(w.column(column), literal(" IN ")), v)
	}
	return concat(concat(w.column(column), literal(" = ")), v)
}

// keys writes that the primary key is one of some values.
func (w *ormWriter) keys(plan *ormPlan, v value) value {
	name := "id"
	if plan != nil && plan.model != nil {
		if all := plan.model.Primary(); len(all) > 0 {
			name = all[0].Column
		}
	}
	equals := " = "
	if s, ok := v.single(); ok && strings.HasPrefix(s, "(") {
		equals = " IN "
	}
	return concat(concat(w.column(name), literal(equals)), v)
}

// equal writes that the fields of a struct or the keys of a map have their values. Those that are not known may be there as well.
func (w *ormWriter) equal(in *content, only []string, plan *ormPlan) (value, bool) {
	m := w.p.modelOf(in.of)
	if in.fields == nil && m == nil || !in.names(m, only) {
		return unknown(in.why), true
	}
	var parts []value
	for _, name := range slices.Sorted(maps.Keys(in.fields)) {
		column, x := name, in.fields[name]
		if m != nil {
			if column = w.compared(in, m, name, only, plan); column == "" {
				continue
			}
		}
		if x == nil || len(only) == 0 && in.unsure[name] {
			return unknown("the condition on " + name), true
		}
		parts = append(parts, w.compare(column, x))
	}
	if !in.whole && len(only) == 0 {
		if m == nil {
			return unknown(in.why), true
		}
		plan.perhaps = "which fields of " + m.Name + " are set"
	}
	return group(parts, " AND "), len(parts) > 0
}

// names reports whether the content has all these fields.
func (in *content) names(m *gormmodel.Model, only []string) bool {
	return !slices.ContainsFunc(only, func(name string) bool {
		f := m.Field(name)
		return f == nil || in.fields[f.Name] == nil
	})
}

// compared returns the column of a field of a struct that is compared, empty for none: one that is zero, or may be.
func (w *ormWriter) compared(in *content, m *gormmodel.Model, name string, only []string, plan *ormPlan) string {
	f := m.Field(name)
	if f == nil || f.Column == "" {
		plan.lacks("the condition on " + name)
		return ""
	}
	if len(only) > 0 {
		if slices.Contains(only, f.Name) || slices.Contains(only, f.Column) {
			return f.Column
		}
		return ""
	}
	certain, possible := w.has(in, f)
	if certain && in.fields[name] != nil {
		return f.Column
	}
	if possible {
		plan.perhaps = "whether " + f.Name + " is set"
	}
	return ""
}

// group joins conditions.
func group(parts []value, by string) value {
	out := value{}
	for i, part := range parts {
		if i == 0 {
			out = part
			continue
		}
		out = concat(concat(out, literal(by)), part)
	}
	return out
}

// group writes the conditions of another *gorm.DB: db.Where(db.Where(…).Or(…)).
func (w *ormWriter) group(call *ast.CallExpr) (value, bool) {
	inner := &ormCall{p: w.p, call: w.call, scope: w.scope, env: w.env}
	inner.chain(call, nil, 0)
	if inner.unknown != "" {
		return unknown(inner.unknown), true
	}
	plan := &ormPlan{}
	for _, s := range inner.steps {
		switch {
		case s.name == "Where" || s.name == "Not" || s.name == "Or":
			w.where(s, plan)
		case !neutral(s.name):
			return unknown(describe(call)), true
		}
	}
	if plan.perhaps != "" {
		return unknown(plan.perhaps), true
	}
	return join(plan.where), len(plan.where) > 0
}

// comparison writes clause.Eq and its like.
func (w *ormWriter) comparison(name string, lit *ast.CompositeLit) value {
	operators := map[string]string{"Eq": " = ", "Neq": " <> ", "Gt": " > ", "Gte": " >= ", "Lt": " < ", "Lte": " <= ", "Like": " LIKE "}
	operator, ok := operators[name]
	if name == "Expr" {
		if v, ok := w.expression(lit); ok {
			return v
		}
	}
	fields := w.literal(lit).fields
	if !ok || fields["Column"] == nil || fields["Value"] == nil {
		return unknown(describe(lit))
	}
	var column value
	if inner, ok := ast.Unparen(fields["Column"]).(*ast.CompositeLit); ok {
		column = w.columnOf(inner)
	} else if s, ok := w.p.eval(fields["Column"], w.env).single(); ok {
		column = w.column(s)
	} else {
		return unknown(describe(lit))
	}
	v := w.operand(fields["Value"])
	if s, _ := v.single(); s == "NULL" {
		operator = map[string]string{"Eq": " IS ", "Neq": " IS NOT "}[name]
	}
	return concat(concat(column, literal(operator)), v)
}

var compound = regexp.MustCompile(`(?i) (?:and|or) `)

// join writes conditions one after the other, as GORM does: the first that is not joined by OR comes first.
func join(all []condition) value {
	all = slices.Clone(all)
	if at := slices.IndexFunc(all, func(c condition) bool { return !c.or }); at > 0 {
		all[0], all[at] = all[at], all[0]
	}
	out := value{}
	for i, c := range all {
		if len(all) > 1 {
			c.sql = c.sql.parenthesised()
		}
		switch {
		case i == 0:
			out = c.sql
			continue
		case c.or:
			out = concat(out, literal(" OR "))
		default:
			out = concat(out, literal(" AND "))
		}
		out = concat(out, c.sql)
	}
	return out
}

// parenthesised puts texts with several conditions into parentheses.
func (v value) parenthesised() value {
	out := value{self: v.self}
	for _, t := range v.texts {
		s, known := t.known()
		if !known || compound.MatchString(s) {
			t = slices.Concat(text{{text: "("}}, t, text{{text: ")"}})
		}
		out.texts = append(out.texts, t)
	}
	return out
}
