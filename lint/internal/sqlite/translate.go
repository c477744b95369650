package sqlite

import (
	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// maxDepth limits how deep expressions and queries nest. SQLite itself refuses more than 1,000.
const maxDepth = 10_000

// translator translates one statement. The zero value is ready.
type translator struct {
	why     string // the first reason why the statement cannot be translated
	depth   int
	params  map[string]string // named parameters by name, as first written
	quoted  map[string]string // names in double quotes, as first written
	tables  []string          // without a schema, in the order of the text
	windows map[string]*ast.WindowDef
	skips   bool // RAISE(IGNORE) was read
}

func (t *translator) fail(why string) {
	if t.why == "" {
		t.why = why
	}
}

// enter counts a level of nesting, and reports whether it is still allowed. Leave it with t.depth--.
func (t *translator) enter() bool {
	t.depth++
	if t.depth > maxDepth {
		t.fail("nests too deep")
		return false
	}
	return true
}

func translate(s ast.Stmt) tree.Statement {
	t := &translator{}
	out := t.statement(s)
	if t.why != "" {
		return &tree.Opaque{Why: t.why}
	}
	return out
}

func (t *translator) statement(s ast.Stmt) tree.Statement {
	switch s := s.(type) {
	case *ast.SelectStmt:
		return t.query(s)
	case *ast.InsertStmt:
		return t.insert(s)
	case *ast.UpdateStmt:
		return t.update(s)
	case *ast.DeleteStmt:
		return t.remove(s)
	case *ast.ExplainStmt:
		if pragma, ok := s.Stmt.(*ast.PragmaStmt); ok {
			return t.pragma(pragma) // some take effect when they are compiled
		}
		return &tree.Neutral{What: "EXPLAIN"}
	case *ast.PragmaStmt:
		return t.pragma(s)
	case *ast.VacuumStmt:
		if s.Into != nil {
			return &tree.Opaque{Why: "VACUUM INTO writes a file"}
		}
		return &tree.Neutral{What: "VACUUM"}
	}
	if what := neutral(s); what != "" {
		return &tree.Neutral{What: what}
	}
	return t.define(s)
}

func neutral(s ast.Stmt) string {
	switch s.(type) {
	case *ast.BeginStmt:
		return "BEGIN"
	case *ast.CommitStmt:
		return "COMMIT"
	case *ast.RollbackStmt:
		return "ROLLBACK"
	case *ast.SavepointStmt:
		return "SAVEPOINT"
	case *ast.ReleaseStmt:
		return "RELEASE"
	case *ast.AttachStmt:
		return "ATTACH"
	case *ast.DetachStmt:
		return "DETACH"
	case *ast.AnalyzeStmt:
		return "ANALYZE"
	case *ast.ReindexStmt:
		return "REINDEX"
	}
	return ""
}
