package mysql

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/sqlc-dev/marino/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// statement translates one statement.
func (t *translator) statement(n ast.StmtNode) tree.Statement {
	switch n := n.(type) {
	case *ast.SelectStmt, *ast.SetOprStmt:
		return t.query(n)
	case *ast.InsertStmt:
		return t.insert(n)
	case *ast.UpdateStmt:
		return t.update(n)
	case *ast.DeleteStmt:
		return t.delete(n)
	case *ast.DoStmt:
		return t.evaluated(n.Exprs)
	case *ast.SetStmt:
		return t.set(n)
	case *ast.ExplainStmt:
		if n.Analyze && n.Stmt != nil {
			return t.statement(n.Stmt)
		}
		return &tree.Neutral{What: "explain"}
	case *ast.CallStmt:
		return &tree.Opaque{Why: "CALL runs a procedure, whose body is not read"}
	case *ast.LoadDataStmt, *ast.LoadXMLStmt, *ast.ImportIntoStmt, *ast.ImportTableStmt:
		return &tree.Opaque{Why: "it loads the rows of a file"}
	case *ast.PrepareStmt, *ast.ExecuteStmt:
		return &tree.Opaque{Why: "it prepares or runs a statement of a variable"}
	}
	kind := kindOf(n)
	if neutral[kind] {
		return &tree.Neutral{What: kind}
	}
	if d := t.define(n, kind); d != nil {
		return d
	}
	return &tree.Opaque{Why: "a statement that the linter does not know: " + kind}
}

// neutral are the statements that change the session, the transaction, or nothing.
var neutral = map[string]bool{ //nolint:gochecknoglobals // constant
	"show": true, "begin": true, "commit": true, "rollback": true, "savepoint": true, "release savepoint": true,
	"use": true, "set charset": true, "set role": true, "lock tables": true, "unlock tables": true, "flush": true,
	"analyze table": true, "check table": true, "checksum table": true, "help": true, "handler open": true,
	"handler read": true, "handler close": true, "deallocate": true, "explain for": true, "get diagnostics": true,
	"lock instance": true, "unlock instance": true, "grant": true, "grant role": true, "grant proxy": true, "revoke": true, "revoke role": true,
	"create user": true, "alter user": true, "drop user": true, "rename user": true, "set pwd": true, "set default role": true, "create database": true,
}

// kindOf returns the kind of a statement in words: *ast.CreateIndexStmt is "create index".
func kindOf(n ast.StmtNode) string {
	typed := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast."), "Stmt")
	var b strings.Builder
	before := 'A'
	for _, r := range typed {
		if unicode.IsUpper(r) && !unicode.IsUpper(before) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return strings.ToLower(b.String())
}

// evaluated is a statement that only evaluates expressions.
func (t *translator) evaluated(nodes []ast.ExprNode) *tree.Select {
	s := &tree.Select{}
	for _, n := range nodes {
		s.Items = append(s.Items, tree.Item{Expr: t.expr(n)})
	}
	return s
}

// set translates SET of variables. What their values call may have an effect.
func (t *translator) set(n *ast.SetStmt) tree.Statement {
	var values []ast.ExprNode
	simple := true
	for _, v := range n.Variables {
		tree.Exprs(t.expr(v.Value), func(e tree.Expr) bool {
			switch e.(type) {
			case *tree.Call, *tree.Query:
				simple = false
			}
			return true
		})
		values = append(values, v.Value)
	}
	if simple {
		return &tree.Neutral{What: "set"}
	}
	return t.evaluated(values)
}
