package sqlite

import (
	"fmt"

	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func (t *translator) exprs(list []ast.Expr) []tree.Expr {
	var all []tree.Expr
	for _, e := range list {
		all = append(all, t.expr(e))
	}
	return all
}

func (t *translator) expr(e ast.Expr) tree.Expr {
	if e == nil {
		return nil
	}
	defer func() { t.depth-- }()
	if !t.enter() {
		return &tree.Raw{Why: t.why}
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return t.expr(e.X)
	case *ast.Ident:
		return t.name(e)
	case *ast.QualifiedRef:
		return t.qualified(e)
	case *ast.Star:
		return &tree.Star{Table: ident(e.Table)}
	case *ast.Literal:
		return literal(e)
	case *ast.BindParam:
		return t.param(e)
	case *ast.FuncCall:
		return t.call(e)
	case *ast.CaseExpr:
		return t.caseOf(e)
	case *ast.CastExpr:
		return &tree.Cast{Value: t.expr(e.X), Type: typeName(e.Type)}
	case *ast.VectorExpr:
		return &tree.List{Items: t.exprs(e.List)}
	case *ast.SubqueryExpr:
		return &tree.Query{Kind: tree.Scalar, Select: t.query(e.Select)}
	case *ast.ExistsExpr:
		return &tree.Query{Kind: tree.Exists, Select: t.query(e.Select)}
	case *ast.RaiseExpr:
		return t.raise(e)
	}
	return t.operator(e)
}

// name translates a name without a table. TRUE and FALSE are columns only where a column has
// that name, which is not provided for here.
func (t *translator) name(n *ast.Ident) tree.Expr {
	if b := boolean(n); b != nil {
		return b
	}
	name := ident(n)
	if n.Quote == ast.QuoteDouble {
		if first, ok := t.quoted[name]; ok && first != n.Name {
			t.fail(fmt.Sprintf("%q and %q are two strings if they are not a column", first, n.Name))
		}
		if t.quoted == nil {
			t.quoted = make(map[string]string)
		}
		t.quoted[name] = n.Name
	}
	return &tree.Column{Name: name}
}

func boolean(e ast.Expr) *tree.Literal {
	n, ok := e.(*ast.Ident)
	if !ok || n.Quote != ast.QuoteNone {
		return nil
	}
	if name := ident(n); name == "true" || name == "false" {
		return &tree.Literal{Kind: tree.Bool, Text: name}
	}
	return nil
}

func (*translator) qualified(e *ast.QualifiedRef) tree.Expr {
	parts := idents(e.Parts)
	switch {
	case len(parts) == 2:
		return &tree.Column{Table: parts[0], Name: parts[1]}
	case len(parts) == 3 && parts[0] == "main":
		return &tree.Column{Table: parts[1], Name: parts[2]}
	}
	return &tree.Raw{Why: "a column of an attached database"}
}

// param names a parameter by its number, or by its name without the sigil. Different
// spellings of one name are different parameters in SQLite.
func (t *translator) param(p *ast.BindParam) tree.Expr {
	switch {
	case p.Kind == ast.ParamAnon || p.Kind == ast.ParamNumber && p.Number > 0:
		return &tree.Param{Name: fmt.Sprint(p.Number)}
	case p.Name == "" || '0' <= p.Name[0] && p.Name[0] <= '9':
		return &tree.Param{Name: p.Raw}
	}
	if first, ok := t.params[p.Name]; ok && first != p.Raw {
		return &tree.Param{Name: p.Raw}
	}
	if t.params == nil {
		t.params = make(map[string]string)
	}
	t.params[p.Name] = p.Raw
	return &tree.Param{Name: p.Name}
}

func (t *translator) caseOf(e *ast.CaseExpr) tree.Expr {
	c := &tree.Case{Operand: t.expr(e.Operand)}
	for _, w := range e.Whens {
		c.Whens = append(c.Whens, tree.Branching{If: t.expr(w.When), Then: t.expr(w.Then)})
	}
	c.Else = t.expr(e.Else)
	return c
}

// raise translates RAISE, which ends the statement with an error, or with IGNORE leaves out the row.
func (t *translator) raise(e *ast.RaiseExpr) tree.Expr {
	c := &tree.Call{Name: "raise", Args: []tree.Expr{&tree.Literal{Kind: tree.String, Text: fold(e.Action)}}}
	if e.Message == nil {
		t.skips = true
		return c
	}
	c.Args = append(c.Args, t.expr(e.Message))
	return c
}
