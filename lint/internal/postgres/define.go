package postgres

import (
	"strings"

	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// define translates a change of the schema that has more than a kind; otherwise it returns nil.
func (t *translator) define(node *pg.Node) tree.Statement {
	switch n := node.GetNode().(type) {
	case *pg.Node_CreateStmt:
		t.scope.tables = nil
		return t.createTable(n.CreateStmt)
	case *pg.Node_CreateForeignTableStmt:
		t.scope.tables = nil
		d := t.createTable(n.CreateForeignTableStmt.GetBaseStmt())
		d.Table.Unknown = "it is a foreign table"
		return d
	case *pg.Node_CreateTableAsStmt:
		return t.createAs(n.CreateTableAsStmt)
	case *pg.Node_IndexStmt:
		t.scope.tables = nil
		return t.createIndex(n.IndexStmt)
	case *pg.Node_AlterTableStmt:
		t.scope.tables = nil
		return t.alter(n.AlterTableStmt)
	case *pg.Node_RenameStmt:
		return rename(n.RenameStmt)
	case *pg.Node_AlterObjectSchemaStmt:
		s := n.AlterObjectSchemaStmt
		d := &tree.Define{Kind: "alter " + objectKind(s.GetObjectType()), Name: relation(s.GetRelation()), Guarded: s.GetMissingOk()}
		d.Changes = []tree.Change{{Kind: "set schema", To: s.GetNewschema(), Known: true}}
		return d
	case *pg.Node_CreateTrigStmt:
		return t.createTrigger(n.CreateTrigStmt)
	case *pg.Node_CreateFunctionStmt:
		return t.createFunction(n.CreateFunctionStmt)
	case *pg.Node_ViewStmt:
		return t.createView(n.ViewStmt)
	case *pg.Node_RuleStmt:
		r := n.RuleStmt
		return &tree.Define{
			Kind: "create rule", Name: tree.Name{Name: r.GetRulename()}, Guarded: r.GetReplace(),
			Table: &tree.Table{Name: relation(r.GetRelation()), Rules: true},
		}
	case *pg.Node_DropStmt:
		return drop(n.DropStmt)
	case *pg.Node_TruncateStmt:
		return truncate(n.TruncateStmt)
	case *pg.Node_CreateSeqStmt:
		return &tree.Define{Kind: "create sequence", Name: relation(n.CreateSeqStmt.GetSequence()), Guarded: n.CreateSeqStmt.GetIfNotExists()}
	case *pg.Node_CreateSchemaStmt:
		return createSchema(n.CreateSchemaStmt)
	case *pg.Node_CreateExtensionStmt:
		s := n.CreateExtensionStmt
		return &tree.Define{Kind: "create extension", Name: tree.Name{Name: s.GetExtname()}, Guarded: s.GetIfNotExists()}
	case *pg.Node_CreateEnumStmt:
		return &tree.Define{Kind: "create type", Name: qualified(words(n.CreateEnumStmt.GetTypeName()))}
	case *pg.Node_CreateRangeStmt:
		return &tree.Define{Kind: "create type", Name: qualified(words(n.CreateRangeStmt.GetTypeName()))}
	case *pg.Node_CompositeTypeStmt:
		return &tree.Define{Kind: "create type", Name: relation(n.CompositeTypeStmt.GetTypevar())}
	case *pg.Node_CreateDomainStmt:
		return &tree.Define{Kind: "create domain", Name: qualified(words(n.CreateDomainStmt.GetDomainname()))}
	case *pg.Node_RefreshMatViewStmt:
		return &tree.Define{Kind: "refresh materialized view", Name: relation(n.RefreshMatViewStmt.GetRelation())}
	}
	return nil
}

func createSchema(s *pg.CreateSchemaStmt) tree.Statement {
	d := &tree.Define{Kind: "create schema", Name: tree.Name{Name: s.GetSchemaname()}, Guarded: s.GetIfNotExists()}
	if len(s.GetSchemaElts()) > 0 {
		d.Unreadable = "it holds other definitions"
	}
	return d
}

// createAs translates CREATE TABLE AS and CREATE MATERIALIZED VIEW.
func (t *translator) createAs(s *pg.CreateTableAsStmt) tree.Statement {
	q, ok := t.query(s.GetQuery())
	if !ok {
		return &tree.Opaque{Why: "CREATE TABLE AS of what is not a query"}
	}
	for _, w := range q.With {
		if _, reads := w.Body.(*tree.Select); !reads {
			return &tree.Opaque{Why: "CREATE TABLE AS of a query that writes"}
		}
	}
	d := &tree.Define{Kind: "create table", Name: relation(s.GetInto().GetRel()), Guarded: s.GetIfNotExists()}
	if s.GetObjtype() == pg.ObjectType_OBJECT_MATVIEW {
		d.Kind, d.View = "create materialized view", q
		return d
	}
	d.Table = &tree.Table{Name: d.Name, Unknown: "its columns are those of a query"}
	return d
}

func (t *translator) createView(s *pg.ViewStmt) tree.Statement {
	d := &tree.Define{Kind: "create view", Name: relation(s.GetView()), Guarded: s.GetReplace()}
	q, ok := t.query(s.GetQuery())
	if !ok {
		d.Unreadable = "the view is not a query"
		return d
	}
	d.View = q
	for i, name := range words(s.GetAliases()) {
		if i >= len(q.Items) {
			d.View, d.Unreadable = nil, "the view names columns of a query that does not list them"
			return d
		}
		if _, star := q.Items[i].Expr.(*tree.Star); star {
			d.View, d.Unreadable = nil, "the view names columns of a star"
			return d
		}
		q.Items[i].As = name
	}
	return d
}

func (t *translator) createIndex(s *pg.IndexStmt) *tree.Define {
	d := &tree.Define{
		Kind: "create index", Name: tree.Name{Name: s.GetIdxname()}, Guarded: s.GetIfNotExists(),
		Table: &tree.Table{Name: relation(s.GetRelation())},
		Index: &tree.Key{
			Name: s.GetIdxname(), Unique: s.GetUnique(), Parts: t.parts(s.GetIndexParams()), Where: t.expr(s.GetWhereClause()),
			NullsSame: s.GetNullsNotDistinct(),
		},
	}
	if s.GetIdxname() == "" {
		d.Index.First = d.Table.Name.Name
	}
	return d
}

// objectKind returns the kind of an object in lower case: "table", "materialized view".
func objectKind(o pg.ObjectType) string {
	if o == pg.ObjectType_OBJECT_MATVIEW {
		return "materialized view"
	}
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(o.String(), "OBJECT_"), "_", " "))
}

func drop(s *pg.DropStmt) tree.Statement {
	d := &tree.Define{Kind: "drop " + objectKind(s.GetRemoveType()), Guarded: s.GetMissingOk()}
	switch s.GetRemoveType() { //nolint:exhaustive // default is for the others
	case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_FOREIGN_TABLE, pg.ObjectType_OBJECT_MATVIEW, pg.ObjectType_OBJECT_SCHEMA:
		d.Destructive = true
	default:
	}
	for i, n := range s.GetObjects() {
		var parts []string
		switch o := n.GetNode().(type) {
		case *pg.Node_List:
			parts = words(o.List.GetItems())
		case *pg.Node_ObjectWithArgs:
			parts = words(o.ObjectWithArgs.GetObjname())
		case *pg.Node_TypeName:
			parts = words(o.TypeName.GetNames())
		case *pg.Node_String_:
			parts = []string{o.String_.GetSval()}
		}
		switch s.GetRemoveType() { //nolint:exhaustive // default is for the others
		case pg.ObjectType_OBJECT_TRIGGER, pg.ObjectType_OBJECT_RULE, pg.ObjectType_OBJECT_POLICY:
			if last := len(parts) - 1; last >= 1 { // the table, and the object last
				d.Table = &tree.Table{Name: qualified(parts[:last])}
				parts = parts[last:]
			}
		default:
		}
		if i == 0 {
			d.Name = qualified(parts)
		} else {
			d.Others = append(d.Others, qualified(parts))
		}
	}
	return d
}

func truncate(s *pg.TruncateStmt) tree.Statement {
	d := &tree.Define{Kind: "truncate", Destructive: true}
	for i, n := range s.GetRelations() {
		if i == 0 {
			d.Name = relation(n.GetRangeVar())
		} else {
			d.Others = append(d.Others, relation(n.GetRangeVar()))
		}
	}
	return d
}
