package sqlite

import (
	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// update translates UPDATE. OR FAIL, OR IGNORE and OR REPLACE are not: they leave out rows, or delete
// others, and the tree does not say so. OR ABORT is the default, and OR ROLLBACK undoes more.
func (t *translator) update(n *ast.UpdateStmt) tree.Statement {
	if or := n.OrConflict; or == ast.ConflictFail || or == ast.ConflictIgnore || or == ast.ConflictReplace {
		t.fail("UPDATE OR " + or.String())
	}
	u := &tree.Update{With: t.with(n.With)}
	u.Table, u.As = t.target(n.Table, n.Alias)
	u.Set = t.assigns(n.Set)
	u.From = t.from(n.From)
	u.Where = t.expr(n.Where)
	u.OrderBy = t.orders(n.OrderBy)
	u.Limit, u.Offset = t.limit(n.Limit)
	u.Returning = t.items(n.Returning)
	return u
}

func (t *translator) remove(n *ast.DeleteStmt) tree.Statement {
	d := &tree.Delete{With: t.with(n.With)}
	d.Table, d.As = t.target(n.Table, n.Alias)
	d.Where = t.expr(n.Where)
	d.OrderBy = t.orders(n.OrderBy)
	d.Limit, d.Offset = t.limit(n.Limit)
	d.Returning = t.items(n.Returning)
	return d
}
