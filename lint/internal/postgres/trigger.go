package postgres

import (
	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// The bits of the timing and of the events of a trigger in the catalog.
const (
	timingBefore  = 2
	timingInstead = 64
	eventInsert   = 4
	eventDelete   = 8
	eventUpdate   = 16
)

// createTrigger translates CREATE TRIGGER. What its function does is not known here: see [tree.Routine.Join].
func (t *translator) createTrigger(s *pg.CreateTrigStmt) tree.Statement {
	t.scope.rows()
	function := dotted(s.GetFuncname())
	trigger := &tree.Trigger{
		Name: s.GetTrigname(), EachRow: s.GetRow(), Before: s.GetTiming()&timingBefore != 0, Instead: s.GetTiming()&timingInstead != 0,
		Insert: s.GetEvents()&eventInsert != 0, Update: s.GetEvents()&eventUpdate != 0, Delete: s.GetEvents()&eventDelete != 0,
		Columns: words(s.GetColumns()), When: t.expr(s.GetWhenClause()), Function: function,
		Unknown: "function " + function + " is defined elsewhere",
	}
	for _, n := range s.GetTransitionRels() {
		if rows := n.GetTriggerTransition(); rows.GetIsNew() {
			trigger.NewRows = rows.GetName()
		} else {
			trigger.OldRows = rows.GetName()
		}
	}
	return &tree.Define{
		Kind: "create trigger", Name: tree.Name{Name: s.GetTrigname()}, Guarded: s.GetReplace(),
		Table: &tree.Table{Name: relation(s.GetRelation())}, Trigger: trigger,
	}
}
