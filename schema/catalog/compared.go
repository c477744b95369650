package catalog

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/schema/internal/serversql"
)

// Compared reads what a part of an index compares: the expression, or that of a
// generated column, zero where the language cannot say it; the server's words for
// it, "" for a plain column; and which rows count, where the part is NULL for
// others. A zero expression with such rows compares nothing else.
func (t *Table) Compared(d dialect.Dialect, p *Part) (expr expression.Expr, text string, counted expression.Predicate) {
	text = p.Expression
	if p.Column != "" {
		expr = expression.Column(p.Column)
		if column, ok := t.Column(p.Column); ok && column.Generated != "" {
			text = column.Generated
		}
	}
	if text == "" {
		return expr, "", nil
	}
	if counted, value, ok := serversql.Guarded(d, text); ok {
		return value, text, counted
	}
	expr, _ = serversql.Expression(d, text)
	return expr, text, nil
}

// Transactional reports whether the engine of the table has transactions, and
// locks rows. Databases without engines have both.
func (t *Table) Transactional() bool {
	engine := strings.ToLower(t.Engine)
	return engine == "" || engine == "innodb" || engine == "ndbcluster" || strings.Contains(engine, "rocks")
}

// Types tells the language of expressions what the columns are.
func (t *Table) Types() expression.ColumnTypes {
	types := make(expression.ColumnTypes, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		types[c.Name] = expression.ColumnType{Type: c.Type, NotNull: !c.Nullable}
	}
	return types
}

// Nullable returns those of the columns that can be NULL.
func (t *Table) Nullable(columns []string) []string {
	return slices.DeleteFunc(slices.Clone(columns), func(name string) bool {
		column, ok := t.Column(name)
		return !ok || !column.Nullable
	})
}
