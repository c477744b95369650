package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// guard looks for a condition that is certainly not true of a row once the statement has changed
// it, so that a second run does not touch the row. It returns what that condition is.
func (j *judge) guard(conditions []tree.Expr, t *target) (why string, assumes []string) {
	for _, c := range conditions {
		if why, assumes = j.fails(c, t); why != "" {
			return why, assumes
		}
	}
	return "", nil
}

// fails returns why a condition is false after the change, "" if that is not certain.
//
//nolint:gocognit // a line for each form of a condition.
func (j *judge) fails(c tree.Expr, t *target) (why string, assumes []string) {
	if column := t.column(c); column != "" {
		if v := t.new(column); v != nil && j.holdsTruth(column, t) && (isBool(v, "false") || isNull(v)) {
			return "it sets " + column + " to false", nil
		}
		return "", nil
	}
	op, ok := c.(*tree.Op)
	if !ok || len(op.Args) == 0 {
		return "", nil
	}
	if why, assumes = j.holds(op, t); why != "" {
		return why, assumes
	}
	left, name := op.Args[0], op.Name
	switch {
	case len(op.Args) == 2 && t.new(t.column(left)) == nil && t.new(t.column(op.Args[1])) != nil:
		left, name = op.Args[1], mirrored[name]
		op = &tree.Op{Name: name, Args: []tree.Expr{left, op.Args[0]}}
	case name == "not" && opposite(left) != nil:
		return j.fails(opposite(left), t)
	case name == "not":
		if column := t.column(left); column != "" && t.new(column) != nil && j.holdsTruth(column, t) && (isBool(t.new(column), "true") || isNull(t.new(column))) {
			return "it sets " + column + " to true", nil
		}
		return "", nil
	}
	column := t.column(left)
	v := t.new(column)
	if v == nil {
		return j.failsByGenerated(op, t)
	}
	if len(op.Args) == 1 {
		return j.failsAlone(name, column, v, t)
	}
	if def := schema.Column(t.table, column); failsOnNull(name) && isNull(v) && (j.dialect != dialect.MySQL || def != nil && !def.NotNull) {
		return "it sets " + column + " to NULL, for which " + name + " is never true", nil
	}
	if op.Name == "=" {
		if moved, under := j.steps(v, column, op.Args[1], t); moved {
			return "it sets " + column + " to another value than the one that it looks for", under
		}
	}
	why = j.failsAgainst(op, column, v, t)
	if p, ok := uncast(v).(*tree.Param); ok && why != "" && j.dialect != dialect.PostgreSQL {
		assumes = []string{"column " + column + " keeps parameter " + p.Name + " as it is"}
	}
	return why, assumes
}

//nolint:gochecknoglobals // a constant.
var mirrored = map[string]string{"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<=", "is distinct from": "is distinct from"}

// opposite returns the condition that holds when a comparison is false, and is unknown when that is.
func opposite(e tree.Expr) tree.Expr {
	op, ok := e.(*tree.Op)
	if !ok || len(op.Args) != 2 {
		return nil
	}
	names := map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "not in", "not in": "in", "is distinct from": "is not distinct from", "is not distinct from": "is distinct from"}
	if name := names[op.Name]; name != "" {
		return &tree.Op{Name: name, Args: op.Args}
	}
	return nil
}

// holdsTruth reports whether a column has the truth value that it is set to: in MySQL a date does not.
func (j *judge) holdsTruth(column string, t *target) bool {
	def := schema.Column(t.table, column)
	return j.dialect != dialect.MySQL || def != nil && typeOf(def.Type) != otherType
}

func failsOnNull(op string) bool {
	return slices.Contains([]string{"=", "<>", "<", "<=", ">", ">=", "in", "not in", "like", "not like", "ilike", "not ilike", "between", "not between"}, op)
}

func isBool(e tree.Expr, text string) bool {
	l := literal(e)
	return l != nil && (l.Kind == tree.Bool && l.Text == text || l.Kind == tree.Number && l.Text == map[string]string{"true": "1", "false": "0"}[text])
}

// new returns the value that the statement gives a column, nil for none that can be looked at.
func (t *target) new(column string) tree.Expr {
	if a, ok := t.set[column]; ok && column != "" && !a.part && !t.moved[column] {
		return a.value
	}
	return nil
}

// failsAlone judges conditions without a second operand.
//
//nolint:gocognit // a line for each form of a condition.
func (j *judge) failsAlone(op, column string, v tree.Expr, t *target) (why string, assumes []string) {
	l := literal(v)
	switch op {
	case "is null":
		def := schema.Column(t.table, column)
		if def == nil || j.dialect == dialect.MySQL && def.NotNull && (strings.HasPrefix(def.Type, "date") || strings.HasPrefix(def.Type, "timestamp")) {
			return "", nil // the date 0000-00-00 counts as NULL
		}
		if neverNull(v) || l != nil && neverNull(l) {
			return "it sets " + column + ", which was NULL", nil
		}
		if def.NotNull && typeOf(def.Type) != otherType { // a row of NULLs counts as NULL
			return column + " is never NULL", nil
		}
		if p, ok := uncast(v).(*tree.Param); ok {
			return "it sets " + column + ", which was NULL", []string{"parameter " + p.Name + " is not NULL"}
		}
	case "is not null":
		if isNull(v) {
			return "it sets " + column + " to NULL", nil
		}
	case "is false", "is not true":
		if isBool(v, "true") {
			return "it sets " + column + " to true", nil
		}
	case "is true", "is not false":
		if isBool(v, "false") || op == "is true" && isNull(v) {
			return "it sets " + column + " to false", nil
		}
	}
	return "", nil
}

// neverNull reports whether a value is certainly not NULL.
func neverNull(e tree.Expr) bool {
	switch e := e.(type) {
	case *tree.Literal:
		return e.Kind != tree.Null && (e.Text != "" || e.Written == "")
	case *tree.Cast: // in MySQL some conversions to other types give NULL
		return keepsNotNull(e.Type) && neverNull(e.Value)
	case *tree.Call:
		if clocks[e.Name] && !timed[e.Name] || e.Name == "gen_random_uuid" || e.Name == "nextval" || e.Name == "uuidv7" || e.Name == "uuid" {
			return true
		}
		return e.Name == "coalesce" && slices.ContainsFunc(e.Args, neverNull)
	}
	return false
}

// keepsNotNull reports whether a conversion to the type gives NULL for NULL alone.
func keepsNotNull(name string) bool {
	kind := typeOf(name)
	return kind == integer || kind == text || name == "uuid" || name == "jsonb" || strings.HasPrefix(name, "char")
}

// uncast leaves out conversions.
func uncast(e tree.Expr) tree.Expr {
	for {
		c, ok := e.(*tree.Cast)
		if !ok {
			return e
		}
		e = c.Value
	}
}

// failsAgainst judges a comparison of a column that gets the value v.
//
//nolint:gocognit // a line for each comparison.
func (j *judge) failsAgainst(op *tree.Op, column string, v tree.Expr, t *target) string {
	def, right := schema.Column(t.table, column), op.Args[1]
	set, bound := literal(v), literal(right)
	kept := set != nil && keeps(j.dialect, def, set)
	switch op.Name {
	case "=":
		if kept && differ(j.dialect, def, set, bound) {
			return "it sets " + column + " to another value than the one that it looks for"
		}
	case "in":
		list, ok := right.(*tree.List)
		if ok && kept && len(list.Items) > 0 && !slices.ContainsFunc(list.Items, func(e tree.Expr) bool { return !differ(j.dialect, def, set, literal(e)) }) {
			return "it sets " + column + " to a value that it does not look for"
		}
	case "not in":
		list, ok := right.(*tree.List)
		if ok && kept && slices.ContainsFunc(list.Items, func(e tree.Expr) bool { return same(set, literal(e)) }) {
			return "it sets " + column + " to a value that it leaves out"
		}
	case "<>", "is distinct from":
		if kept && same(set, bound) || j.copies(v, right, column, def) {
			return "it sets " + column + " to the very value that it leaves out"
		}
	case "<", ">":
		if kept && same(set, bound) || j.copies(v, right, column, def) || kept && j.outside(op.Name, def, set, bound) {
			return "it sets " + column + " to a value beyond the bound"
		}
	case "<=", ">=":
		if kept && j.outside(op.Name, def, set, bound) {
			return "it sets " + column + " to a value beyond the bound"
		}
	}
	return ""
}

// copies reports whether the value is the parameter, or the row that was to be inserted, that the
// condition compares with, in a column that keeps it as it is.
func (*judge) copies(v, right tree.Expr, column string, def *tree.ColumnDef) bool {
	if def == nil || tree.Text(v) != tree.Text(right) {
		return false
	}
	kind := typeOf(def.Type)
	switch e := v.(type) {
	case *tree.Param:
		return kind == integer || kind == boolean || def.Type == "text" || def.Type == "uuid"
	case *tree.Column:
		return e.Table == tree.Excluded && strings.EqualFold(e.Name, column) // and so of its type
	}
	return false
}

// outside reports whether a number does not satisfy the comparison with a bound.
func (*judge) outside(op string, def *tree.ColumnDef, set, bound *tree.Literal) bool {
	x, y := number(set), number(bound)
	if x == nil || y == nil || def == nil || typeOf(def.Type) != integer && typeOf(def.Type) != float {
		return false
	}
	c := x.Cmp(y)
	switch op {
	case "<":
		return c >= 0
	case "<=":
		return c > 0
	case ">":
		return c <= 0
	case ">=":
		return c < 0
	}
	return false
}

// whole reports whether a literal is an integer, which is compared as one.
func whole(l *tree.Literal) bool {
	n := number(&tree.Literal{Kind: tree.Number, Text: l.Text})
	return (l.Kind == tree.Number || l.Kind == tree.String) && n != nil && n.IsInt() && !strings.ContainsAny(l.Text, ".eE")
}

func isParam(e tree.Expr) bool {
	_, ok := uncast(e).(*tree.Param)
	return ok
}
