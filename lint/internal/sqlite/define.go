package sqlite

import (
	"fmt"

	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func (t *translator) define(s ast.Stmt) tree.Statement {
	switch s := s.(type) {
	case *ast.CreateTableStmt:
		return t.createTable(s)
	case *ast.CreateVirtualTableStmt:
		name := objectName(s.Name)
		table := &tree.Table{Name: name, Unknown: "a virtual table of the module " + ident(s.Module)}
		return &tree.Define{Kind: "create table", Name: name, Guarded: s.IfNotExists, Table: table}
	case *ast.CreateIndexStmt:
		return t.createIndex(s)
	case *ast.CreateViewStmt:
		return t.createView(s)
	case *ast.CreateTriggerStmt:
		return t.createTrigger(s)
	case *ast.AlterTableStmt:
		return &tree.Define{Kind: "alter table", Name: objectName(s.Table), Changes: []tree.Change{t.change(s)}}
	case *ast.DropTableStmt:
		return &tree.Define{Kind: "drop table", Name: objectName(s.Name), Guarded: s.IfExists, Destructive: true}
	case *ast.DropViewStmt:
		return &tree.Define{Kind: "drop view", Name: objectName(s.Name), Guarded: s.IfExists}
	case *ast.DropIndexStmt:
		return &tree.Define{Kind: "drop index", Name: objectName(s.Name), Guarded: s.IfExists}
	case *ast.DropTriggerStmt:
		return &tree.Define{Kind: "drop trigger", Name: objectName(s.Name), Guarded: s.IfExists}
	}
	return &tree.Opaque{Why: fmt.Sprintf("a statement of an unknown kind: %T", s)}
}

func (t *translator) createIndex(s *ast.CreateIndexStmt) *tree.Define {
	name := objectName(s.Name)
	return &tree.Define{
		Kind: "create index", Name: name, Guarded: s.IfNotExists,
		Table: &tree.Table{Name: tree.Name{Schema: name.Schema, Name: ident(s.Table)}},
		Index: &tree.Key{Name: name.Name, Unique: s.Unique, Parts: t.parts(s.Columns), Where: t.expr(s.Where)},
	}
}

// createView translates a view. Names for its columns make it a query on the query.
func (t *translator) createView(s *ast.CreateViewStmt) *tree.Define {
	d := &tree.Define{Kind: "create view", Name: createdName(s.Name, s.Temp), Guarded: s.IfNotExists, View: t.query(s.Select)}
	if s.Columns != nil {
		from := &tree.Derived{Query: d.View, As: d.Name.Name, Columns: indexed(s.Columns)}
		d.View = &tree.Select{Items: []tree.Item{{Expr: &tree.Star{}}}, From: []tree.Source{from}}
	}
	d.Table = &tree.Table{Name: d.Name, View: d.View}
	return d
}

// parts are the columns and expressions of a key. SQLite reads a string there as a name.
func (t *translator) parts(list []*ast.OrderingTerm) []tree.Expr {
	var all []tree.Expr
	for _, o := range list {
		part := t.expr(o.Expr)
		if op, ok := part.(*tree.Op); ok && op.Name == "collate" {
			op.Args[0] = named(op.Args[0])
		}
		all = append(all, named(part))
	}
	return all
}

func named(e tree.Expr) tree.Expr {
	if l, ok := e.(*tree.Literal); ok && l.Kind == tree.String {
		return &tree.Column{Name: fold(l.Text)}
	}
	return e
}

func (t *translator) change(s *ast.AlterTableStmt) tree.Change {
	column := ident(s.Column)
	switch s.Action {
	case ast.AlterRenameTable:
		return tree.Change{Kind: "rename table", To: ident(s.NewName), Known: true}
	case ast.AlterRenameColumn:
		return tree.Change{Kind: "rename column", Name: column, To: ident(s.NewName), Known: true}
	case ast.AlterDropColumn:
		return tree.Change{Kind: "drop column", Name: column, Known: true}
	case ast.AlterAddColumn:
		table := &tree.Table{}
		def := t.column(table, s.ColumnDef).def
		c := tree.Change{Kind: "add column", Name: def.Name, Column: def}
		c.Known = len(table.Keys) == 0 && len(table.Foreign) <= 1 && table.Unknown == ""
		if len(table.Foreign) == 1 {
			c.Foreign = table.Foreign[0]
		}
		return c
	case ast.AlterAddConstraintCheck:
		return tree.Change{Kind: "add constraint", Name: ident(s.ConstraintName)}
	case ast.AlterDropConstraint:
		return tree.Change{Kind: "drop constraint", Name: ident(s.ConstraintName)}
	case ast.AlterSetNotNull:
		return tree.Change{Kind: "set not null", Name: column, Known: true}
	case ast.AlterDropNotNull:
		return tree.Change{Kind: "drop not null", Name: column, Known: true}
	}
	t.fail("an unknown kind of ALTER TABLE")
	return tree.Change{}
}
