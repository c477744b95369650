package postgres

import (
	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// query translates a node that must be a query.
func (t *translator) query(node *pg.Node) (*tree.Select, bool) {
	if node.GetSelectStmt() == nil {
		return nil, false
	}
	return t.selectOf(node.GetSelectStmt()), true
}

func (t *translator) selectOf(s *pg.SelectStmt) *tree.Select {
	windows := map[string]*pg.WindowDef{}
	for _, n := range s.GetWindowClause() {
		windows[n.GetWindowDef().GetName()] = n.GetWindowDef()
	}
	t.windows = append(t.windows, windows)
	defer func() { t.windows = t.windows[:len(t.windows)-1] }()

	q := &tree.Select{
		With: t.with(s.GetWithClause()), Items: t.items(s.GetTargetList()), From: t.from(s.GetFromClause()),
		Where: t.expr(s.GetWhereClause()), GroupBy: t.exprs(s.GetGroupClause()), Having: t.expr(s.GetHavingClause()),
		OrderBy: t.orders(s.GetSortClause()), Limit: t.limit(s), Offset: t.expr(s.GetLimitOffset()),
		Locks: len(s.GetLockingClause()) > 0, Into: s.GetIntoClause() != nil,
	}
	if s.GetGroupDistinct() {
		q.GroupBy = []tree.Expr{&tree.Op{Name: "distinct", Args: q.GroupBy}}
	}
	for _, n := range s.GetDistinctClause() {
		if e := t.expr(n); e != nil {
			q.DistinctOn = append(q.DistinctOn, e)
		}
	}
	q.Distinct = len(s.GetDistinctClause()) > 0 && q.DistinctOn == nil
	for _, n := range s.GetLockingClause() {
		q.Skips = q.Skips || n.GetLockingClause().GetWaitPolicy() == pg.LockWaitPolicy_LockWaitSkip
	}
	for _, row := range s.GetValuesLists() {
		q.Values = append(q.Values, t.exprs(row.GetList().GetItems()))
	}
	t.combine(q, s)
	return q
}

// combine translates the sides of a set operation.
func (t *translator) combine(q *tree.Select, s *pg.SelectStmt) {
	switch s.GetOp() { //nolint:exhaustive // the others combine nothing
	case pg.SetOperation_SETOP_UNION:
		q.SetOp = "union"
	case pg.SetOperation_SETOP_INTERSECT:
		q.SetOp = "intersect"
	case pg.SetOperation_SETOP_EXCEPT:
		q.SetOp = "except"
	default:
		return
	}
	if s.GetAll() {
		q.SetOp += " all"
	}
	q.Left, q.Right = t.selectOf(s.GetLarg()), t.selectOf(s.GetRarg())
	q.Into = q.Into || q.Left.Into
}

// limit returns the count of LIMIT; LIMIT ALL limits nothing.
func (t *translator) limit(s *pg.SelectStmt) tree.Expr {
	if s.GetLimitCount().GetAConst().GetIsnull() {
		return nil
	}
	count := t.expr(s.GetLimitCount())
	if count != nil && s.GetLimitOption() == pg.LimitOption_LIMIT_OPTION_WITH_TIES {
		return unary("with ties", count)
	}
	return count
}

func (t *translator) with(w *pg.WithClause) []tree.With {
	var all []tree.With
	for _, n := range w.GetCtes() {
		c := n.GetCommonTableExpr()
		one := tree.With{Name: c.GetCtename(), Columns: words(c.GetAliascolnames()), Recursive: w.GetRecursive()}
		if c.GetSearchClause() != nil || c.GetCycleClause() != nil {
			one.Body = &tree.Opaque{Why: "SEARCH or CYCLE"}
		} else {
			one.Body = t.statement(c.GetCtequery())
		}
		all = append(all, one)
	}
	return all
}

// items translates the columns of a result.
func (t *translator) items(list []*pg.Node) []tree.Item {
	var all []tree.Item
	for _, n := range list {
		r := n.GetResTarget()
		item := tree.Item{Expr: t.expr(r.GetVal()), As: r.GetName()}
		if item.Expr == nil || len(r.GetIndirection()) > 0 {
			item.Expr = &tree.Raw{Why: "a column of the result"}
		}
		all = append(all, item)
	}
	return all
}

func (t *translator) orders(list []*pg.Node) []tree.Order {
	var all []tree.Order
	for _, n := range list {
		s := n.GetSortBy()
		o := tree.Order{Expr: t.expr(s.GetNode()), Desc: s.GetSortbyDir() == pg.SortByDir_SORTBY_DESC}
		if s.GetSortbyDir() == pg.SortByDir_SORTBY_USING {
			o.Expr = unary("using "+dotted(s.GetUseOp()), o.Expr)
		}
		all = append(all, o)
	}
	return all
}
