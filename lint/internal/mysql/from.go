package mysql

import (
	"strconv"

	"github.com/sqlc-dev/marino/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func itoa(n int) string { return strconv.Itoa(n) }

// from translates FROM: joins without a condition are commas.
func (t *translator) from(n ast.ResultSetNode) []tree.Source {
	join, ok := n.(*ast.Join)
	switch {
	case ok && join.Right == nil:
		return t.from(join.Left)
	case ok && join.Tp == ast.CrossJoin && join.On == nil && join.Using == nil && !join.NaturalJoin:
		return append(t.from(join.Left), t.from(join.Right)...)
	}
	return []tree.Source{t.tableSource(n)}
}

func (t *translator) tableSource(n ast.ResultSetNode) tree.Source {
	switch n := n.(type) {
	case *ast.Join:
		if n.Right == nil {
			return t.tableSource(n.Left)
		}
		return t.join(n)
	case *ast.TableName:
		return &tree.TableRef{Name: t.table(n, "")}
	case *ast.TableSource:
		return t.named(n)
	}
	t.fail("FROM something that the linter does not know (%T)", n)
	return nil
}

func (t *translator) join(n *ast.Join) tree.Source {
	j := &tree.Join{Left: t.tableSource(n.Left), Right: t.tableSource(n.Right), Natural: n.NaturalJoin}
	if n.On != nil {
		j.On = t.expr(n.On.Expr)
	}
	for _, c := range n.Using {
		j.Using = append(j.Using, c.Name.L)
	}
	switch {
	case n.Tp == ast.LeftJoin:
		j.Kind = "left"
	case n.Tp == ast.RightJoin:
		j.Kind = "right"
	case j.On == nil && j.Using == nil && !j.Natural:
		j.Kind = "cross"
	default:
		j.Kind = "inner"
	}
	return j
}

func (t *translator) named(n *ast.TableSource) tree.Source {
	switch source := n.Source.(type) {
	case *ast.TableName:
		return &tree.TableRef{Name: t.table(source, n.AsName.L), As: n.AsName.L}
	case *ast.SelectStmt, *ast.SetOprStmt:
		return &tree.Derived{Query: t.query(source), As: n.AsName.L, Columns: names(n.ColumnNames), Lateral: n.Lateral}
	case *ast.Join:
		return t.tableSource(source)
	case *ast.JSONTableExpr:
		return &tree.Function{
			Call: &tree.Call{Name: "json_table", Args: []tree.Expr{t.expr(source.Doc), raw("columns of JSON_TABLE")}},
			As:   n.AsName.L,
		}
	}
	t.fail("FROM something that the linter does not know (%T)", n.Source)
	return nil
}

// table translates the name of a table that has the alias, or none.
func (t *translator) table(n *ast.TableName, alias string) tree.Name {
	switch {
	case n.AsOf != nil, n.TableSample != nil:
		t.fail("AS OF and TABLESAMPLE")
	case len(n.PartitionNames) > 0:
		t.fail("PARTITION (…) in FROM")
	}
	if alias == "" {
		t.register(n.Name.L, n.Schema.L)
	}
	return tree.Name{Schema: n.Schema.L, Name: n.Name.L}
}

// objectName is a name as it is written: on some servers, two tables have names that differ in case only.
func objectName(n *ast.TableName) tree.Name {
	return tree.Name{Schema: n.Schema.L, Name: n.Name.O}
}
