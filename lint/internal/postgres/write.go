package postgres

import (
	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func (t *translator) insert(s *pg.InsertStmt) tree.Statement {
	in := &tree.Insert{
		With: t.with(s.GetWithClause()), Table: relation(s.GetRelation()), As: s.GetRelation().GetAlias().GetAliasname(),
		Overrides: s.GetOverride() == pg.OverridingKind_OVERRIDING_SYSTEM_VALUE,
		Returning: t.items(s.GetReturningClause().GetExprs()),
	}
	if s.GetOverride() == pg.OverridingKind_OVERRIDING_USER_VALUE {
		return &tree.Opaque{Why: "OVERRIDING USER VALUE leaves out values of the statement"}
	}
	columns, ok := t.columns(s.GetCols())
	if !ok {
		return &tree.Opaque{Why: "INSERT sets a part of a column"}
	}
	in.Columns = columns
	if s.GetSelectStmt() != nil {
		if in.Source, ok = t.query(s.GetSelectStmt()); !ok {
			return &tree.Opaque{Why: "INSERT of what is not a query"}
		}
	}
	if s.GetOnConflictClause() != nil {
		in.Conflict = t.conflict(s.GetOnConflictClause())
		if in.Conflict == nil {
			return &tree.Opaque{Why: "ON CONFLICT with an action that is not known"}
		}
	}
	return in
}

// columns returns the names in a list of columns; ok is false if one is a part of a column.
func (t *translator) columns(list []*pg.Node) (names []string, ok bool) {
	for _, n := range list {
		if len(n.GetResTarget().GetIndirection()) > 0 {
			return nil, false
		}
		names = append(names, n.GetResTarget().GetName())
	}
	return names, true
}

func (t *translator) conflict(c *pg.OnConflictClause) *tree.Conflict {
	infer := c.GetInfer()
	out := &tree.Conflict{
		Target: t.parts(infer.GetIndexElems()), Where: t.expr(infer.GetWhereClause()), Constraint: infer.GetConname(),
		If: t.expr(c.GetWhereClause()), Set: t.assigns(c.GetTargetList()),
	}
	switch c.GetAction() { //nolint:exhaustive // the others are refused
	case pg.OnConflictAction_ONCONFLICT_NOTHING:
		out.Nothing = true
	case pg.OnConflictAction_ONCONFLICT_UPDATE:
	default:
		return nil
	}
	return out
}

// parts translates the columns and expressions of an index. Classes of operators are left out: equal
// values are equal in all of them.
func (t *translator) parts(list []*pg.Node) []tree.Expr {
	var all []tree.Expr
	for _, n := range list {
		i := n.GetIndexElem()
		var e tree.Expr = &tree.Column{Name: i.GetName()}
		if i.GetExpr() != nil {
			e = t.expr(i.GetExpr())
		}
		if i.GetCollation() != nil {
			e = collate(e, i.GetCollation())
		}
		all = append(all, e)
	}
	return all
}

// assigns translates SET.
func (t *translator) assigns(list []*pg.Node) []tree.Assign {
	var all []tree.Assign
	for _, n := range list {
		r := n.GetResTarget()
		a := tree.Assign{Column: r.GetName()}
		switch {
		case len(r.GetIndirection()) > 0:
			a.Value = &tree.Raw{Why: "an assignment to a part of " + r.GetName()}
		case r.GetVal().GetMultiAssignRef() != nil:
			t.oneOf(&a, r.GetVal().GetMultiAssignRef())
		default:
			a.Value = t.expr(r.GetVal())
		}
		if a.Value == nil {
			a.Value = &tree.Raw{Why: "an assignment without a value"}
		}
		all = append(all, a)
	}
	return all
}

// oneOf sets the value of one column of SET (a, b) = …: the element of a row, or a column of the query.
func (t *translator) oneOf(a *tree.Assign, m *pg.MultiAssignRef) {
	part := int(m.GetColno()) - 1
	if row := m.GetSource().GetRowExpr(); row != nil {
		if len(row.GetArgs()) == int(m.GetNcolumns()) && part >= 0 && part < len(row.GetArgs()) {
			a.Value = t.expr(row.GetArgs()[part])
			if _, ok := a.Value.(*tree.Star); !ok {
				return
			}
		}
		a.Value = &tree.Raw{Why: "a row for several columns"}
		return
	}
	if m.GetSource().GetSubLink() == nil {
		a.Value = &tree.Raw{Why: "a value for several columns"}
		return
	}
	key := m.GetSource()
	if t.sources == nil {
		t.sources = map[*pg.Node]tree.Expr{}
	}
	if t.sources[key] == nil {
		t.sources[key] = t.expr(key)
	}
	a.Value, a.Of, a.Part = t.sources[key], true, part
}

func (t *translator) update(s *pg.UpdateStmt) tree.Statement {
	u := &tree.Update{
		With: t.with(s.GetWithClause()), Table: relation(s.GetRelation()), As: s.GetRelation().GetAlias().GetAliasname(),
		Set: t.assigns(s.GetTargetList()), From: t.from(s.GetFromClause()),
		Returning: t.items(s.GetReturningClause().GetExprs()), Cursor: s.GetWhereClause().GetCurrentOfExpr() != nil,
	}
	if !u.Cursor {
		u.Where = t.expr(s.GetWhereClause())
	}
	return u
}

func (t *translator) deletion(s *pg.DeleteStmt) tree.Statement {
	d := &tree.Delete{
		With: t.with(s.GetWithClause()), Table: relation(s.GetRelation()), As: s.GetRelation().GetAlias().GetAliasname(),
		Using:     t.from(s.GetUsingClause()),
		Returning: t.items(s.GetReturningClause().GetExprs()), Cursor: s.GetWhereClause().GetCurrentOfExpr() != nil,
	}
	if !d.Cursor {
		d.Where = t.expr(s.GetWhereClause())
	}
	return d
}

func (t *translator) merge(s *pg.MergeStmt) tree.Statement {
	m := &tree.Merge{
		With: t.with(s.GetWithClause()), Table: relation(s.GetRelation()), As: s.GetRelation().GetAlias().GetAliasname(),
		Using: t.sourceOf(s.GetSourceRelation()), On: t.expr(s.GetJoinCondition()),
		Returning: t.items(s.GetReturningClause().GetExprs()),
	}
	for _, n := range s.GetMergeWhenClauses() {
		b, why := t.branch(m, n.GetMergeWhenClause())
		if why != "" {
			return &tree.Opaque{Why: why}
		}
		m.Branches = append(m.Branches, b)
	}
	return m
}

// branch translates one WHEN; why is set if it cannot be.
func (t *translator) branch(m *tree.Merge, w *pg.MergeWhenClause) (b tree.Branch, why string) {
	b = tree.Branch{If: t.expr(w.GetCondition())}
	switch w.GetMatchKind() { //nolint:exhaustive // the others are refused
	case pg.MergeMatchKind_MERGE_WHEN_MATCHED:
		b.Matched = true
	case pg.MergeMatchKind_MERGE_WHEN_NOT_MATCHED_BY_SOURCE:
		b.BySource = true
	case pg.MergeMatchKind_MERGE_WHEN_NOT_MATCHED_BY_TARGET:
	default:
		return b, "MERGE with a condition that is not known"
	}
	switch w.GetCommandType() { //nolint:exhaustive // the others are refused
	case pg.CmdType_CMD_UPDATE:
		b.Set = t.assigns(w.GetTargetList())
	case pg.CmdType_CMD_DELETE:
		b.Delete = true
	case pg.CmdType_CMD_NOTHING:
	case pg.CmdType_CMD_INSERT:
		columns, ok := t.columns(w.GetTargetList())
		if !ok || w.GetOverride() == pg.OverridingKind_OVERRIDING_USER_VALUE {
			return b, "MERGE inserts a part of a column, or leaves out values of the statement"
		}
		b.Insert = &tree.Insert{Table: m.Table, Columns: columns, Overrides: w.GetOverride() == pg.OverridingKind_OVERRIDING_SYSTEM_VALUE}
		if len(w.GetValues()) > 0 {
			b.Insert.Source = &tree.Select{Values: [][]tree.Expr{t.exprs(w.GetValues())}}
		}
	default:
		return b, "MERGE with an action that is not known"
	}
	return b, ""
}
