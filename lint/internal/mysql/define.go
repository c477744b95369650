package mysql

import (
	"strings"

	"github.com/sqlc-dev/marino/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// define translates statements that change the schema; nil for others.
func (t *translator) define(n ast.StmtNode, kind string) tree.Statement {
	switch n := n.(type) {
	case *ast.CreateTableStmt:
		return t.createTable(n)
	case *ast.AlterTableStmt:
		return t.alterTable(n)
	case *ast.CreateIndexStmt:
		return t.createIndex(n)
	case *ast.CreateViewStmt:
		return t.createView(n)
	case *ast.CreateTriggerStmt:
		return t.createTrigger(n)
	case *ast.RenameTableStmt:
		return t.renameTables(n)
	case *ast.TruncateTableStmt:
		return &tree.Define{Kind: "truncate", Name: objectName(n.Table), Destructive: true}
	case *ast.DropTableStmt:
		return dropTables(n)
	case *ast.DropIndexStmt:
		return &tree.Define{
			Kind: "drop index", Name: tree.Name{Schema: n.Table.Schema.L, Name: keyName(n.IndexName)},
			Table: &tree.Table{Name: objectName(n.Table)}, Guarded: n.IfExists,
		}
	case *ast.DropTriggerStmt:
		return &tree.Define{Kind: kind, Name: objectName(n.TriggerName), Guarded: n.IfExists}
	case *ast.CreateSequenceStmt:
		return &tree.Define{Kind: kind, Name: objectName(n.Name), Guarded: n.IfNotExists}
	case *ast.DropSequenceStmt:
		return dropped(&tree.Define{Kind: kind, Guarded: n.IfExists}, n.Sequences)
	case *ast.AlterSequenceStmt:
		return &tree.Define{Kind: kind, Name: objectName(n.Name), Guarded: n.IfExists}
	case *ast.AlterViewStmt:
		return &tree.Define{Kind: kind, Name: objectName(n.ViewName), Unreadable: "ALTER VIEW"}
	case *ast.CreateDatabaseStmt:
		return &tree.Define{Kind: kind, Name: tree.Name{Name: n.Name.L}, Guarded: n.IfNotExists}
	case *ast.DropDatabaseStmt:
		return &tree.Define{Kind: kind, Name: tree.Name{Name: n.Name.L}, Guarded: n.IfExists, Destructive: true}
	case *ast.ProcedureInfo:
		return &tree.Define{Kind: "create procedure", Name: objectName(n.ProcedureName), Guarded: n.IfNotExists}
	case *ast.DropProcedureStmt:
		return &tree.Define{Kind: kind, Name: objectName(n.ProcedureName), Guarded: n.IfExists}
	}
	switch first, _, _ := strings.Cut(kind, " "); first {
	case "create", "alter", "drop", "rename", "grant", "revoke", "optimize", "repair":
		return &tree.Define{Kind: kind, Unreadable: "the linter knows only the kind of this statement"}
	}
	return nil
}

func dropTables(n *ast.DropTableStmt) *tree.Define {
	d := &tree.Define{Kind: "drop table", Guarded: n.IfExists, Destructive: true}
	switch {
	case n.IsView:
		d.Kind, d.Destructive = "drop view", false
	case n.TemporaryKeyword != ast.TemporaryNone:
		d.Kind = "drop temporary table"
	}
	return dropped(d, n.Tables)
}

// dropped names the objects of a DROP.
func dropped(d *tree.Define, list []*ast.TableName) *tree.Define {
	d.Name = objectName(list[0])
	for _, other := range list[1:] {
		d.Others = append(d.Others, objectName(other))
	}
	return d
}

func (t *translator) renameTables(n *ast.RenameTableStmt) tree.Statement {
	d := &tree.Define{Kind: "alter table", Name: objectName(n.TableToTables[0].OldTable)}
	if len(n.TableToTables) > 1 {
		d.Kind, d.Unreadable = "rename table", "RENAME TABLE of several tables"
		return d
	}
	to := n.TableToTables[0].NewTable
	d.Changes = []tree.Change{{Kind: "rename table", To: to.Name.O, Known: to.Schema.L == d.Name.Schema}}
	return d
}

func (t *translator) createView(n *ast.CreateViewStmt) tree.Statement {
	d := &tree.Define{Kind: "create view", Name: objectName(n.ViewName), Guarded: n.OrReplace, View: t.query(n.Select)}
	if len(n.Cols) == 0 {
		return d
	}
	for i := range d.View.Items {
		if _, star := d.View.Items[i].Expr.(*tree.Star); star || len(n.Cols) != len(d.View.Items) {
			d.Unreadable = "the columns of the view are named apart from its query"
			return d
		}
		d.View.Items[i].As = n.Cols[i].L
	}
	return d
}

func (t *translator) createIndex(n *ast.CreateIndexStmt) tree.Statement {
	k := &tree.Key{Name: keyName(n.IndexName), Unique: n.KeyType == ast.IndexKeyTypeUnique, Parts: t.parts(n.IndexPartSpecifications)}
	if n.IndexOption != nil {
		k.Where = t.expr(n.IndexOption.Condition)
	}
	table := objectName(n.Table)
	return &tree.Define{
		Kind: "create index", Name: tree.Name{Schema: table.Name, Name: k.Name}, Guarded: n.IfNotExists, // a table's names are its own
		Table: &tree.Table{Name: table}, Index: k,
	}
}

// keyName returns the name of a key as keys are compared; that of a primary key is always the same.
func keyName(written string) string {
	if strings.EqualFold(written, "primary") {
		return "PRIMARY"
	}
	return strings.ToLower(written)
}

// parts translates the parts of a key. That of the first characters of a column is a call of "prefix".
func (t *translator) parts(specs []*ast.IndexPartSpecification) []tree.Expr {
	var all []tree.Expr
	for _, part := range specs {
		switch {
		case part.Expr != nil:
			all = append(all, t.expr(part.Expr))
		case part.Length > 0:
			length := &tree.Literal{Kind: tree.Number, Text: itoa(part.Length)}
			all = append(all, &tree.Call{Name: "prefix", Args: []tree.Expr{&tree.Column{Name: part.Column.Name.L}, length}})
		default:
			all = append(all, &tree.Column{Name: part.Column.Name.L})
		}
	}
	return all
}
