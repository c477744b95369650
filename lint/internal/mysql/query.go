package mysql

import (
	"github.com/sqlc-dev/marino/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// subquery translates a query within an expression.
func (t *translator) subquery(n ast.ExprNode) *tree.Select {
	sub, ok := n.(*ast.SubqueryExpr)
	if !ok {
		t.fail("an unreadable subquery")
	}
	if t.scope != nil {
		t.scope.within++
		defer func() { t.scope.within-- }()
	}
	return t.query(sub.Query)
}

// query translates SELECT, TABLE, VALUES and set operations.
func (t *translator) query(n ast.Node) *tree.Select {
	switch n := n.(type) {
	case *ast.SelectStmt:
		return t.selectStmt(n)
	case *ast.SetOprStmt:
		s := t.setOperation(n.SelectList)
		return t.outer(s, n.With, n.OrderBy, n.Limit)
	case *ast.SetOprSelectList:
		s := t.setOperation(n)
		return t.outer(s, n.With, n.OrderBy, n.Limit)
	case *ast.SubqueryExpr:
		return t.query(n.Query)
	}
	t.fail("a query that the linter does not know (%T)", n)
	return nil
}

// outer adds the clauses of a query in brackets. One that has them itself becomes a table.
func (t *translator) outer(s *tree.Select, with *ast.WithClause, order *ast.OrderByClause, limit *ast.Limit) *tree.Select {
	if with == nil && order == nil && limit == nil {
		return s
	}
	if s.With != nil || s.OrderBy != nil || s.Limit != nil || s.Offset != nil || s.SetOp == "" {
		s = &tree.Select{Items: []tree.Item{{Expr: &tree.Star{}}}, From: []tree.Source{&tree.Derived{Query: s}}}
	}
	s.With = t.with(with)
	s.OrderBy = t.orderBy(order)
	t.limit(limit, &s.Limit, &s.Offset)
	return s
}

// setOperation joins queries. INTERSECT binds closer than the others.
func (t *translator) setOperation(list *ast.SetOprSelectList) *tree.Select {
	var (
		all []*tree.Select
		ops []string
	)
	for i, n := range list.Selects {
		one := t.query(n)
		if i == 0 {
			all = append(all, one)
			continue
		}
		op := t.setOperator(n)
		if op == "intersect" || op == "intersect all" {
			last := len(all) - 1
			all[last] = &tree.Select{SetOp: op, Left: all[last], Right: one}
			continue
		}
		all, ops = append(all, one), append(ops, op)
	}
	if len(all) == 0 {
		t.fail("an empty set operation")
	}
	joined := all[0]
	for i, op := range ops {
		joined = &tree.Select{SetOp: op, Left: joined, Right: all[i+1]}
	}
	return joined
}

func (t *translator) setOperator(n ast.Node) string {
	var op *ast.SetOprType
	switch n := n.(type) {
	case *ast.SelectStmt:
		op = n.AfterSetOperator
	case *ast.SetOprSelectList:
		op = n.AfterSetOperator
	}
	if op == nil {
		t.fail("a set operation that the linter does not know")
	}
	return map[ast.SetOprType]string{
		ast.Union: "union", ast.UnionAll: "union all", ast.Except: "except", ast.ExceptAll: "except all",
		ast.Intersect: "intersect", ast.IntersectAll: "intersect all",
	}[*op]
}

func (t *translator) selectStmt(n *ast.SelectStmt) *tree.Select {
	defer func(before []ast.WindowSpec) { t.windows = before }(t.windows)
	t.windows = n.WindowSpecs
	s := &tree.Select{With: t.with(n.With), Distinct: n.Distinct}
	for _, row := range n.Lists {
		s.Values = append(s.Values, t.exprs(row.Values))
	}
	if n.From != nil {
		s.From = t.from(n.From.TableRefs)
	}
	switch {
	case n.Kind == ast.SelectStmtKindTable:
		s.Items = []tree.Item{{Expr: &tree.Star{}}}
	case n.Fields != nil && n.Kind == ast.SelectStmtKindSelect:
		s.Items = t.items(n.Fields.Fields)
	}
	s.Where = t.expr(n.Where)
	if n.GroupBy != nil {
		for _, item := range t.byItems(n.GroupBy.Items) {
			s.GroupBy = append(s.GroupBy, item.Expr)
		}
		if n.GroupBy.Rollup {
			s.GroupBy = append(s.GroupBy, raw("WITH ROLLUP"))
		}
	}
	if n.Having != nil {
		s.Having = t.expr(n.Having.Expr)
	}
	s.OrderBy = t.orderBy(n.OrderBy)
	t.limit(n.Limit, &s.Limit, &s.Offset)
	for _, lock := range append([]*ast.SelectLockInfo{n.LockInfo}, n.MoreLockInfos...) {
		if lock != nil && lock.LockType != ast.SelectLockNone {
			s.Locks = true
			s.Skips = s.Skips || lock.LockType == ast.SelectLockForUpdateSkipLocked || lock.LockType == ast.SelectLockForShareSkipLocked
		}
	}
	t.into(n.SelectIntoOpt, s)
	return s
}

// into notes a file that a query writes. Variables of the session are its own.
func (t *translator) into(n *ast.SelectIntoOption, s *tree.Select) {
	if n == nil {
		return
	}
	if len(n.Vars) == 0 {
		s.Into = true
		return
	}
	for _, v := range n.Vars {
		if _, ok := v.(*ast.VariableExpr); !ok {
			t.fail("INTO a variable of a program")
		}
	}
}

func (t *translator) items(fields []*ast.SelectField) []tree.Item {
	var all []tree.Item
	for _, f := range fields {
		if f.WildCard != nil {
			all = append(all, tree.Item{Expr: &tree.Star{Table: f.WildCard.Table.L}})
		} else {
			all = append(all, tree.Item{Expr: t.expr(f.Expr), As: f.AsName.L})
		}
	}
	return all
}

func (t *translator) with(n *ast.WithClause) []tree.With {
	if n == nil {
		return nil
	}
	var all []tree.With
	for _, cte := range n.CTEs {
		all = append(all, tree.With{
			Name: cte.Name.L, Columns: names(cte.ColNameList), Body: t.query(cte.Query.Query), Recursive: n.IsRecursive,
		})
	}
	return all
}

func names(list []ast.CIStr) []string {
	var all []string
	for _, n := range list {
		all = append(all, n.L)
	}
	return all
}

func (t *translator) orderBy(n *ast.OrderByClause) []tree.Order {
	if n == nil {
		return nil
	}
	return t.byItems(n.Items)
}

func (t *translator) byItems(items []*ast.ByItem) []tree.Order {
	var all []tree.Order
	for _, item := range items {
		e := item.Expr
		if p, ok := e.(*ast.PositionExpr); ok {
			if p.P != nil {
				e = p.P
			} else {
				all = append(all, tree.Order{Expr: &tree.Literal{Kind: tree.Number, Text: itoa(p.N)}, Desc: item.Desc})
				continue
			}
		}
		all = append(all, tree.Order{Expr: t.expr(e), Desc: item.Desc})
	}
	return all
}

func (t *translator) limit(n *ast.Limit, count, offset *tree.Expr) {
	if n == nil {
		return
	}
	*count, *offset = t.expr(n.Count), t.expr(n.Offset)
}
