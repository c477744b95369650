package sqlite

import (
	"slices"

	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func (t *translator) insert(n *ast.InsertStmt) tree.Statement {
	in := &tree.Insert{With: t.with(n.With), Columns: idents(n.Columns)}
	in.Table, in.As = t.target(n.Table, n.Alias)
	sorted := slices.Clone(in.Columns)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) < len(in.Columns) {
		t.fail("INSERT names a column twice")
	}
	in.Ignore = n.OrConflict == ast.ConflictIgnore
	in.Replace = n.Replace || n.OrConflict == ast.ConflictReplace // the others end in an error
	in.Source = t.query(n.Select)
	switch {
	case len(n.Upserts) > 1:
		t.fail("several ON CONFLICT clauses")
	case len(n.Upserts) == 1:
		if n.Replace || n.OrConflict != ast.ConflictDefault && n.OrConflict != ast.ConflictAbort {
			t.fail("INSERT OR … with ON CONFLICT")
		}
		in.Conflict = t.upsert(n.Upserts[0])
	}
	in.Returning = t.items(n.Returning)
	return in
}

func (t *translator) upsert(u *ast.Upsert) *tree.Conflict {
	c := &tree.Conflict{Where: t.expr(u.TargetWhere), Nothing: u.DoNothing, Set: t.assigns(u.Set), If: t.expr(u.Where)}
	for _, part := range u.Target {
		c.Target = append(c.Target, t.expr(part.Expr))
	}
	return c
}

// assigns translates SET. Of several assignments to one column, SQLite does the last alone.
func (t *translator) assigns(list []*ast.SetPair) []tree.Assign {
	if len(list) > maxDepth {
		t.fail("too many assignments")
		return nil
	}
	var all []tree.Assign
	for _, pair := range list {
		for _, a := range t.pair(pair) {
			if isRowID(a.Column) {
				t.fail("sets " + a.Column + ", which is the row id or a column")
			}
			all = slices.DeleteFunc(all, func(before tree.Assign) bool { return before.Column == a.Column })
			all = append(all, a)
		}
	}
	return all
}

func (t *translator) pair(pair *ast.SetPair) []tree.Assign {
	columns, value := idents(pair.Columns), t.expr(pair.Value)
	if len(columns) == 1 {
		return []tree.Assign{{Column: columns[0], Value: value}}
	}
	var all []tree.Assign
	list, isList := value.(*tree.List)
	query, isQuery := value.(*tree.Query)
	for i, column := range columns {
		switch {
		case isList && len(list.Items) == len(columns):
			all = append(all, tree.Assign{Column: column, Value: list.Items[i]})
		case isQuery && query.Kind == tree.Scalar:
			all = append(all, tree.Assign{Column: column, Value: value, Of: true, Part: i})
		default:
			t.fail("a row of values does not fit its columns")
		}
	}
	return all
}
