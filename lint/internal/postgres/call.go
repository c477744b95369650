package postgres

import (
	"strconv"
	"strings"

	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// call translates functions and the keywords that are like functions.
func (t *translator) call(node *pg.Node) tree.Expr {
	switch n := node.GetNode().(type) {
	case *pg.Node_FuncCall:
		return t.function(n.FuncCall)
	case *pg.Node_CoalesceExpr:
		return &tree.Call{Name: "coalesce", Args: t.exprs(n.CoalesceExpr.GetArgs())}
	case *pg.Node_MinMaxExpr:
		name := "least"
		if n.MinMaxExpr.GetOp() == pg.MinMaxOp_IS_GREATEST {
			name = "greatest"
		}
		return &tree.Call{Name: name, Args: t.exprs(n.MinMaxExpr.GetArgs())}
	case *pg.Node_SqlvalueFunction:
		return keyword(n.SqlvalueFunction)
	case *pg.Node_NamedArgExpr:
		return unary("=> "+n.NamedArgExpr.GetName(), t.expr(n.NamedArgExpr.GetArg()))
	case *pg.Node_GroupingFunc:
		return &tree.Call{Name: "grouping", Args: t.exprs(n.GroupingFunc.GetArgs())}
	case *pg.Node_MergeSupportFunc:
		return &tree.Call{Name: "merge_action"}
	case *pg.Node_XmlExpr, *pg.Node_XmlSerialize:
		return &tree.Raw{Why: "an XML expression"}
	case *pg.Node_JsonIsPredicate:
		if n.JsonIsPredicate.GetItemType() == pg.JsonValueType_JS_TYPE_ANY && !n.JsonIsPredicate.GetUniqueKeys() {
			return unary("is json", t.expr(n.JsonIsPredicate.GetExpr()))
		}
		return &tree.Raw{Why: "IS JSON of one kind"}
	}
	return t.json(node)
}

// json translates the JSON functions of the standard to calls on their values.
func (t *translator) json(node *pg.Node) tree.Expr {
	switch n := node.GetNode().(type) {
	case *pg.Node_JsonObjectConstructor:
		call := &tree.Call{Name: "json_object"}
		for _, pair := range n.JsonObjectConstructor.GetExprs() {
			kv := pair.GetJsonKeyValue()
			call.Args = append(call.Args, t.expr(kv.GetKey()), t.expr(kv.GetValue().GetRawExpr()))
		}
		return call
	case *pg.Node_JsonArrayConstructor:
		call := &tree.Call{Name: "json_array"}
		for _, v := range n.JsonArrayConstructor.GetExprs() {
			call.Args = append(call.Args, t.expr(v.GetJsonValueExpr().GetRawExpr()))
		}
		return call
	case *pg.Node_JsonFuncExpr:
		f := n.JsonFuncExpr
		call := &tree.Call{
			Name: strings.TrimSuffix(strings.ToLower(f.GetOp().String()), "_op"),
			Args: []tree.Expr{t.expr(f.GetContextItem().GetRawExpr()), t.expr(f.GetPathspec())},
		}
		for _, p := range f.GetPassing() {
			call.Args = append(call.Args, t.expr(p.GetJsonArgument().GetVal().GetRawExpr()))
		}
		for _, b := range []*pg.JsonBehavior{f.GetOnEmpty(), f.GetOnError()} {
			if e := t.expr(b.GetExpr()); e != nil {
				call.Args = append(call.Args, e)
			}
		}
		return call
	}
	return unknown(node)
}

// keywords are the functions without parentheses. Those that are the start of the transaction in the type
// timestamptz are now.
var keywords = map[pg.SQLValueFunctionOp]string{ //nolint:gochecknoglobals // constant
	pg.SQLValueFunctionOp_SVFOP_CURRENT_DATE:        "current_date",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIME:        "current_time",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIME_N:      "current_time",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP:   "now",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP_N: "now",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIME:           "localtime",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIME_N:         "localtime",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP:      "localtimestamp",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP_N:    "localtimestamp",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_ROLE:        "current_role",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_USER:        "current_user",
	pg.SQLValueFunctionOp_SVFOP_USER:                "user",
	pg.SQLValueFunctionOp_SVFOP_SESSION_USER:        "session_user",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG:     "current_catalog",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:      "current_schema",
}

func keyword(f *pg.SQLValueFunction) tree.Expr {
	name, ok := keywords[f.GetOp()]
	if !ok {
		return &tree.Raw{Why: "the keyword " + f.GetOp().String()}
	}
	call := &tree.Call{Name: name}
	if strings.HasSuffix(f.GetOp().String(), "_N") {
		call.Args = []tree.Expr{&tree.Literal{Kind: tree.Number, Text: strconv.Itoa(int(f.GetTypmod()))}}
	}
	return call
}

// function translates a call. A window is kept by the expressions that it partitions and orders by.
func (t *translator) function(f *pg.FuncCall) tree.Expr {
	names := words(f.GetFuncname())
	if len(names) == 2 && names[0] == "sqlc" {
		return t.sqlc(names[1], f.GetArgs())
	}
	name := qualified(names)
	if name.Schema == "pg_catalog" {
		name.Schema = ""
	}
	call := &tree.Call{
		Schema: name.Schema, Name: name.Name, Args: t.exprs(f.GetArgs()), Star: f.GetAggStar(), Distinct: f.GetAggDistinct(),
		Over: f.GetOver() != nil, Filter: t.expr(f.GetAggFilter()), OrderBy: t.orders(f.GetAggOrder()),
	}
	if name.Schema == "" {
		switch {
		case name.Name == "transaction_timestamp" && len(call.Args) == 0:
			call.Name = "now"
		case name.Name == "btrim":
			call.Name = "trim"
		}
	}
	if f.GetFuncVariadic() && len(call.Args) > 0 {
		last := len(call.Args) - 1
		call.Args[last] = unary("variadic", call.Args[last])
	}
	if f.GetOver() != nil {
		call.OrderBy = append(call.OrderBy, t.window(f.GetOver())...)
	}
	return call
}

// window returns what a window depends on, and the windows that it builds on.
func (t *translator) window(w *pg.WindowDef) []tree.Order {
	var all []tree.Order
	for seen := map[*pg.WindowDef]bool{}; w != nil && !seen[w]; {
		seen[w] = true
		before := len(all)
		for _, e := range t.exprs(w.GetPartitionClause()) {
			all = append(all, tree.Order{Expr: e})
		}
		all = append(all, t.orders(w.GetOrderClause())...)
		for _, n := range []*pg.Node{w.GetStartOffset(), w.GetEndOffset()} {
			if e := t.expr(n); e != nil {
				all = append(all, tree.Order{Expr: e})
			}
		}
		name := w.GetRefname()
		if name == "" && len(all) == before {
			name = w.GetName()
		}
		if name == "" {
			return all
		}
		if w = t.windowNamed(name); w == nil {
			all = append(all, tree.Order{Expr: &tree.Raw{Why: "the window " + name}})
		}
	}
	return all
}

// windowNamed returns the definition of a window in the query, or nil.
func (t *translator) windowNamed(name string) *pg.WindowDef {
	if len(t.windows) == 0 {
		return nil
	}
	return t.windows[len(t.windows)-1][name]
}

// sqlc translates sqlc.arg(name) and its like, which are placeholders.
func (t *translator) sqlc(kind string, args []*pg.Node) tree.Expr {
	if len(args) != 1 {
		return &tree.Raw{Why: "sqlc." + kind}
	}
	name := args[0].GetAConst().GetSval().GetSval()
	if fields := args[0].GetColumnRef().GetFields(); len(fields) == 1 {
		name = fields[0].GetString_().GetSval()
	}
	switch {
	case name == "":
	case kind == "arg" || kind == "narg" || kind == "slice":
		return &tree.Param{Name: name}
	case kind == "embed":
		return &tree.Star{Table: name}
	}
	return &tree.Raw{Why: "sqlc." + kind}
}
