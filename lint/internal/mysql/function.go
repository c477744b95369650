package mysql

import (
	"strings"

	"github.com/sqlc-dev/marino/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// sameFunction gives functions with several names one of them.
var sameFunction = map[string]string{ //nolint:gochecknoglobals // constant
	"current_timestamp": "now", "localtime": "now", "localtimestamp": "now",
	"curdate": "current_date", "curtime": "current_time",
	"adddate": "date_add", "subdate": "date_sub", "lcase": "lower", "ucase": "upper",
	"character_length": "char_length", "ceiling": "ceil", "power": "pow", "mid": "substring", "substr": "substring",
	ast.InsertFunc: "insert", ast.CharFunc: "char",
}

// function translates functions, casts and the keywords that are their arguments.
func (t *translator) function(n ast.ExprNode) tree.Expr {
	switch n := n.(type) {
	case *ast.FuncCallExpr:
		return t.call(n)
	case *ast.FuncCastExpr:
		if n.AtTimeZone != "" {
			return raw("CAST … AT TIME ZONE")
		}
		return &tree.Cast{Value: t.expr(n.Expr), Type: castType(n)}
	case *ast.AggregateFuncExpr:
		return t.aggregate(n)
	case *ast.WindowFuncExpr:
		c := &tree.Call{Name: strings.ToLower(n.Name), Args: t.exprs(n.Args), Distinct: n.Distinct, Over: true}
		c.OrderBy = t.window(&n.Spec, 0)
		return c
	case *ast.TimeUnitExpr:
		return text(strings.ToLower(n.Unit.String()))
	case *ast.TrimDirectionExpr:
		return text(strings.ToLower(n.Direction.String()))
	case *ast.GetFormatSelectorExpr:
		return text(strings.ToLower(n.Selector.String()))
	case *ast.TableNameExpr:
		if n.Name.Schema.L != "" {
			return text(n.Name.Schema.L + "." + n.Name.Name.L)
		}
		return text(n.Name.Name.L)
	case *ast.SetCollationExpr:
		return &tree.Cast{Value: t.expr(n.Expr), Type: "collate " + t.collation(n.Collate)}
	case *ast.MatchAgainst:
		c := &tree.Call{Name: "match"}
		for _, col := range n.ColumnNames {
			c.Args = append(c.Args, t.column(col))
		}
		c.Args = append(c.Args, t.expr(n.Against))
		if n.Modifier.IsBooleanMode() {
			c.Args = append(c.Args, text("boolean"))
		}
		if n.Modifier.WithQueryExpansion() {
			c.Args = append(c.Args, text("expansion"))
		}
		return c
	}
	return raw("a function that the linter does not know")
}

func text(s string) tree.Expr { return &tree.Literal{Kind: tree.String, Text: s} }

func (t *translator) call(n *ast.FuncCallExpr) tree.Expr {
	c := &tree.Call{Schema: n.Schema.L, Name: n.FnName.L}
	if c.Schema == "sqlc" {
		return t.sqlc(n)
	}
	if c.Schema == "" && sameFunction[c.Name] != "" {
		c.Name = sameFunction[c.Name]
	}
	switch {
	case c.Schema != "":
	case c.Name == ast.DateLiteral:
		return &tree.Cast{Value: t.expr(n.Args[0]), Type: "date"}
	case c.Name == ast.TimeLiteral:
		return &tree.Cast{Value: t.expr(n.Args[0]), Type: "time"}
	case c.Name == ast.TimestampLiteral:
		return &tree.Cast{Value: t.expr(n.Args[0]), Type: "datetime"}
	case c.Name == "trim" && len(n.Args) == 3:
		c.Args = t.exprs(n.Args[:2])
		if d, ok := n.Args[2].(*ast.TrimDirectionExpr); ok && d.Direction != ast.TrimBoth {
			c.Name = map[ast.TrimDirectionType]string{ast.TrimLeading: "ltrim", ast.TrimTrailing: "rtrim"}[d.Direction]
		}
		return c
	case c.Name == "char" && len(n.Args) > 0:
		c.Args = t.exprs(n.Args[:len(n.Args)-1])
		if v, ok := n.Args[len(n.Args)-1].(*ast.ValueExprBase); ok && v.Kind() == ast.KindString {
			return &tree.Cast{Value: c, Type: "char character set " + strings.ToLower(v.GetString())}
		}
		return c
	case c.Name == "convert" && len(n.Args) == 2:
		if v, ok := n.Args[1].(*ast.ValueExprBase); ok && v.Kind() == ast.KindString {
			return &tree.Cast{Value: t.expr(n.Args[0]), Type: "char character set " + strings.ToLower(v.GetString())}
		}
	}
	c.Args = t.exprs(n.Args)
	return c
}

// sqlc translates the functions that sqlc replaces with placeholders.
func (t *translator) sqlc(n *ast.FuncCallExpr) tree.Expr {
	if len(n.Args) != 1 {
		return raw("sqlc.%s", n.FnName.L)
	}
	var called string
	switch arg := n.Args[0].(type) {
	case *ast.ColumnNameExpr:
		called = arg.Name.Name.O
	case *ast.ValueExprBase:
		called = arg.GetString()
	}
	switch n.FnName.L {
	case "arg", "narg":
		return &tree.Param{Name: called}
	case "slice":
		return &tree.Param{Name: "slice " + called}
	}
	return raw("sqlc.%s", n.FnName.L)
}

func (t *translator) aggregate(n *ast.AggregateFuncExpr) tree.Expr {
	c := &tree.Call{Name: strings.ToLower(n.F), Args: t.exprs(n.Args), Distinct: n.Distinct, OrderBy: t.orderBy(n.Order)}
	if c.Name != "count" || n.Distinct || len(c.Args) != 1 {
		return c
	}
	if l, ok := c.Args[0].(*tree.Literal); ok && l.Kind == tree.Number {
		c.Args, c.Star = nil, true
	}
	return c
}

// window returns all that a window looks at: its partitions and its order.
func (t *translator) window(spec *ast.WindowSpec, depth int) []tree.Order {
	var all []tree.Order
	for _, base := range []ast.CIStr{spec.Ref, spec.Name} {
		for i := range t.windows {
			if w := &t.windows[i]; base.L != "" && w != spec && w.Name.L == base.L && depth < len(t.windows) {
				all = append(all, t.window(w, depth+1)...)
			}
		}
	}
	if spec.PartitionBy != nil {
		all = append(all, t.byItems(spec.PartitionBy.Items)...)
	}
	return append(all, t.orderBy(spec.OrderBy)...)
}
