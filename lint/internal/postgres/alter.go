package postgres

import (
	"strings"

	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func (t *translator) alter(s *pg.AlterTableStmt) *tree.Define {
	d := &tree.Define{Kind: "alter " + objectKind(s.GetObjtype()), Name: relation(s.GetRelation()), Guarded: s.GetMissingOk()}
	for _, n := range s.GetCmds() {
		d.Changes = append(d.Changes, t.changes(d.Name.Name, n.GetAlterTableCmd())...)
	}
	return d
}

// harmless are the actions of ALTER TABLE that change neither columns nor keys nor what a write does.
var harmless = map[pg.AlterTableType]bool{ //nolint:gochecknoglobals // constant
	pg.AlterTableType_AT_SetStatistics: true, pg.AlterTableType_AT_SetOptions: true, pg.AlterTableType_AT_ResetOptions: true,
	pg.AlterTableType_AT_SetStorage: true, pg.AlterTableType_AT_SetCompression: true, pg.AlterTableType_AT_ValidateConstraint: true,
	pg.AlterTableType_AT_ChangeOwner: true, pg.AlterTableType_AT_ClusterOn: true, pg.AlterTableType_AT_DropCluster: true,
	pg.AlterTableType_AT_SetLogged: true, pg.AlterTableType_AT_SetUnLogged: true, pg.AlterTableType_AT_SetAccessMethod: true,
	pg.AlterTableType_AT_SetTableSpace: true, pg.AlterTableType_AT_SetRelOptions: true, pg.AlterTableType_AT_ResetRelOptions: true,
	pg.AlterTableType_AT_ReplicaIdentity: true, pg.AlterTableType_AT_SetIdentity: true,
}

// changes translates one action of ALTER TABLE, which may add a column together with its constraints.
func (t *translator) changes(table string, c *pg.AlterTableCmd) []tree.Change {
	change := tree.Change{Name: c.GetName(), Guarded: c.GetMissingOk(), Known: true}
	switch c.GetSubtype() { //nolint:exhaustive // default is for the others
	case pg.AlterTableType_AT_AddColumn:
		return t.addColumn(table, change, c.GetDef().GetColumnDef())
	case pg.AlterTableType_AT_AddConstraint:
		return []tree.Change{t.addConstraint(table, change, c.GetDef().GetConstraint())}
	case pg.AlterTableType_AT_DropColumn:
		change.Kind = "drop column"
	case pg.AlterTableType_AT_DropConstraint:
		change.Kind = "drop constraint"
	case pg.AlterTableType_AT_ColumnDefault:
		change.Kind = "drop default"
		if e := t.expr(c.GetDef()); e != nil {
			change.Kind, change.Column = "set default", &tree.ColumnDef{Name: c.GetName(), Default: e}
		}
	case pg.AlterTableType_AT_SetNotNull:
		change.Kind = "set not null"
	case pg.AlterTableType_AT_DropNotNull:
		change.Kind = "drop not null"
	case pg.AlterTableType_AT_AlterColumnType:
		def := c.GetDef().GetColumnDef()
		change.Kind = "alter column type"
		change.Column = &tree.ColumnDef{Name: c.GetName(), Type: typeName(def.GetTypeName()), Collation: dotted(def.GetCollClause().GetCollname())}
	case pg.AlterTableType_AT_AddIdentity:
		change.Kind, change.Column = "add identity", &tree.ColumnDef{Name: c.GetName(), Serial: true}
	case pg.AlterTableType_AT_DropIdentity:
		change.Kind = "drop identity"
	case pg.AlterTableType_AT_SetExpression:
		change.Kind, change.Column = "set expression", &tree.ColumnDef{Name: c.GetName(), Generated: t.expr(c.GetDef())}
	case pg.AlterTableType_AT_DropExpression:
		change.Kind = "drop expression"
	case pg.AlterTableType_AT_AttachPartition, pg.AlterTableType_AT_DetachPartition:
		change.Kind = spaced(strings.TrimPrefix(c.GetSubtype().String(), "AT_"))
		name := relation(c.GetDef().GetPartitionCmd().GetName())
		if change.To = name.Name; name.Schema != "" {
			change.To = name.Schema + "." + name.Name
		}
		change.Known = false
	case pg.AlterTableType_AT_AddInherit:
		change.Kind, change.To = "add inherit", c.GetDef().GetRangeVar().GetRelname()
		change.Known = false
	default:
		change.Kind = spaced(strings.TrimPrefix(c.GetSubtype().String(), "AT_"))
		change.Known = harmless[c.GetSubtype()]
	}
	return []tree.Change{change}
}

// addColumn translates ADD COLUMN; the constraints after the first of each kind are further changes.
func (t *translator) addColumn(table string, change tree.Change, def *pg.ColumnDef) []tree.Change {
	c := t.columnDef(def)
	c.keys = nameKeys(table, c.keys)
	change.Kind, change.Name, change.Column = "add column", c.def.Name, c.def
	all := []tree.Change{change}
	for _, k := range c.keys {
		all = append(all, tree.Change{Kind: "add constraint", Name: k.Name, Guarded: change.Guarded, Key: k, Known: true})
	}
	for _, f := range c.foreign {
		name := table + "_" + c.def.Name + "_fkey"
		all = append(all, tree.Change{Kind: "add constraint", Name: name, Guarded: change.Guarded, Foreign: f, Known: true})
	}
	return all
}

// addConstraint translates ADD CONSTRAINT. One USING INDEX renames a unique index that there is.
func (t *translator) addConstraint(table string, change tree.Change, c *pg.Constraint) tree.Change {
	change.Kind, change.Name = "add constraint", c.GetConname()
	if c.GetIndexname() != "" {
		if c.GetContype() != pg.ConstrType_CONSTR_UNIQUE || change.Name == "" || c.GetDeferrable() {
			change.Known = false
			return change
		}
		return tree.Change{Kind: "rename constraint", Name: c.GetIndexname(), To: change.Name, Known: true}
	}
	change.Foreign = foreign(c, nil)
	if k := t.key(c, nil); k != nil {
		for _, change.Key = range nameKeys(table, []*tree.Key{k}) { // none, or this one
		}
	}
	switch c.GetContype() { //nolint:exhaustive // default is for the others
	case pg.ConstrType_CONSTR_NOTNULL:
		if !c.GetSkipValidation() && len(c.GetKeys()) == 1 {
			change.Kind, change.Name = "set not null", words(c.GetKeys())[0]
		}
	case pg.ConstrType_CONSTR_PRIMARY, pg.ConstrType_CONSTR_UNIQUE:
		change.Known = change.Key != nil || c.GetWithoutOverlaps()
	default:
	}
	return change
}

// rename translates ALTER … RENAME.
func rename(s *pg.RenameStmt) tree.Statement {
	kind := s.GetRenameType()
	d := &tree.Define{Kind: "alter " + objectKind(kind), Name: relation(s.GetRelation()), Guarded: s.GetMissingOk()}
	change := tree.Change{To: s.GetNewname(), Known: true}
	switch kind { //nolint:exhaustive // default is for the others
	case pg.ObjectType_OBJECT_COLUMN:
		d.Kind = "alter " + objectKind(s.GetRelationType())
		change.Kind, change.Name = "rename column", s.GetSubname()
	case pg.ObjectType_OBJECT_TABCONSTRAINT:
		d.Kind = "alter table"
		change.Kind, change.Name = "rename constraint", s.GetSubname()
	case pg.ObjectType_OBJECT_TRIGGER:
		d.Table = &tree.Table{Name: d.Name}
		d.Name = tree.Name{Name: s.GetSubname()}
		change.Kind, change.Name = "rename trigger", s.GetSubname()
	default:
		change.Kind = "rename " + objectKind(kind)
		if s.GetRelation() == nil {
			d.Name = qualified(words(s.GetObject().GetList().GetItems()))
			change.Known = false
		}
	}
	d.Changes = []tree.Change{change}
	return d
}
