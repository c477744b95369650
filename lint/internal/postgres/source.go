package postgres

import (
	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func (t *translator) from(list []*pg.Node) []tree.Source {
	var all []tree.Source
	for _, n := range list {
		all = append(all, t.sourceOf(n))
	}
	return all
}

// sourceOf translates one element of FROM. What is not known is a function that is [tree.Raw].
func (t *translator) sourceOf(node *pg.Node) tree.Source {
	switch n := node.GetNode().(type) {
	case *pg.Node_RangeVar:
		return t.table(n.RangeVar)
	case *pg.Node_RangeSubselect:
		s := n.RangeSubselect
		q, ok := t.query(s.GetSubquery())
		if !ok {
			break
		}
		return &tree.Derived{Query: q, As: s.GetAlias().GetAliasname(), Columns: words(s.GetAlias().GetColnames()), Lateral: s.GetLateral()}
	case *pg.Node_RangeFunction:
		return t.rowsFrom(n.RangeFunction)
	case *pg.Node_JoinExpr:
		return t.join(n.JoinExpr)
	case *pg.Node_RangeTableSample:
		v := n.RangeTableSample.GetRelation().GetRangeVar()
		name := v.GetAlias().GetAliasname()
		if name == "" {
			name = v.GetRelname()
		}
		return strange("TABLESAMPLE", name)
	case *pg.Node_RangeTableFunc:
		return strange("XMLTABLE", n.RangeTableFunc.GetAlias().GetAliasname())
	case *pg.Node_JsonTable:
		return strange("JSON_TABLE", n.JsonTable.GetAlias().GetAliasname())
	}
	return strange("an element of FROM that is not known", "")
}

// strange is a source that is not translated.
func strange(why, as string) tree.Source {
	return &tree.Function{Call: &tree.Raw{Why: why}, As: as}
}

// table translates the name of a table. With new names for its columns it is a query on the table.
func (t *translator) table(v *pg.RangeVar) tree.Source {
	ref := &tree.TableRef{Name: relation(v), As: v.GetAlias().GetAliasname()}
	if names := words(v.GetAlias().GetColnames()); names != nil {
		inner := &tree.Select{Items: []tree.Item{{Expr: &tree.Star{}}}, From: []tree.Source{&tree.TableRef{Name: ref.Name}}}
		return &tree.Derived{Query: inner, As: ref.As, Columns: names}
	}
	return ref
}

// rowsFrom translates functions in FROM; those of ROWS FROM are a list.
func (t *translator) rowsFrom(f *pg.RangeFunction) tree.Source {
	src := &tree.Function{As: f.GetAlias().GetAliasname(), Columns: words(f.GetAlias().GetColnames())}
	var calls []tree.Expr
	defined := f.GetColdeflist()
	for _, n := range f.GetFunctions() {
		items := n.GetList().GetItems()
		if len(items) == 0 {
			return strange("a function in FROM", src.As)
		}
		calls = append(calls, t.expr(items[0]))
		if len(items) > 1 && items[1].GetNode() != nil {
			defined = append(defined, items[1].GetList().GetItems()...)
		}
	}
	if src.Columns == nil {
		for _, c := range defined {
			src.Columns = append(src.Columns, c.GetColumnDef().GetColname())
		}
	}
	src.Call = &tree.List{Items: calls}
	if len(calls) == 1 {
		src.Call = calls[0]
	}
	return src
}

func (t *translator) join(j *pg.JoinExpr) tree.Source {
	if j.GetJoinUsingAlias() != nil {
		return strange("JOIN … USING (…) AS", j.GetAlias().GetAliasname())
	}
	out := &tree.Join{
		Left: t.sourceOf(j.GetLarg()), Right: t.sourceOf(j.GetRarg()), On: t.expr(j.GetQuals()),
		Using: words(j.GetUsingClause()), Natural: j.GetIsNatural(),
	}
	switch j.GetJointype() { //nolint:exhaustive // the others are refused
	case pg.JoinType_JOIN_INNER:
		out.Kind = "inner"
		if out.On == nil && out.Using == nil && !out.Natural {
			out.Kind = "cross"
		}
	case pg.JoinType_JOIN_LEFT:
		out.Kind = "left"
	case pg.JoinType_JOIN_RIGHT:
		out.Kind = "right"
	case pg.JoinType_JOIN_FULL:
		out.Kind = "full"
	default:
		return strange("a join that is not known", "")
	}
	if a := j.GetAlias(); a != nil {
		inner := &tree.Select{Items: []tree.Item{{Expr: &tree.Star{}}}, From: []tree.Source{out}}
		return &tree.Derived{Query: inner, As: a.GetAliasname(), Columns: words(a.GetColnames())}
	}
	return out
}
