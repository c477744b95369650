package sqlite

import (
	"strings"

	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func (t *translator) operator(e ast.Expr) tree.Expr {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return t.binary(e)
	case *ast.UnaryExpr:
		return t.unary(e)
	case *ast.CollateExpr:
		collation := &tree.Literal{Kind: tree.String, Text: ident(e.Name)}
		return &tree.Op{Name: "collate", Args: []tree.Expr{t.expr(e.X), collation}}
	case *ast.LikeExpr:
		args := []tree.Expr{t.expr(e.X), t.expr(e.Y)}
		if e.Escape != nil {
			args = append(args, t.expr(e.Escape))
		}
		return &tree.Op{Name: negated(e.Not, ident(e.Op)), Args: args}
	case *ast.IsExpr:
		return t.is(e)
	case *ast.NullCheckExpr:
		name := "is not null"
		if e.Test == ast.TestIsNull {
			name = "is null"
		}
		if e.Test == ast.TestNotNullWords && endsInNot(e.X) {
			t.fail("NOT before an operand of NOT NULL")
		}
		return &tree.Op{Name: name, Args: []tree.Expr{t.expr(e.X)}}
	case *ast.BetweenExpr:
		args := []tree.Expr{t.expr(e.X), t.expr(e.Lo), t.expr(e.Hi)}
		return &tree.Op{Name: negated(e.Not, "between"), Args: args}
	case *ast.InExpr:
		return t.in(e)
	}
	return &tree.Raw{Why: "an expression of an unknown kind"}
}

func negated(not bool, name string) string {
	if not {
		return "not " + name
	}
	return name
}

// endsInNot reports whether the last operand of e is that of a NOT. To SQLite, a NOT NULL after it
// belongs to that operand, to the parser it belongs to all before it.
func endsInNot(e ast.Expr) bool {
	for {
		switch last := e.(type) {
		case *ast.UnaryExpr:
			if last.Op == ast.OpNot {
				return true
			}
			e = last.X
		case *ast.BinaryExpr:
			e = last.Y
		case *ast.IsExpr:
			e = last.Y
		case *ast.BetweenExpr:
			e = last.Hi
		case *ast.LikeExpr:
			e = last.Y
			if last.Escape != nil {
				e = last.Escape
			}
		default:
			return false
		}
	}
}

func (t *translator) binary(e *ast.BinaryExpr) tree.Expr {
	name := fold(e.Op.String())
	x, y := t.expr(e.X), t.expr(e.Y)
	if name != "and" && name != "or" {
		return &tree.Op{Name: name, Args: []tree.Expr{x, y}}
	}
	var args []tree.Expr
	for _, arg := range []tree.Expr{x, y} {
		if op, ok := arg.(*tree.Op); ok && op.Name == name {
			args = append(args, op.Args...)
		} else {
			args = append(args, arg)
		}
	}
	return &tree.Op{Name: name, Args: args}
}

// unary translates a prefix. A plus changes no number, but a column behind it has no affinity.
func (t *translator) unary(e *ast.UnaryExpr) tree.Expr {
	x := t.expr(e.X)
	l, ok := x.(*tree.Literal)
	isNumber := ok && l.Kind == tree.Number
	switch op := fold(e.Op.String()); op {
	case "not", "~":
		return &tree.Op{Name: op, Args: []tree.Expr{x}}
	case "+":
		if isNumber {
			return x
		}
		return &tree.Op{Name: "pos", Args: []tree.Expr{x}}
	case "-":
		if isNumber && !strings.HasPrefix(l.Text, "-") {
			return &tree.Literal{Kind: tree.Number, Text: "-" + l.Text}
		}
		return &tree.Op{Name: "neg", Args: []tree.Expr{x}}
	}
	return &tree.Raw{Why: "an unknown operator"}
}

// is translates IS and its kin. On the right of it, NULL, TRUE and FALSE have meanings of their own, even with
// a collation.
func (t *translator) is(e *ast.IsExpr) tree.Expr {
	distinct := e.Not != e.Distinct
	right := bare(e.Y)
	if in, ok := right.(*ast.InExpr); ok && in.Select == nil && in.Table == nil && len(in.List) == 0 {
		t.fail("IS with an IN of nothing") // read as the word TRUE or as the number 1, as the version has it
	}
	name := ""
	if l, ok := right.(*ast.Literal); ok && l.Kind == ast.LitNull {
		name = "null"
	} else if b := boolean(right); b != nil {
		name = b.Text
	}
	if name != "" {
		return &tree.Op{Name: "is " + negated(distinct, name), Args: []tree.Expr{t.expr(e.X)}}
	}
	op := "is not distinct from"
	if distinct {
		op = "is distinct from"
	}
	return &tree.Op{Name: op, Args: []tree.Expr{t.expr(e.X), t.expr(e.Y)}}
}

// bare takes parentheses and collations off an expression.
func bare(e ast.Expr) ast.Expr {
	for {
		switch wrapped := e.(type) {
		case *ast.ParenExpr:
			e = wrapped.X
		case *ast.CollateExpr:
			e = wrapped.X
		default:
			return e
		}
	}
}

// in translates IN. With an empty list it is a constant, whatever the operand, even NULL.
func (t *translator) in(e *ast.InExpr) tree.Expr {
	kind, left := tree.In, t.expr(e.X)
	if e.Not {
		kind = tree.NotIn
	}
	switch {
	case e.Select != nil:
		return &tree.Query{Kind: kind, Left: left, Select: t.query(e.Select)}
	case e.Table != nil:
		source := t.source(&ast.TableRef{Name: e.Table, Args: e.Args, HasArgs: e.HasArgs})
		all := &tree.Select{Items: []tree.Item{{Expr: &tree.Star{}}}, From: []tree.Source{source}}
		return &tree.Query{Kind: kind, Left: left, Select: all}
	case len(e.List) == 0:
		if e.Not {
			return &tree.Literal{Kind: tree.Bool, Text: "true"}
		}
		return &tree.Literal{Kind: tree.Bool, Text: "false"}
	}
	return &tree.Op{Name: kind.String(), Args: []tree.Expr{left, &tree.List{Items: t.exprs(e.List)}}}
}
