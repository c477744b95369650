package postgres

import (
	"strings"

	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// operatorNames are the operators that the tree names otherwise.
var operatorNames = map[string]string{ //nolint:gochecknoglobals // constant
	"~~": "like", "!~~": "not like", "~~*": "ilike", "!~~*": "not ilike", "~": "regexp", "!~": "not regexp", "#": "^", "^": "power",
}

// operatorName returns the name of an operator with two operands.
func operatorName(names []*pg.Node) string {
	name := dotted(names)
	if usual, ok := operatorNames[name]; ok {
		return usual
	}
	return name
}

// quantified translates ANY and ALL of an array, which for one operator have a name of their own when the elements are listed.
func quantified(a *pg.A_Expr, name string, left, right tree.Expr, kind tree.QueryKind, usual, listed string) tree.Expr {
	if q, ok := right.(*tree.Query); ok && q.Kind == tree.Array {
		return &tree.Query{Kind: kind, Left: left, Op: name, Select: q.Select}
	}
	if items, ok := elements(a.GetRexpr(), right); ok && name == usual {
		return &tree.Op{Name: listed, Args: []tree.Expr{left, items}}
	}
	if kind == tree.Any {
		return &tree.Op{Name: name + " any", Args: []tree.Expr{left, right}}
	}
	return &tree.Op{Name: name + " all", Args: []tree.Expr{left, right}}
}

// operator translates an operator and the keywords that the parser turns into some.
func (t *translator) operator(a *pg.A_Expr) tree.Expr {
	if a.GetLexpr() == nil {
		return t.prefix(a)
	}
	left, right := t.expr(a.GetLexpr()), t.expr(a.GetRexpr())
	both := func(name string) tree.Expr { return &tree.Op{Name: name, Args: []tree.Expr{left, right}} }
	name := operatorName(a.GetName())
	switch a.GetKind() { //nolint:exhaustive // the others are refused
	case pg.A_Expr_Kind_AEXPR_OP:
		if name == "power" {
			return &tree.Call{Name: name, Args: []tree.Expr{left, right}}
		}
		return both(name)
	case pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE:
		return matching(name, left, right)
	case pg.A_Expr_Kind_AEXPR_SIMILAR:
		return matching(strings.Replace(name, "regexp", "similar to", 1), left, right)
	case pg.A_Expr_Kind_AEXPR_DISTINCT:
		return both("is distinct from")
	case pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		return both("is not distinct from")
	case pg.A_Expr_Kind_AEXPR_NULLIF:
		return &tree.Call{Name: "nullif", Args: []tree.Expr{left, right}}
	case pg.A_Expr_Kind_AEXPR_IN:
		if name == "<>" {
			return both("not in")
		}
		return both("in")
	case pg.A_Expr_Kind_AEXPR_OP_ANY:
		return quantified(a, name, left, right, tree.Any, "=", "in")
	case pg.A_Expr_Kind_AEXPR_OP_ALL:
		return quantified(a, name, left, right, tree.All, "<>", "not in")
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN, pg.A_Expr_Kind_AEXPR_BETWEEN_SYM, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		bounds, ok := right.(*tree.List)
		if !ok || len(bounds.Items) != 2 {
			return &tree.Raw{Why: "BETWEEN without two bounds"}
		}
		return &tree.Op{Name: strings.ToLower(name), Args: []tree.Expr{left, bounds.Items[0], bounds.Items[1]}}
	default:
	}
	return &tree.Raw{Why: "the operator " + name}
}

// matching is a comparison with a pattern. The character of ESCAPE is a third operand; the parser makes a call of it.
func matching(name string, left, pattern tree.Expr) tree.Expr {
	args := []tree.Expr{left, pattern}
	if c, ok := pattern.(*tree.Call); ok && (c.Name == "like_escape" || c.Name == "similar_to_escape") && c.Schema == "" {
		args = append([]tree.Expr{left}, c.Args...)
	}
	return &tree.Op{Name: name, Args: args}
}

// elements returns the elements of an array that is written out, with the cast of the array on each.
func elements(node *pg.Node, e tree.Expr) (*tree.List, bool) {
	if cast := node.GetTypeCast(); cast != nil {
		whole, ok := e.(*tree.Cast)
		if !ok || !strings.HasSuffix(whole.Type, "[]") {
			return nil, false
		}
		inner, ok := elements(cast.GetArg(), whole.Value)
		if !ok {
			return nil, false
		}
		list := &tree.List{}
		for _, item := range inner.Items {
			list.Items = append(list.Items, &tree.Cast{Value: item, Type: strings.TrimSuffix(whole.Type, "[]")})
		}
		return list, true
	}
	array := node.GetAArrayExpr()
	list, ok := e.(*tree.List)
	if array == nil || !ok || len(list.Items) == 0 {
		return nil, false
	}
	for _, item := range list.Items { // not an array of arrays, whose elements are compared one by one
		switch item := item.(type) {
		case *tree.Literal, *tree.Param:
		case *tree.Cast:
			if strings.HasSuffix(item.Type, "[]") {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	return list, true
}

// prefix translates an operator before its operand.
func (t *translator) prefix(a *pg.A_Expr) tree.Expr {
	arg := t.expr(a.GetRexpr())
	switch name := dotted(a.GetName()); name {
	case "-":
		return unary("neg", arg)
	case "+":
		if l, ok := arg.(*tree.Literal); ok && l.Kind == tree.Number {
			return arg
		}
		return &tree.Raw{Why: "the sign +"}
	default:
		return unary(name, arg)
	}
}
