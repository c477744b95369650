package serversql

import (
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
)

// maxConditions bounds the conditions of a catalogue that are read.
const maxConditions = 100

// Predicate reads a predicate as the dialect's server writes it back,
// or as a person typed it into SQLite; "" is every row. ok is false for a
// predicate that is not a conjunction of conditions on columns.
func Predicate(d dialect.Dialect, s string) (p expression.Predicate, ok bool) {
	if strings.TrimSpace(s) == "" {
		return nil, true
	}
	n, ok := parse(d, s)
	if !ok {
		return nil, false
	}
	p, ok = n.conditions()
	if !ok || len(p) > maxConditions {
		return nil, false
	}
	return p.Ordered(), true
}

// Guarded reads the expression of a generated column that has a value
// for the rows that count only: CASE WHEN predicate THEN value END, or MySQL's
// if(predicate, value, NULL). value is zero when it is a constant.
func Guarded(d dialect.Dialect, s string) (p expression.Predicate, value expression.Expr, ok bool) {
	n, ok := parse(d, s)
	if !ok {
		return nil, value, false
	}
	conditional := n.op == "call" && (n.name == "if" || n.name == "iif") && len(n.args) == 3 && n.args[2].op == "null"
	if n.op != "case" && !conditional {
		return nil, value, false
	}
	p, ok = n.args[0].conditions()
	if !ok || len(p) > maxConditions {
		return nil, value, false
	}
	if what := n.args[1]; what.op != "true" {
		value, ok = what.expr()
	}
	if _, isConstant := value.Constant(); isConstant {
		value = expression.Expr{}
	}
	return p.Ordered(), value, ok
}

// conditions turns SQL into conditions that must all hold.
func (n node) conditions() (expression.Predicate, bool) {
	switch n.op {
	case "and":
		left, ok := n.args[0].conditions()
		right, okToo := n.args[1].conditions()
		return append(left, right...), ok && okToo
	case "not in":
		var all expression.Predicate
		for _, value := range n.args[1:] {
			one, ok := node{op: "<>", args: []node{n.args[0], value}}.conditions()
			if !ok {
				return nil, false
			}
			all = append(all, one...)
		}
		return all, true
	case "same": // as a constant is never NULL
		return node{op: "=", args: n.args}.conditions()
	case "not":
		if n.args[0].op == "same" {
			return node{op: "differs", args: n.args[0].args}.conditions()
		}
		c, ok := n.args[0].condition()
		if !ok {
			return nil, false
		}
		c, ok = not(c, n.args[0].op)
		return expression.Predicate{c}, ok
	}
	c, ok := n.condition()
	return expression.Predicate{c}, ok
}

// condition turns SQL into one condition.
func (n node) condition() (expression.Condition, bool) {
	subject := n
	if len(n.args) > 0 && n.op != "cast" {
		subject = n.args[0]
	}
	name, ok := subject.column()
	if !ok {
		return expression.Condition{}, false
	}
	c := expression.Condition{Column: name}
	switch n.op {
	case "column":
		c.Test = expression.True
		return c, true
	case "is":
		tests := map[string]expression.Test{
			"null": expression.Null, "not null": expression.NotNull, "true": expression.True, "false": expression.False,
			"not true": expression.NotTrue, "not false": expression.NotFalse,
		}
		c.Test, ok = tests[n.name]
		return c, ok
	}
	tests := map[string]expression.Test{"=": expression.Equal, "<>": expression.NotEqual, "differs": expression.Differs}
	c.Test, ok = tests[n.op]
	if !ok {
		return expression.Condition{}, false
	}
	return withValue(c, n.args[1])
}

// withValue takes the constant that the column is compared with.
func withValue(c expression.Condition, n node) (expression.Condition, bool) {
	switch n.op {
	case "true", "false":
		boolean := map[expression.Test][2]expression.Test{
			expression.Equal:    {expression.False, expression.True},
			expression.NotEqual: {expression.True, expression.False},
			expression.Differs:  {expression.NotFalse, expression.NotTrue},
		}
		tests, ok := boolean[c.Test]
		if c.Test = tests[0]; n.op == "true" {
			c.Test = tests[1]
		}
		return c, ok
	}
	value, ok := n.expr()
	constant, isConstant := value.Constant()
	if !ok || !isConstant {
		return expression.Condition{}, false
	}
	c.Value = constant
	return c, true
}

// not is the condition that holds for exactly the rows of which NOT of this one,
// which was written with op, is true.
func not(c expression.Condition, op string) (expression.Condition, bool) {
	opposite := map[expression.Test]expression.Test{
		expression.Null: expression.NotNull, expression.NotNull: expression.Null,
		expression.True: expression.NotTrue, expression.False: expression.NotFalse,
		expression.NotTrue: expression.True, expression.NotFalse: expression.False,
		expression.Equal: expression.NotEqual, expression.NotEqual: expression.Equal,
	}
	if op != "is" { // NOT of NULL is NULL, which is not true
		opposite[expression.True], opposite[expression.False] = expression.False, expression.True
	}
	test, ok := opposite[c.Test]
	c.Test = test
	return c, ok
}
