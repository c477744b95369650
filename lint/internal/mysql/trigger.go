package mysql

import (
	"strings"

	"github.com/sqlc-dev/marino/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func (t *translator) createTrigger(n *ast.CreateTriggerStmt) tree.Statement {
	tr := &tree.Trigger{
		Name: n.TriggerName.Name.L, Before: n.TriggerTime == ast.TriggerTimeBefore, EachRow: true,
		Insert: n.TriggerEvent == ast.TriggerEventInsert, Update: n.TriggerEvent == ast.TriggerEventUpdate,
		Delete: n.TriggerEvent == ast.TriggerEventDelete,
	}
	t.triggerBody(tr, n.Body)
	return &tree.Define{
		Kind: "create trigger", Name: objectName(n.TriggerName), Guarded: n.IfNotExists,
		Table: &tree.Table{Name: objectName(n.Table)}, Trigger: tr,
	}
}

// triggerBody translates the body as far as it is statements one after the other.
func (t *translator) triggerBody(tr *tree.Trigger, n ast.StmtNode) {
	switch n := n.(type) {
	case *ast.ProcedureBlock:
		if len(n.ProcedureVars) > 0 {
			unknown(tr, "declares variables, cursors or handlers")
		}
		for _, one := range n.ProcedureProcStmts {
			t.triggerBody(tr, one)
		}
	case *ast.SetStmt:
		for _, v := range n.Variables {
			t.triggerSet(tr, v)
		}
	case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.SelectStmt, *ast.SetOprStmt, *ast.DoStmt, *ast.CallStmt:
		if len(tr.Sets) > 0 {
			unknown(tr, "a statement may see what the trigger assigned before")
		}
		tr.Body = append(tr.Body, t.contained(n))
	case *ast.ProcedureIfInfo, *ast.SimpleCaseStmt, *ast.SearchCaseStmt:
		tr.Reordered = true
		unknown(tr, "has conditions")
	default:
		unknown(tr, "has "+kindOf(n))
	}
}

// contained translates a statement of a body: one that cannot be translated does not
// make the trigger so.
func (t *translator) contained(n ast.StmtNode) (s tree.Statement) {
	defer func() {
		if v := recover(); v != nil {
			why, ok := v.(untranslatable)
			if !ok {
				panic(v) //nolint:forbidigo // reader.translate recovers
			}
			s = &tree.Opaque{Why: string(why)}
		}
	}()
	return t.statement(n)
}

func (t *translator) triggerSet(tr *tree.Trigger, v *ast.VariableAssignment) {
	row, column, found := strings.Cut(strings.ToLower(v.Name), ".")
	if !found || row != "new" {
		unknown(tr, "sets the variable "+v.Name)
		return
	}
	value := t.expr(v.Value)
	for _, before := range tr.Sets {
		tree.Exprs(value, func(e tree.Expr) bool {
			if c, ok := e.(*tree.Column); ok && c.Table == "new" && c.Name == before.Column {
				unknown(tr, "an assignment sees one before")
			}
			return true
		})
	}
	tr.Sets = append(tr.Sets, tree.Assign{Column: column, Value: value})
}

func unknown(tr *tree.Trigger, why string) {
	if tr.Unknown == "" {
		tr.Unknown = why
	}
}
