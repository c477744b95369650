package expression

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

// Same reports whether two expressions give the same for every row of a database
// of the dialect: they are written alike, or differ in the order of lower and
// trim, in functions that do nothing there, or in the case of names where the
// dialect ignores it.
func Same(d dialect.Dialect, a, b Expr, types ColumnTypes) bool {
	return a.simplify(d, types).Equal(b.simplify(d, types))
}

// simplify removes functions without effect, and puts the rest into one order.
func (e Expr) simplify(d dialect.Dialect, types ColumnTypes) Expr {
	if e.kind == column {
		return Column(Fold(d, e.name))
	}
	if e.kind != call {
		return e
	}
	if isLetters(e.name) {
		return e.simplifyLetters(d, types)
	}
	args := make([]Expr, len(e.args))
	for i, arg := range e.args {
		args[i] = arg.simplify(d, types)
	}
	x := args[0]
	inner := x.kind == call
	name, bare := e.args[0].Column()
	switch {
	case e.name == "utc" && d == dialect.SQLite:
		return x
	case e.name == "date" && bare && strings.EqualFold(types.Of(name).Type, "date"), inner && x.name == e.name:
		return x
	case inner && x.name == "date" && IsPart(e.name):
		return newCall(e.name, x.args...)
	}
	return newCall(e.name, args...)
}

// Caseless returns the expression without lower and upper, which have no effect
// where case is ignored.
func (e Expr) Caseless() Expr {
	if e.kind == call && (e.name == "lower" || e.name == "upper") {
		return e.args[0].Caseless()
	}
	args := make([]Expr, len(e.args))
	for i, arg := range e.args {
		args[i] = arg.Caseless()
	}
	e.args = args
	return e
}

func isLetters(name string) bool { return name == "lower" || name == "upper" || name == "trim" }

// simplifyLetters puts functions of text in a row into one order: spaces are the
// same in upper and lower case, so trim can come first, and once is enough.
func (e Expr) simplifyLetters(d dialect.Dialect, types ColumnTypes) Expr {
	var outer []string
	trimmed := false
	for e.kind == call && isLetters(e.name) {
		if e.name == "trim" {
			trimmed = true
		} else if len(outer) == 0 || outer[len(outer)-1] != e.name {
			outer = append(outer, e.name)
		}
		e = e.args[0]
	}
	x := e.simplify(d, types)
	if trimmed {
		x = newCall("trim", x)
	}
	for _, name := range slices.Backward(outer) {
		x = newCall(name, x)
	}
	return x
}

// Fold returns the name in one case if the dialect ignores case.
func Fold(d dialect.Dialect, name string) string {
	if d == dialect.PostgreSQL {
		return name
	}
	return strings.ToLower(name)
}
