package mysql

import (
	"github.com/sqlc-dev/marino/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// insert translates INSERT and REPLACE. That rows go to a partition, and the priority, change nothing
// that a second run would see.
func (t *translator) insert(n *ast.InsertStmt) *tree.Insert {
	target, ok := targetOf(n.Table)
	if !ok {
		t.fail("INSERT into something that is not a table")
	}
	s := &tree.Insert{Table: tree.Name{Schema: target.Schema.L, Name: target.Name.L}, Ignore: n.IgnoreErr, Replace: n.IsReplace}
	if n.Columns != nil {
		s.Columns = []string{}
	}
	for _, c := range n.Columns {
		s.Columns = append(s.Columns, c.Name.L)
	}
	if n.Select != nil {
		s.Source = t.query(n.Select)
	} else {
		s.Source = &tree.Select{Values: [][]tree.Expr{}}
		for _, row := range n.Lists {
			s.Source.Values = append(s.Source.Values, t.row(s, row))
		}
	}
	if n.OnDuplicate != nil {
		s.Conflict = t.duplicate(s, n)
	}
	return s
}

// row translates one row of VALUES. A column in it has the value that the row gave it on the left, or its
// default.
func (t *translator) row(s *tree.Insert, nodes []ast.ExprNode) []tree.Expr {
	t.scope = &scope{target: s.Table.Name, row: true, values: map[string]tree.Expr{}}
	defer func() { t.scope = nil }()
	row := []tree.Expr{}
	for i, n := range nodes {
		e := t.expr(n)
		row = append(row, e)
		if i < len(s.Columns) {
			t.scope.values[s.Columns[i]] = e
		}
	}
	return row
}

// duplicate translates ON DUPLICATE KEY UPDATE. Its assignments see those on their left.
func (t *translator) duplicate(s *tree.Insert, n *ast.InsertStmt) *tree.Conflict {
	t.scope = &scope{target: s.Table.Name, update: true, values: map[string]tree.Expr{}}
	defer func() { t.scope = nil }()
	if n.RowAlias != nil {
		t.scope.alias = n.RowAlias.L
	}
	if n.ColumnAliases != nil {
		if len(n.ColumnAliases) != len(s.Columns) {
			t.fail("new names for columns that are not listed")
		}
		t.scope.columns = map[string]string{}
		for i, alias := range n.ColumnAliases {
			t.scope.columns[alias.L] = s.Columns[i]
		}
	}
	c := &tree.Conflict{}
	for _, a := range n.OnDuplicate {
		set := tree.Assign{Column: a.Column.Name.L, Value: t.expr(a.Expr)}
		c.Set = append(c.Set, set)
		t.scope.values[set.Column] = set.Value
	}
	return c
}

// targetOf returns the only table of a list.
func targetOf(refs *ast.TableRefsClause) (*ast.TableName, bool) {
	if refs == nil || refs.TableRefs == nil || refs.TableRefs.Right != nil {
		return nil, false
	}
	source, ok := refs.TableRefs.Left.(*ast.TableSource)
	if !ok {
		return nil, false
	}
	table, ok := source.Source.(*ast.TableName)
	return table, ok
}
