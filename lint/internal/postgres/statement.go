package postgres

import (
	"fmt"
	"strings"

	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// statement translates a statement.
func (t *translator) statement(node *pg.Node) tree.Statement {
	if t.scope.excluded {
		return &tree.Opaque{Why: "a table is named excluded"}
	}
	switch n := node.GetNode().(type) {
	case *pg.Node_SelectStmt:
		return t.selectOf(n.SelectStmt)
	case *pg.Node_InsertStmt:
		return t.insert(n.InsertStmt)
	case *pg.Node_UpdateStmt:
		return t.update(n.UpdateStmt)
	case *pg.Node_DeleteStmt:
		return t.deletion(n.DeleteStmt)
	case *pg.Node_MergeStmt:
		return t.merge(n.MergeStmt)
	}
	if s := neutral(node); s != nil {
		return s
	}
	if s := t.wrapped(node); s != nil {
		return s
	}
	if d := t.define(node); d != nil {
		return d
	}
	return kindAlone(node)
}

// kindAlone is a change of the schema that is known by its kind, such as "create extension".
func kindAlone(node *pg.Node) tree.Statement {
	switch n := node.GetNode().(type) {
	case *pg.Node_AlterSeqStmt:
		return &tree.Define{Kind: "alter sequence", Name: relation(n.AlterSeqStmt.GetSequence()), Guarded: n.AlterSeqStmt.GetMissingOk()}
	case *pg.Node_AlterEnumStmt:
		return &tree.Define{Kind: "alter type", Name: qualified(words(n.AlterEnumStmt.GetTypeName()))}
	case *pg.Node_DefineStmt:
		return &tree.Define{Kind: "create " + objectKind(n.DefineStmt.GetKind()), Name: qualified(words(n.DefineStmt.GetDefnames()))}
	case *pg.Node_DropdbStmt:
		return &tree.Define{Kind: "drop database", Name: tree.Name{Name: n.DropdbStmt.GetDbname()}, Destructive: true}
	}
	name := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", node.GetNode()), "*ast.Node_"), "Stmt")
	kind := spaced(name)
	for _, known := range []string{"create ", "alter ", "drop ", "import ", "reassign "} {
		if strings.HasPrefix(kind, known) {
			return &tree.Define{Kind: kind}
		}
	}
	return &tree.Opaque{Why: "the statement " + name + " is not known"}
}

// spaced returns the words of a name in camel case.
func spaced(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// neutral translates what touches the session or the transaction alone, or nothing; otherwise it returns nil.
func neutral(node *pg.Node) tree.Statement {
	var what string
	switch n := node.GetNode().(type) {
	case *pg.Node_TransactionStmt:
		what = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(n.TransactionStmt.GetKind().String(), "TRANS_STMT_"), "_", " "))
		if strings.Contains(what, "prepare") {
			return &tree.Opaque{Why: "a transaction in two phases"}
		}
	case *pg.Node_VariableSetStmt:
		what = "set"
	case *pg.Node_VariableShowStmt:
		what = "show"
	case *pg.Node_ConstraintsSetStmt:
		what = "set constraints"
	case *pg.Node_ListenStmt:
		what = "listen"
	case *pg.Node_UnlistenStmt:
		what = "unlisten"
	case *pg.Node_LockStmt:
		what = "lock"
	case *pg.Node_FetchStmt:
		what = "fetch"
	case *pg.Node_ClosePortalStmt:
		what = "close"
	case *pg.Node_DeallocateStmt:
		what = "deallocate"
	case *pg.Node_DiscardStmt:
		what = "discard"
	case *pg.Node_CheckPointStmt:
		what = "checkpoint"
	case *pg.Node_VacuumStmt:
		what = "analyze"
		if n.VacuumStmt.GetIsVacuumcmd() {
			what = "vacuum"
		}
	case *pg.Node_GrantStmt, *pg.Node_GrantRoleStmt, *pg.Node_AlterDefaultPrivilegesStmt, *pg.Node_CreateRoleStmt, *pg.Node_AlterRoleStmt, *pg.Node_AlterRoleSetStmt,
		*pg.Node_DropRoleStmt, *pg.Node_AlterDatabaseStmt, *pg.Node_AlterDatabaseSetStmt, *pg.Node_AlterSystemStmt, *pg.Node_CommentStmt, *pg.Node_SecLabelStmt:
		what = spaced(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast.Node_"), "Stmt"))
	case *pg.Node_CreatedbStmt:
		what = "create database"
	case *pg.Node_ReindexStmt:
		what = "reindex"
	case *pg.Node_ClusterStmt:
		what = "cluster"
	default:
		return nil
	}
	return &tree.Neutral{What: what}
}

// wrapped translates what executes another statement; otherwise it returns nil.
func (t *translator) wrapped(node *pg.Node) tree.Statement {
	switch n := node.GetNode().(type) {
	case *pg.Node_ExplainStmt:
		if analyzes(n.ExplainStmt.GetOptions()) {
			return t.statement(n.ExplainStmt.GetQuery())
		}
		return &tree.Neutral{What: "explain"}
	case *pg.Node_PrepareStmt:
		return t.statement(n.PrepareStmt.GetQuery())
	case *pg.Node_DeclareCursorStmt:
		return t.statement(n.DeclareCursorStmt.GetQuery())
	case *pg.Node_NotifyStmt:
		s := n.NotifyStmt
		call := &tree.Call{Name: "pg_notify"}
		for _, text := range []string{s.GetConditionname(), s.GetPayload()} {
			call.Args = append(call.Args, &tree.Literal{Kind: tree.String, Text: text})
		}
		return &tree.Select{Items: []tree.Item{{Expr: call}}}
	case *pg.Node_CopyStmt:
		return t.copyOf(n.CopyStmt)
	case *pg.Node_ExecuteStmt:
		return &tree.Opaque{Why: "EXECUTE runs a prepared statement, which is elsewhere"}
	case *pg.Node_CallStmt:
		return &tree.Opaque{Why: "CALL runs a procedure, whose body is not read"}
	case *pg.Node_DoStmt:
		return &tree.Opaque{Why: "DO runs a block of code, which is not read"}
	case *pg.Node_LoadStmt:
		return &tree.Opaque{Why: "LOAD loads a library, which may do anything"}
	}
	return nil
}

// analyzes reports whether EXPLAIN executes its statement.
func analyzes(options []*pg.Node) bool {
	for _, n := range options {
		o := n.GetDefElem()
		if !strings.EqualFold(o.GetDefname(), "analyze") {
			continue
		}
		off := strings.ToLower(o.GetArg().GetString_().GetSval())
		zero := o.GetArg().GetInteger() != nil && o.GetArg().GetInteger().GetIval() == 0
		return off != "false" && off != "off" && !zero
	}
	return false
}

// copyOf translates COPY … TO to the query that it reads.
func (t *translator) copyOf(c *pg.CopyStmt) tree.Statement {
	switch {
	case c.GetIsFrom():
		return &tree.Opaque{Why: "COPY FROM adds the rows of a file"}
	case c.GetIsProgram() || c.GetFilename() != "":
		return &tree.Opaque{Why: "COPY TO writes a file, or runs a program"}
	case c.GetQuery() != nil:
		return t.statement(c.GetQuery())
	}
	return &tree.Select{Items: []tree.Item{{Expr: &tree.Star{}}}, From: []tree.Source{t.table(c.GetRelation())}}
}
