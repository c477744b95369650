package sqlite

import (
	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// createTrigger translates a trigger. All of them run for each row, and before
// it unless the statement has AFTER or INSTEAD OF.
func (t *translator) createTrigger(s *ast.CreateTriggerStmt) *tree.Define {
	name := createdName(s.Name, s.Temp)
	table := objectName(s.Table)
	if table.Schema == "" && !s.Temp {
		table.Schema = name.Schema
	}
	trigger := &tree.Trigger{
		Name:    name.Name,
		Before:  !s.HasTime || s.Time == ast.TriggerBefore,
		Instead: s.HasTime && s.Time == ast.TriggerInsteadOf,
		EachRow: true,
		Insert:  s.Event == "INSERT",
		Update:  s.Event == "UPDATE",
		Delete:  s.Event == "DELETE",
		Columns: idents(s.UpdateOf),
		When:    t.expr(s.When),
	}
	for _, one := range s.Body {
		body := &translator{depth: t.depth}
		statement := body.statement(one)
		if body.why != "" {
			statement = &tree.Opaque{Why: body.why}
			trigger.Unknown = body.why
		}
		if body.skips {
			trigger.Unknown = "RAISE(IGNORE) leaves out rows"
		}
		trigger.Body = append(trigger.Body, statement)
	}
	return &tree.Define{
		Kind: "create trigger", Name: name, Guarded: s.IfNotExists, Table: &tree.Table{Name: table}, Trigger: trigger,
	}
}
