package sqlite

import (
	"strings"

	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func (t *translator) query(s *ast.SelectStmt) *tree.Select {
	if s == nil {
		return nil
	}
	defer func() { t.depth-- }()
	if !t.enter() || len(s.Cores) > maxDepth {
		t.fail("too many queries in one")
		return &tree.Select{}
	}
	with := t.with(s.With)
	whole := t.core(s.Cores[0])
	for i, core := range s.Cores[1:] {
		op := strings.ToLower(s.Ops[i].Op)
		if s.Ops[i].All {
			op += " all"
		}
		right := t.core(core)
		// The order and the limit that the parser leaves with the last part are those of the whole.
		whole = &tree.Select{
			SetOp: op, Left: whole, Right: right,
			OrderBy: right.OrderBy, Limit: right.Limit, Offset: right.Offset,
		}
		right.OrderBy, right.Limit, right.Offset = nil, nil, nil
		if i+2 < len(s.Cores) && (whole.OrderBy != nil || whole.Limit != nil) {
			t.fail("ORDER BY or LIMIT before the end of a compound query")
		}
	}
	if first := whole; len(s.Cores) > 1 {
		for first.SetOp != "" {
			first = first.Left
		}
		if first.OrderBy != nil || first.Limit != nil {
			t.fail("ORDER BY or LIMIT before the end of a compound query")
		}
	}
	whole.With = with
	return whole
}

func (t *translator) core(c ast.SelectCore) *tree.Select {
	q, ok := c.(*ast.SelectQuery)
	if !ok {
		values, ok := c.(*ast.ValuesClause)
		if !ok {
			t.fail("a query of an unknown kind")
			return &tree.Select{}
		}
		s := &tree.Select{}
		for _, row := range values.Rows {
			s.Values = append(s.Values, t.exprs(row))
		}
		return s
	}
	outer := t.windows
	defer func() { t.windows = outer }()
	t.windows = make(map[string]*ast.WindowDef, len(q.Windows))
	for _, w := range q.Windows {
		t.windows[ident(w.Name)] = w
	}
	s := &tree.Select{
		Distinct: q.Distinct == ast.DistinctDistinct,
		Items:    t.items(q.Columns),
		From:     t.from(q.From),
		Where:    t.expr(q.Where),
		GroupBy:  t.exprs(q.GroupBy),
		Having:   t.expr(q.Having),
		OrderBy:  t.orders(q.OrderBy),
	}
	s.Limit, s.Offset = t.limit(q.Limit)
	return s
}

func (t *translator) items(list []*ast.ResultColumn) []tree.Item {
	var all []tree.Item
	for _, c := range list {
		all = append(all, tree.Item{Expr: t.expr(c.Expr), As: ident(c.Alias)})
	}
	return all
}

func (t *translator) limit(l *ast.Limit) (count, offset tree.Expr) {
	if l == nil {
		return nil, nil
	}
	return t.expr(l.Count), t.expr(l.Offset)
}

// with translates the queries of a WITH clause. SQLite lets each refer to itself, with RECURSIVE or
// without, and to those after it.
func (t *translator) with(w *ast.With) []tree.With {
	if w == nil {
		return nil
	}
	position := make(map[string]int, len(w.CTEs))
	for i, cte := range w.CTEs {
		position[ident(cte.Name)] = i
	}
	var all []tree.With
	for i, cte := range w.CTEs {
		name := ident(cte.Name)
		t.reserve(name)
		before := len(t.tables)
		one := tree.With{Name: name, Columns: idents(cte.Columns), Body: t.query(cte.Select)}
		for _, table := range t.tables[before:] {
			at, ok := position[table]
			one.Recursive = one.Recursive || ok && at == i
			if ok && at > i {
				t.fail("a query of WITH refers to a later one")
			}
		}
		all = append(all, one)
	}
	return all
}
