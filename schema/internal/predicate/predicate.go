// Package predicate compares which rows count for an index.
package predicate

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
)

// Same reports whether two predicates hold for the same rows: they have
// the same conditions in whatever order, as far as columns that are never NULL
// make conditions the same.
func Same(d dialect.Dialect, a, b expression.Predicate, types expression.ColumnTypes) bool {
	return slices.Equal(simplify(d, a, types), simplify(d, b, types))
}

func simplify(d dialect.Dialect, p expression.Predicate, types expression.ColumnTypes) expression.Predicate {
	out := make(expression.Predicate, 0, len(p))
	never := func(c expression.Condition) bool {
		return slices.ContainsFunc(p, func(o expression.Condition) bool {
			return o.Test == expression.NotNull && expression.Fold(d, o.Column) == c.Column
		})
	}
	for _, c := range p {
		t := types.Of(c.Column)
		c.Column = expression.Fold(d, c.Column)
		c = number(d, c, t.Type)
		if t.NotNull || never(c) {
			switch c.Test {
			case expression.Differs:
				c.Test = expression.NotEqual
			case expression.NotTrue:
				c.Test = expression.False
			case expression.NotFalse:
				c.Test = expression.True
			case expression.Null, expression.NotNull, expression.True, expression.False, expression.Equal, expression.NotEqual:
			}
		}
		if c.Test == expression.NotNull && t.NotNull {
			continue
		}
		out = append(out, c)
	}
	return out.Ordered()
}

// number makes tests with 0 and 1 tests with false and true, where those are
// the same.
func number(d dialect.Dialect, c expression.Condition, t string) expression.Condition {
	if d == dialect.PostgreSQL || !c.Value.Number {
		return c
	}
	t = strings.ToLower(t)
	boolean := strings.HasPrefix(t, "bool") || t == "tinyint(1)"
	switch {
	case c.Value.Text == "0" && c.Test == expression.Equal, c.Value.Text == "1" && c.Test == expression.NotEqual && boolean:
		return expression.Condition{Column: c.Column, Test: expression.False}
	case c.Value.Text == "0" && c.Test == expression.NotEqual, c.Value.Text == "1" && c.Test == expression.Equal && boolean:
		return expression.Condition{Column: c.Column, Test: expression.True}
	case c.Value.Text == "0" && c.Test == expression.Differs:
		return expression.Condition{Column: c.Column, Test: expression.NotFalse}
	case c.Value.Text == "1" && c.Test == expression.Differs && boolean:
		return expression.Condition{Column: c.Column, Test: expression.NotTrue}
	}
	return c
}
