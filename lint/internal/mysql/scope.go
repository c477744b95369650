package mysql

import (
	"github.com/sqlc-dev/marino/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// scope says what names of columns mean in VALUES and in ON DUPLICATE KEY UPDATE, where
// each is evaluated after those on its left.
type scope struct {
	target  string               // the table that is inserted into
	values  map[string]tree.Expr // columns that have a new value already
	row     bool                 // in VALUES: other columns have their default
	update  bool                 // in ON DUPLICATE KEY UPDATE
	alias   string               // of the row to be inserted
	columns map[string]string    // of that alias, by their new names; nil without
	within  int                  // queries around
}

// column translates the name of a column.
func (t *translator) column(n *ast.ColumnName) tree.Expr {
	c := &tree.Column{Table: n.Table.L, Name: n.Name.L}
	if n.Schema.L != "" {
		t.register(n.Table.L, n.Schema.L)
	}
	s := t.scope
	if s == nil {
		return c
	}
	if s.update && s.alias != "" && c.Table == s.alias {
		return s.aliased(c.Name)
	}
	if s.update && c.Table == "" && s.columns[c.Name] != "" {
		if s.within > 0 {
			return raw("%s may be a column of the new row", c.Name)
		}
		return s.aliased(c.Name)
	}
	if s.update && c.Table == tree.Excluded {
		return raw("a table with the name %s", c.Table)
	}
	if c.Table != "" && c.Table != s.target {
		return c
	}
	value, known := s.values[c.Name]
	switch {
	case known && s.within > 0:
		return raw("%s may have been assigned before", c.Name)
	case known:
		if _, isDefault := value.(*tree.Default); isDefault {
			return raw("the default of %s", c.Name)
		}
		return &tree.Cast{Value: value, Type: "column " + c.Name}
	case s.row && s.within == 0:
		return raw("the default of %s", c.Name)
	}
	return c
}

// aliased translates a column of the row alias.
func (s *scope) aliased(column string) tree.Expr {
	if s.columns != nil {
		column = s.columns[column]
		if column == "" {
			return raw("an unknown column of the new row")
		}
	}
	return &tree.Column{Table: tree.Excluded, Name: column}
}

// inserted translates VALUES(c).
func (t *translator) inserted(column *ast.ColumnNameExpr) tree.Expr {
	if t.scope == nil || !t.scope.update || column == nil {
		return raw("VALUES() outside of ON DUPLICATE KEY UPDATE")
	}
	return &tree.Column{Table: tree.Excluded, Name: column.Name.Name.L}
}

// register refuses two tables of one name, for a qualified column could belong to either.
func (t *translator) register(table, schema string) {
	if known, ok := t.schemas[table]; ok && known != schema {
		t.fail("two tables have the name %s", table)
	}
	t.schemas[table] = schema
}
