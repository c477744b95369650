package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlc-dev/marino/ast"
	"github.com/sqlc-dev/marino/opcode"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// translator turns the syntax tree of one statement into that of package tree.
type translator struct {
	*source
	schemas map[string]string // of the tables that were named without an alias
	windows []ast.WindowSpec  // of the query at hand
	scope   *scope            // of the names of columns where they do not all mean tables; may be nil
}

// fail gives the statement up.
func (t *translator) fail(format string, args ...any) {
	panic(untranslatable(fmt.Sprintf(format, args...))) //nolint:forbidigo // reader.translate recovers
}

func raw(format string, args ...any) tree.Expr {
	return &tree.Raw{Why: fmt.Sprintf(format, args...)}
}

func (t *translator) exprs(nodes []ast.ExprNode) []tree.Expr {
	var all []tree.Expr
	for _, n := range nodes {
		all = append(all, t.expr(n))
	}
	return all
}

// expr translates an expression; nil is a missing one.
func (t *translator) expr(n ast.ExprNode) tree.Expr {
	switch n := n.(type) {
	case nil:
		return nil
	case *ast.ParenthesesExpr:
		return t.expr(n.Expr)
	case *ast.ColumnNameExpr:
		return t.column(n.Name)
	case *ast.ValueExprBase:
		return t.literal(n)
	case *ast.ParamMarkerExprBase:
		return &tree.Param{Name: t.params[n.Offset]}
	case *ast.BinaryOperationExpr:
		return t.binary(n)
	case *ast.UnaryOperationExpr:
		return t.unary(n)
	case *ast.CaseExpr:
		return t.caseExpr(n)
	case *ast.DefaultExpr:
		if n.Name == nil {
			return &tree.Default{}
		}
		return &tree.Call{Name: "default", Args: []tree.Expr{&tree.Column{Table: n.Name.Table.L, Name: n.Name.Name.L}}}
	case *ast.RowExpr:
		return &tree.List{Items: t.exprs(n.Values)}
	case *ast.VariableExpr:
		if n.IsSystem && n.Value == nil {
			return &tree.Call{Name: "@@" + strings.ToLower(n.Name)}
		}
		return raw("variable @%s", n.Name)
	case *ast.ValuesExpr:
		return t.inserted(n.Column)
	case *ast.FuncCallExpr, *ast.FuncCastExpr, *ast.AggregateFuncExpr, *ast.WindowFuncExpr,
		*ast.TrimDirectionExpr, *ast.TimeUnitExpr, *ast.GetFormatSelectorExpr, *ast.TableNameExpr,
		*ast.SetCollationExpr, *ast.MatchAgainst:
		return t.function(n)
	}
	return t.predicate(n)
}

// predicate translates what has a truth value, and queries.
func (t *translator) predicate(n ast.ExprNode) tree.Expr {
	switch n := n.(type) {
	case *ast.IsNullExpr:
		return &tree.Op{Name: "is" + not(n.Not) + " null", Args: []tree.Expr{t.expr(n.Expr)}}
	case *ast.IsTruthExpr:
		truth := " false"
		if n.True > 0 {
			truth = " true"
		}
		return &tree.Op{Name: "is" + not(n.Not) + truth, Args: []tree.Expr{t.expr(n.Expr)}}
	case *ast.BetweenExpr:
		return &tree.Op{
			Name: strings.TrimSpace(not(n.Not) + " between"),
			Args: []tree.Expr{t.expr(n.Expr), t.expr(n.Left), t.expr(n.Right)},
		}
	case *ast.PatternLikeOrIlikeExpr:
		like := &tree.Op{Name: strings.TrimSpace(not(n.Not) + " like"), Args: []tree.Expr{t.expr(n.Expr), t.expr(n.Pattern)}}
		if !n.IsLike {
			return raw("ILIKE")
		}
		if n.EscapeExplicit && n.Escape != '\\' {
			like.Args = append(like.Args, &tree.Literal{Kind: tree.String, Text: strings.Trim(string(rune(n.Escape)), "\x00")})
		}
		return like
	case *ast.PatternRegexpExpr:
		return &tree.Op{Name: strings.TrimSpace(not(n.Not) + " regexp"), Args: []tree.Expr{t.expr(n.Expr), t.expr(n.Pattern)}}
	case *ast.PatternInExpr:
		in := strings.TrimSpace(not(n.Not) + " in")
		if n.Sel != nil {
			return &tree.Query{Kind: among(n.Not), Left: t.expr(n.Expr), Select: t.subquery(n.Sel)}
		}
		return &tree.Op{Name: in, Args: []tree.Expr{t.expr(n.Expr), &tree.List{Items: t.exprs(n.List)}}}
	case *ast.ExistsSubqueryExpr:
		q := &tree.Query{Kind: tree.Exists, Select: t.subquery(n.Sel)}
		if n.Not {
			return &tree.Op{Name: "not", Args: []tree.Expr{q}}
		}
		return q
	case *ast.CompareSubqueryExpr:
		kind := tree.Any
		if n.All {
			kind = tree.All
		}
		return &tree.Query{Kind: kind, Left: t.expr(n.L), Op: t.operator(n.Op), Select: t.subquery(n.R)}
	case *ast.SubqueryExpr:
		return &tree.Query{Kind: tree.Scalar, Select: t.subquery(n)}
	}
	return raw("an expression that the linter does not know (%T)", n)
}

// among is the kind of IN and of NOT IN.
func among(not bool) tree.QueryKind {
	if not {
		return tree.NotIn
	}
	return tree.In
}

func not(is bool) string {
	if is {
		return " not"
	}
	return ""
}

var operators = map[opcode.Op]string{ //nolint:gochecknoglobals // constant
	opcode.LogicAnd: "and", opcode.LogicOr: "or", opcode.LogicXor: "xor",
	opcode.GE: ">=", opcode.LE: "<=", opcode.EQ: "=", opcode.NE: "<>", opcode.LT: "<", opcode.GT: ">",
	opcode.NullEQ: "is not distinct from", opcode.Plus: "+", opcode.Minus: "-", opcode.Mul: "*",
	opcode.Div: "/", opcode.Mod: "%", opcode.IntDiv: "div", opcode.And: "&", opcode.Or: "|",
	opcode.Xor: "^", opcode.LeftShift: "<<", opcode.RightShift: ">>",
}

func (t *translator) operator(op opcode.Op) string {
	found, ok := operators[op]
	if !ok {
		t.fail("operator %s", op)
	}
	return found
}

// binary translates an operator of two operands. and and or take those of the same operators in them,
// which are as deep on the left as the chain is long.
func (t *translator) binary(n *ast.BinaryOperationExpr) tree.Expr {
	op := &tree.Op{Name: t.operator(n.Op)}
	if n.Op != opcode.LogicAnd && n.Op != opcode.LogicOr {
		op.Args = []tree.Expr{t.expr(n.L), t.expr(n.R)}
		return op
	}
	var left ast.ExprNode = n
	for {
		chain, ok := bare(left).(*ast.BinaryOperationExpr)
		if !ok || chain.Op != n.Op {
			break
		}
		op.Pipes = op.Pipes || t.before(chain.R.OriginTextPosition()) == "||"
		op.Args = append(op.Args, t.expr(chain.R))
		left = chain.L
	}
	op.Args = append(op.Args, t.expr(left))
	slices.Reverse(op.Args)
	var flat []tree.Expr
	for _, arg := range op.Args {
		if same, ok := arg.(*tree.Op); ok && same.Name == op.Name {
			op.Pipes = op.Pipes || same.Pipes
			flat = append(flat, same.Args...)
		} else {
			flat = append(flat, arg)
		}
	}
	op.Args = flat
	return op
}

// bare takes the brackets off.
func bare(n ast.ExprNode) ast.ExprNode {
	for {
		inner, ok := n.(*ast.ParenthesesExpr)
		if !ok {
			return n
		}
		n = inner.Expr
	}
}

func (t *translator) unary(n *ast.UnaryOperationExpr) tree.Expr {
	arg := t.expr(n.V)
	switch n.Op { //nolint:exhaustive // the others have two operands
	case opcode.Not, opcode.Not2:
		if n.Op == opcode.Not && hasFirstOperand(n.V) {
			return &tree.Op{Name: "not?", Args: []tree.Expr{arg}}
		}
		return &tree.Op{Name: "not", Args: []tree.Expr{arg}}
	case opcode.BitNeg:
		return &tree.Op{Name: "~", Args: []tree.Expr{arg}}
	case opcode.Plus:
		return arg
	case opcode.Minus:
		if l, ok := arg.(*tree.Literal); ok && l.Kind == tree.Number && !strings.HasPrefix(l.Text, "-") {
			return &tree.Literal{Kind: tree.Number, Text: "-" + l.Text}
		}
		return &tree.Op{Name: "neg", Args: []tree.Expr{arg}}
	}
	return raw("operator %s", n.Op)
}

// hasFirstOperand reports whether an operand of NOT has a first operand of its own, which NOT may be about.
func hasFirstOperand(n ast.ExprNode) bool {
	switch n.(type) {
	case *ast.BinaryOperationExpr, *ast.BetweenExpr, *ast.PatternInExpr, *ast.PatternLikeOrIlikeExpr, *ast.PatternRegexpExpr,
		*ast.IsNullExpr, *ast.IsTruthExpr, *ast.CompareSubqueryExpr:
		return true
	}
	return false
}

func (t *translator) caseExpr(n *ast.CaseExpr) tree.Expr {
	c := &tree.Case{Operand: t.expr(n.Value), Else: t.expr(n.ElseClause)}
	for _, w := range n.WhenClauses {
		c.Whens = append(c.Whens, tree.Branching{If: t.expr(w.Expr), Then: t.expr(w.Result)})
	}
	return c
}
