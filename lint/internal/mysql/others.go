package mysql

import (
	"reflect"

	"github.com/sqlc-dev/marino/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// others takes the changed table out of a join. It returns the other tables and the conditions of the
// joins: a row of the table that is changed meets them with a row of each other table. An outer
// join that keeps rows of the changed table becomes one of a single empty row to the other
// side. An outer join that would add NULLs for the changed table is an inner one, for it
// changes no row then.
func (t *translator) others(n ast.ResultSetNode, target *tree.TableRef) ([]tree.Source, []tree.Expr) {
	switch n := n.(type) {
	case *ast.TableSource:
		if inner, ok := n.Source.(*ast.Join); ok {
			return t.others(inner, target)
		}
		return nil, nil // the target itself
	case *ast.Join:
		if n.Right == nil {
			return t.others(n.Left, target)
		}
		return t.otherSide(n, target)
	}
	t.fail("a join that the linter does not know (%T)", n)
	return nil, nil
}

func (t *translator) otherSide(n *ast.Join, target *tree.TableRef) ([]tree.Source, []tree.Expr) {
	near, far, kept := n.Left, n.Right, n.Tp == ast.LeftJoin
	if !t.has(n.Left, target) {
		near, far, kept = n.Right, n.Left, n.Tp == ast.RightJoin
	}
	if n.NaturalJoin {
		t.fail("NATURAL JOIN with the table that is changed")
	}
	from, conditions := t.others(near, target)
	on := t.on(n)
	if !kept {
		return append(from, t.from(far)...), append(conditions, on)
	}
	left := tree.Source(&tree.Derived{Query: &tree.Select{Values: [][]tree.Expr{{}}}})
	for i, source := range from {
		if i == 0 {
			left = source
		} else {
			left = &tree.Join{Kind: "cross", Left: left, Right: source}
		}
	}
	return []tree.Source{&tree.Join{Kind: "left", Left: left, Right: t.tableSource(far), On: on}}, conditions
}

// on returns the condition of a join. USING needs one table on either side to say whose column it is.
func (t *translator) on(n *ast.Join) tree.Expr {
	if n.On != nil {
		return t.expr(n.On.Expr)
	}
	var all []tree.Expr
	for _, c := range n.Using {
		all = append(all, &tree.Op{Name: "=", Args: []tree.Expr{
			&tree.Column{Table: t.only(n.Left), Name: c.Name.L}, &tree.Column{Table: t.only(n.Right), Name: c.Name.L},
		}})
	}
	return tree.And(all...)
}

// only returns the name of the only table of one side.
func (t *translator) only(n ast.ResultSetNode) string {
	switch s := t.tableSource(n).(type) {
	case *tree.TableRef:
		if s.As != "" {
			return s.As
		}
		return s.Name.Name
	case *tree.Derived:
		return s.As
	}
	t.fail("USING on a join of several tables with the one that is changed")
	return ""
}

// has reports whether the table is in that side of a join.
func (t *translator) has(n ast.ResultSetNode, target *tree.TableRef) bool {
	found := false
	tree.Sources(t.from(n), func(s tree.Source) {
		if ref, ok := s.(*tree.TableRef); ok && reflect.DeepEqual(ref, target) {
			found = true
		}
	})
	return found
}
