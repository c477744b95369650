package sqlite

import (
	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func (t *translator) call(f *ast.FuncCall) tree.Expr {
	name, args := ident(f.Name), t.exprs(f.Args)
	plain := !f.Star && !f.Distinct && f.Filter == nil && f.Over == nil && len(f.OrderBy) == 0
	switch {
	case plain && name == "ifnull" && len(args) == 2:
		name = "coalesce"
	case plain && (name == "iif" || name == "if") && len(args) >= 2:
		return choice(args)
	}
	c := &tree.Call{
		Name: name, Args: args, Star: f.Star, Distinct: f.Distinct,
		Filter: t.expr(f.Filter), OrderBy: t.orders(f.OrderBy),
	}
	if f.Over != nil {
		c.Over = true
		c.OrderBy = append(c.OrderBy, t.window(f.Over)...)
	}
	return c
}

// choice is iif(condition, value, …, otherwise) as a CASE.
func choice(args []tree.Expr) tree.Expr {
	c := &tree.Case{}
	for ; len(args) >= 2; args = args[2:] {
		c.Whens = append(c.Whens, tree.Branching{If: args[0], Then: args[1]})
	}
	if len(args) == 1 {
		c.Else = args[0]
	}
	return c
}

// window lists everything that a window reads: what it partitions by, what it orders by, and the
// bounds of its frame.
func (t *translator) window(w *ast.WindowDef) []tree.Order {
	defer func() { t.depth-- }()
	if !t.enter() {
		return nil
	}
	var all []tree.Order
	if w.Base != nil {
		base := t.windows[ident(w.Base)]
		if base == nil {
			t.fail("no such window: " + ident(w.Base))
			return nil
		}
		all = t.window(base)
	}
	for _, e := range w.Partition {
		all = append(all, tree.Order{Expr: t.expr(e)})
	}
	all = append(all, t.orders(w.OrderBy)...)
	for _, bound := range []*ast.FrameBound{w.StartBound, w.EndBound} {
		if bound != nil && bound.Expr != nil {
			all = append(all, tree.Order{Expr: t.expr(bound.Expr)})
		}
	}
	return all
}

func (t *translator) orders(list []*ast.OrderingTerm) []tree.Order {
	var all []tree.Order
	for _, o := range list {
		all = append(all, tree.Order{Expr: t.expr(o.Expr), Desc: o.Order == ast.SortDesc})
	}
	return all
}
