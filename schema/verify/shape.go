package verify

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/internal/serversql"
)

// shape is an index in the language of the rules.
type shape struct {
	index *catalog.Index
	parts []part
	// where is the predicate, of the index or of what its parts are NULL without.
	where   expression.Predicate
	whereOK bool
}

// part is a part of an index.
type part struct {
	catalog.Part
	// text is the expression in the server's words, "" for a plain column.
	text string
	// expr is the compared expression; zero where the language cannot say it.
	expr expression.Expr
	// generated is the column that the expression was read from, or "".
	generated string
}

// shapesOf reads all indexes of a table.
func (c *check) shapesOf(table *catalog.Table) []shape {
	shapes := make([]shape, 0, len(table.Indexes))
	for i := range table.Indexes {
		shapes = append(shapes, c.shape(table, &table.Indexes[i]))
	}
	return shapes
}

// shape reads one index.
func (c *check) shape(table *catalog.Table, x *catalog.Index) shape {
	s := shape{index: x}
	s.where, s.whereOK = serversql.Predicate(c.schema.Dialect, x.Where)
	for _, p := range x.Parts {
		read := part{Part: p, expr: expression.Column(p.Column)}
		if p.Column == "" || !c.names(p.Column) {
			var counted expression.Predicate
			read.expr, read.text, counted = table.Compared(c.schema.Dialect, &p)
			s.where = append(s.where, counted...)
			if read.expr.IsZero() && counted != nil {
				continue
			}
			if read.text != "" {
				read.generated = p.Column
			}
		}
		s.parts = append(s.parts, read)
	}
	s.where = s.unneeded(c)
	return s
}

// names reports whether a term of the rule is this column.
func (c *check) names(column string) bool {
	return slices.ContainsFunc(c.rule.Terms(), func(t rules.Term) bool { return strings.EqualFold(t.Column, column) })
}

// unneeded takes away conditions that a part is not NULL, where NULL would not
// clash anyway.
func (s *shape) unneeded(c *check) expression.Predicate {
	if s.index.NullsNotDistinct || c.rule.Nulls == rules.NullsSame {
		return s.where
	}
	return slices.DeleteFunc(slices.Clone(s.where), func(condition expression.Condition) bool {
		return condition.Test == expression.NotNull && slices.ContainsFunc(s.parts, func(p part) bool {
			column, ok := p.expr.Column()
			return ok && strings.EqualFold(column, condition.Column)
		})
	})
}

// columns are the columns that a part reads.
func (p *part) columns() []string {
	if p.Column != "" && p.generated == "" {
		return []string{p.Column}
	}
	return p.expr.Columns()
}

// has reports whether a part of an index is a term of the rule.
func (c *check) has(w want, p part) bool {
	switch {
	case w.raw != "":
		return p.text != "" && serversql.Same(c.schema.Dialect, w.raw, p.text)
	case p.expr.IsZero():
		return false
	case c.same(w.term.Expr, p.expr):
		return true
	}
	if function, first, _ := p.expr.Argument(); function == "coalesce" && c.rule.Nulls == rules.NullsSame && c.same(w.term.Expr, first) {
		return true
	}
	return p.IgnoresCase && c.same(w.term.Expr.Caseless(), p.expr.Caseless())
}

func (c *check) same(a, b expression.Expr) bool {
	return expression.Same(c.schema.Dialect, a, b, c.types)
}

// foldsCase reports whether a rule takes no notice of case in a term.
func foldsCase(e expression.Expr) bool {
	return slices.Contains(e.Functions(), "lower") || slices.Contains(e.Functions(), "upper")
}

// companion reports whether a part says no more than that a term is NULL, where
// that makes NULL the same as NULL.
func (c *check) companion(p part) bool {
	function, first, _ := p.expr.Argument()
	column, ok := first.Column()
	return ok && function == "is_null" && c.rule.Nulls == rules.NullsSame && slices.ContainsFunc(c.wants, func(w want) bool {
		return slices.ContainsFunc(w.term.Columns, func(name string) bool { return strings.EqualFold(name, column) })
	})
}
