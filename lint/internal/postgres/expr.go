package postgres

import (
	"fmt"
	"strconv"
	"strings"

	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// exprs translates a list of expressions.
func (t *translator) exprs(list []*pg.Node) []tree.Expr {
	var all []tree.Expr
	for _, n := range list {
		all = append(all, t.expr(n))
	}
	return all
}

// expr translates an expression; an absent one is nil.
func (t *translator) expr(node *pg.Node) tree.Expr {
	if node == nil || node.GetNode() == nil {
		return nil
	}
	switch n := node.GetNode().(type) {
	case *pg.Node_AConst:
		return literal(n.AConst)
	case *pg.Node_ColumnRef:
		return t.column(n.ColumnRef)
	case *pg.Node_ParamRef:
		return t.param(n.ParamRef)
	case *pg.Node_AExpr:
		return t.operator(n.AExpr)
	case *pg.Node_BoolExpr:
		return t.boolean(n.BoolExpr)
	case *pg.Node_NullTest:
		return unary(map[pg.NullTestType]string{pg.NullTestType_IS_NULL: "is null", pg.NullTestType_IS_NOT_NULL: "is not null"}[n.NullTest.GetNulltesttype()],
			t.expr(n.NullTest.GetArg()))
	case *pg.Node_BooleanTest:
		return unary(strings.ReplaceAll(strings.ToLower(n.BooleanTest.GetBooltesttype().String()), "_", " "), t.expr(n.BooleanTest.GetArg()))
	case *pg.Node_SubLink:
		return t.subquery(n.SubLink)
	case *pg.Node_CaseExpr:
		return t.caseOf(n.CaseExpr)
	case *pg.Node_TypeCast:
		return &tree.Cast{Value: t.expr(n.TypeCast.GetArg()), Type: typeName(n.TypeCast.GetTypeName())}
	case *pg.Node_CollateClause:
		return collate(t.expr(n.CollateClause.GetArg()), n.CollateClause.GetCollname())
	case *pg.Node_AIndirection:
		return t.indirection(n.AIndirection)
	case *pg.Node_AArrayExpr:
		return &tree.List{Items: t.exprs(n.AArrayExpr.GetElements())}
	case *pg.Node_RowExpr:
		return &tree.List{Items: t.exprs(n.RowExpr.GetArgs())}
	case *pg.Node_List:
		return &tree.List{Items: t.exprs(n.List.GetItems())}
	case *pg.Node_SetToDefault:
		return &tree.Default{}
	case *pg.Node_AStar:
		return &tree.Star{}
	case *pg.Node_GroupingSet:
		return t.groupingSet(n.GroupingSet)
	}
	return t.call(node)
}

// unary is an operator on one operand; without a name, it is not known.
func unary(name string, arg tree.Expr) tree.Expr {
	if name == "" {
		return &tree.Raw{Why: "an operator that is not known"}
	}
	return &tree.Op{Name: name, Args: []tree.Expr{arg}}
}

// collate names the collation of an expression.
func collate(e tree.Expr, names []*pg.Node) tree.Expr {
	return &tree.Op{Name: "collate", Args: []tree.Expr{e, &tree.Literal{Kind: tree.String, Text: dotted(names)}}}
}

// literal translates a constant. A bit string is a cast of its text.
func literal(c *pg.A_Const) tree.Expr {
	switch v := c.GetVal().(type) {
	case *pg.A_Const_Ival:
		return &tree.Literal{Kind: tree.Number, Text: strconv.Itoa(int(v.Ival.GetIval()))}
	case *pg.A_Const_Fval:
		return &tree.Literal{Kind: tree.Number, Text: v.Fval.GetFval()}
	case *pg.A_Const_Boolval:
		return &tree.Literal{Kind: tree.Bool, Text: strconv.FormatBool(v.Boolval.GetBoolval())}
	case *pg.A_Const_Sval:
		return &tree.Literal{Kind: tree.String, Text: v.Sval.GetSval()}
	case *pg.A_Const_Bsval:
		return &tree.Cast{Value: &tree.Literal{Kind: tree.String, Text: v.Bsval.GetBsval()}, Type: "bit"}
	}
	if c.GetIsnull() {
		return &tree.Literal{Kind: tree.Null}
	}
	return &tree.Raw{Why: "a constant that is not known"}
}

// column translates a name: a column, the row of a source, or a star.
func (t *translator) column(c *pg.ColumnRef) tree.Expr {
	fields := c.GetFields()
	n := len(fields)
	if n == 0 {
		return &tree.Raw{Why: "a name without parts"}
	}
	parts := words(fields)
	table := ""
	if n > 1 {
		table = parts[n-2]
	}
	if n > 3 || n == 3 && len(t.scope.tables[table]) > 1 {
		return &tree.Raw{Why: "the qualifier of " + strings.Join(parts, ".")}
	}
	if fields[n-1].GetAStar() != nil {
		return &tree.Star{Table: table}
	}
	if n == 1 && t.scope.isRow(parts[0]) {
		return &tree.Star{Table: parts[0]}
	}
	return &tree.Column{Table: table, Name: parts[n-1]}
}

func (t *translator) param(p *pg.ParamRef) tree.Expr {
	n := int(p.GetNumber())
	if name, ok := t.params[n]; ok {
		return &tree.Param{Name: name}
	}
	return &tree.Param{Name: strconv.Itoa(n)}
}

// boolean translates AND, OR and NOT. NOT of `x IN (query)` is "not in", as it was written.
func (t *translator) boolean(b *pg.BoolExpr) tree.Expr {
	switch b.GetBoolop() { //nolint:exhaustive // the others are refused
	case pg.BoolExprType_AND_EXPR:
		return t.flat("and", b.GetArgs())
	case pg.BoolExprType_OR_EXPR:
		return t.flat("or", b.GetArgs())
	case pg.BoolExprType_NOT_EXPR:
		if len(b.GetArgs()) == 1 {
			arg := t.expr(b.GetArgs()[0])
			if q, ok := arg.(*tree.Query); ok && q.Kind == tree.In {
				q.Kind = tree.NotIn
				return q
			}
			return unary("not", arg)
		}
	default:
	}
	return &tree.Raw{Why: "a logical operator that is not known"}
}

// flat joins the operands of nested operators of one name.
func (t *translator) flat(name string, args []*pg.Node) tree.Expr {
	op := &tree.Op{Name: name}
	for _, arg := range args {
		e := t.expr(arg)
		if inner, ok := e.(*tree.Op); ok && inner.Name == name {
			op.Args = append(op.Args, inner.Args...)
		} else {
			op.Args = append(op.Args, e)
		}
	}
	return op
}

func (t *translator) subquery(s *pg.SubLink) tree.Expr {
	body, ok := t.query(s.GetSubselect())
	if !ok {
		return &tree.Raw{Why: "a subquery that is not a query"}
	}
	q := &tree.Query{Select: body, Left: t.expr(s.GetTestexpr())}
	switch s.GetSubLinkType() { //nolint:exhaustive // the others are refused
	case pg.SubLinkType_EXISTS_SUBLINK:
		q.Kind = tree.Exists
	case pg.SubLinkType_EXPR_SUBLINK:
		q.Kind = tree.Scalar
	case pg.SubLinkType_ARRAY_SUBLINK:
		q.Kind = tree.Array
	case pg.SubLinkType_ALL_SUBLINK:
		q.Kind, q.Op = tree.All, operatorName(s.GetOperName())
	case pg.SubLinkType_ANY_SUBLINK:
		q.Kind = tree.In
		if s.GetOperName() != nil {
			q.Kind, q.Op = tree.Any, operatorName(s.GetOperName())
		}
	default:
		return &tree.Raw{Why: "a subquery of a kind that is not known"}
	}
	return q
}

func (t *translator) caseOf(c *pg.CaseExpr) tree.Expr {
	e := &tree.Case{Operand: t.expr(c.GetArg()), Else: t.expr(c.GetDefresult())}
	for _, n := range c.GetArgs() {
		w := n.GetCaseWhen()
		e.Whens = append(e.Whens, tree.Branching{If: t.expr(w.GetExpr()), Then: t.expr(w.GetResult())})
	}
	return e
}

// indirection translates fields and subscripts. `(t).c` is the column c when t is a source.
func (t *translator) indirection(i *pg.A_Indirection) tree.Expr {
	e := t.expr(i.GetArg())
	for _, n := range i.GetIndirection() {
		switch {
		case n.GetString_() != nil:
			name := n.GetString_().GetSval()
			if row, ok := e.(*tree.Star); ok && row.Table != "" {
				e = &tree.Column{Table: row.Table, Name: name}
			} else {
				e = unary("."+name, e)
			}
		case n.GetAStar() != nil:
			return &tree.Raw{Why: "all fields of a row"}
		case n.GetAIndices().GetIsSlice():
			bounds := []tree.Expr{e}
			for _, bound := range []*pg.Node{n.GetAIndices().GetLidx(), n.GetAIndices().GetUidx()} {
				if at := t.expr(bound); at != nil {
					bounds = append(bounds, at)
				} else {
					bounds = append(bounds, &tree.Literal{Kind: tree.Null})
				}
			}
			e = &tree.Op{Name: "[:]", Args: bounds}
		case n.GetAIndices() != nil:
			e = &tree.Op{Name: "[]", Args: []tree.Expr{e, t.expr(n.GetAIndices().GetUidx())}}
		default:
			return &tree.Raw{Why: "a part of a value"}
		}
	}
	return e
}

// groupingSet translates ROLLUP, CUBE and GROUPING SETS to operators of these names.
func (t *translator) groupingSet(g *pg.GroupingSet) tree.Expr {
	if g.GetKind() == pg.GroupingSetKind_GROUPING_SET_EMPTY {
		return &tree.List{}
	}
	name := strings.ToLower(strings.TrimPrefix(g.GetKind().String(), "GROUPING_SET_"))
	return &tree.Op{Name: name, Args: t.exprs(g.GetContent())}
}

// unknown is an expression of a kind that is not translated.
func unknown(node *pg.Node) tree.Expr {
	return &tree.Raw{Why: "the expression " + strings.TrimPrefix(fmt.Sprintf("%T", node.GetNode()), "*ast.Node_")}
}
