package mysql

import (
	"github.com/sqlc-dev/marino/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// update translates UPDATE of one table, or of one in a join. IGNORE skips rows that break a key, and
// what is skipped depends on the order of the rows: a second run may change them.
func (t *translator) update(n *ast.UpdateStmt) tree.Statement {
	if n.IgnoreErr {
		return &tree.Opaque{Why: "UPDATE IGNORE: a second run may change the rows that the first one skipped"}
	}
	s := &tree.Update{With: t.with(n.With), LeftToRight: true}
	if _, single := targetOf(n.TableRefs); single {
		ref := t.ref(n.TableRefs.TableRefs.Left)
		s.Table, s.As = ref.Name, ref.As
		s.Where = t.expr(n.Where)
	} else {
		ref := t.changed(n)
		s.Table, s.As = ref.Name, ref.As
		from, on := t.others(n.TableRefs.TableRefs, ref)
		s.From = from
		s.Where = tree.And(append(on, t.expr(n.Where))...)
		s.LeftToRight = false
	}
	for _, a := range n.List {
		s.Set = append(s.Set, tree.Assign{Column: a.Column.Name.L, Value: t.expr(a.Expr)})
	}
	if !s.LeftToRight {
		t.ordered(s)
	}
	s.OrderBy = t.orderBy(n.Order)
	var offset tree.Expr
	t.limit(n.Limit, &s.Limit, &offset)
	if offset != nil {
		t.fail("UPDATE … LIMIT with an offset")
	}
	return s
}

// ordered refuses assignments that see each other in an UPDATE of a join, whose order the database does
// not promise.
func (t *translator) ordered(s *tree.Update) {
	for i, set := range s.Set {
		for j, other := range s.Set {
			if i == j {
				continue
			}
			tree.Exprs(set.Value, func(e tree.Expr) bool {
				c, ok := e.(*tree.Column)
				if ok && c.Name == other.Column && (c.Table == "" || c.Table == s.As || c.Table == s.Table.Name) {
					t.fail("UPDATE of a join: the order of the assignments is not promised")
				}
				return true
			})
			if set.Column == other.Column {
				t.fail("UPDATE of a join assigns %s twice", set.Column)
			}
		}
	}
}

// changed returns the only table that an UPDATE of a join assigns to.
func (t *translator) changed(n *ast.UpdateStmt) *tree.TableRef {
	found := n.List[0].Column
	for _, a := range n.List {
		if a.Column.Table.L == "" {
			t.fail("UPDATE of a join: %s does not say of which table it is", a.Column.Name.L)
		}
		if a.Column.Table.L != found.Table.L || a.Column.Schema.L != found.Schema.L {
			t.fail("UPDATE changes several tables")
		}
	}
	return t.find(n.TableRefs.TableRefs, found.Table.L, found.Schema.L)
}

// delete translates DELETE from one table, or from one of a join.
func (t *translator) delete(n *ast.DeleteStmt) tree.Statement {
	if n.IgnoreErr {
		return &tree.Opaque{Why: "DELETE IGNORE: a second run may delete the rows that the first one skipped"}
	}
	s := &tree.Delete{With: t.with(n.With)}
	if n.IsMultiTable {
		if len(n.Tables.Tables) != 1 {
			t.fail("DELETE from several tables")
		}
		named := n.Tables.Tables[0]
		ref := t.find(n.TableRefs.TableRefs, named.Name.L, named.Schema.L)
		s.Table, s.As = ref.Name, ref.As
		using, on := t.others(n.TableRefs.TableRefs, ref)
		s.Using = using
		s.Where = tree.And(append(on, t.expr(n.Where))...)
	} else {
		ref := t.ref(n.TableRefs.TableRefs.Left)
		s.Table, s.As = ref.Name, ref.As
		s.Where = t.expr(n.Where)
	}
	s.OrderBy = t.orderBy(n.Order)
	var offset tree.Expr
	t.limit(n.Limit, &s.Limit, &offset)
	if offset != nil {
		t.fail("DELETE … LIMIT with an offset")
	}
	return s
}

// ref translates a table that is changed.
func (t *translator) ref(n ast.ResultSetNode) *tree.TableRef {
	ref, ok := t.tableSource(n).(*tree.TableRef)
	if !ok {
		t.fail("changes something that is not a table")
	}
	return ref
}

// find returns the table of a join that goes by the name.
func (t *translator) find(n ast.ResultSetNode, called, schema string) *tree.TableRef {
	var found []*ast.TableSource
	var visit func(ast.ResultSetNode)
	visit = func(n ast.ResultSetNode) {
		switch n := n.(type) {
		case *ast.Join:
			visit(n.Left)
			if n.Right != nil {
				visit(n.Right)
			}
		case *ast.TableSource:
			if inner, ok := n.Source.(*ast.Join); ok {
				visit(inner)
			}
			if goesBy(n, called, schema) {
				found = append(found, n)
			}
		}
	}
	visit(n)
	if len(found) != 1 {
		t.fail("%s is not one of the tables, or several", called)
	}
	return t.ref(found[0])
}

func goesBy(n *ast.TableSource, called, schema string) bool {
	if n.AsName.L != "" {
		return n.AsName.L == called
	}
	table, ok := n.Source.(*ast.TableName)
	return ok && table.Name.L == called && (schema == "" || table.Schema.L == schema)
}
