package judge

import (
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// holds returns why a condition that a column lacks something is false after the change, which adds it:
//
//	SET tags = array_append(tags, $1) WHERE NOT $1 = ANY (tags)
//	SET name = name || ' (sold)' WHERE name NOT LIKE '% (sold)'
func (j *judge) holds(op *tree.Op, t *target) (why string, assumes []string) {
	name, args := op.Name, op.Args
	if inner, ok := args[0].(*tree.Op); ok && name == "not" && len(args) == 1 {
		name, args = map[string]string{"= any": "<> all", "@>": "not @>", "like": "not like", "ilike": "not ilike"}[inner.Name], inner.Args
	}
	if len(args) != 2 {
		return "", nil
	}
	switch name {
	case "<> all":
		if column := t.column(args[1]); j.appends(column, args[0], t) {
			return "it adds to " + column + " what that lacked", nil
		}
	case "not @>":
		column := t.column(args[0])
		if list, ok := uncast(args[1]).(*tree.List); ok && len(list.Items) == 1 && j.appends(column, list.Items[0], t) {
			if p, ok := uncast(list.Items[0]).(*tree.Param); ok {
				assumes = []string{"parameter " + p.Name + " is not NULL"}
			}
			return "it adds to " + column + " what that lacked", assumes
		}
	case "not like", "not ilike":
		column := t.column(args[0])
		if pattern := stringOf(args, 1); pattern != nil && j.joins(column, pattern.Text, t) {
			if j.dialect == dialect.SQLite { // LIKE ends at it
				assumes = []string{"column " + column + " holds no character NUL"}
			}
			return "it adds to " + column + " the text that it leaves out", assumes
		}
	}
	return "", nil
}

// appends reports whether the statement adds an element to the array that a column holds, which keeps it as it is.
func (j *judge) appends(column string, element tree.Expr, t *target) bool {
	def := schema.Column(t.table, column)
	if def == nil || t.new(column) == nil || j.dialect != dialect.PostgreSQL {
		return false
	}
	of, ok := strings.CutSuffix(def.Type, "[]")
	if kind := typeOf(of); !ok || kind != integer && kind != boolean && of != "text" && of != "uuid" {
		return false
	}
	added := func(e tree.Expr) bool { return sameElement(of, e, element) }
	one := func(e tree.Expr) bool {
		list, ok := uncast(e).(*tree.List)
		return ok && len(list.Items) == 1 && added(list.Items[0])
	}
	switch v := t.new(column).(type) {
	case *tree.Call:
		return len(v.Args) == 2 && (v.Name == "array_append" && t.column(v.Args[0]) == column && added(v.Args[1]) ||
			v.Name == "array_prepend" && t.column(v.Args[1]) == column && added(v.Args[0]))
	case *tree.Op:
		return v.Name == "||" && len(v.Args) == 2 && (t.column(v.Args[0]) == column && one(v.Args[1]) || t.column(v.Args[1]) == column && one(v.Args[0]))
	}
	return false
}

// sameElement reports whether two expressions are one parameter or literal that an array of a type holds as it is written.
func sameElement(of string, a, b tree.Expr) bool {
	exact := func(e tree.Expr) tree.Expr {
		if c, ok := e.(*tree.Cast); ok && c.Type == of {
			return c.Value
		}
		return e
	}
	a, b = exact(a), exact(b)
	l := literal(a)
	if l != nil && (l.Kind == tree.Null || l.Kind == tree.Number && !whole(l) || (l.Kind == tree.Number) != (typeOf(of) == integer)) {
		return false
	}
	_, param := a.(*tree.Param)
	return (param || l != nil) && tree.Text(a) == tree.Text(b)
}

// joins reports whether the statement adds a text to a column so that it matches a pattern.
func (j *judge) joins(column, pattern string, t *target) bool {
	def := schema.Column(t.table, column)
	v, ok := t.new(column).(*tree.Op)
	if def == nil || !ok || v.Name != "||" || v.Pipes || len(v.Args) != 2 || j.dialect == dialect.MySQL {
		return false
	}
	if j.dialect == dialect.PostgreSQL && def.Type != "text" || typeOf(def.Type) != text {
		return false
	}
	core, before := strings.CutPrefix(pattern, "%")
	core, behind := strings.CutSuffix(core, "%")
	if core == "" || strings.ContainsAny(core, `%_\`) {
		return false
	}
	first, second := stringOf(v.Args, 0), stringOf(v.Args, 1)
	switch {
	case t.column(v.Args[0]) == column && second != nil:
		return before && (strings.HasSuffix(second.Text, core) || behind && strings.Contains(second.Text, core))
	case t.column(v.Args[1]) == column && first != nil:
		return behind && (strings.HasPrefix(first.Text, core) || before && strings.Contains(first.Text, core))
	}
	return false
}
