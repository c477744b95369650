package mysql

import (
	"strings"

	"github.com/sqlc-dev/marino/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func (t *translator) alterTable(n *ast.AlterTableStmt) tree.Statement {
	d := &tree.Define{Kind: "alter table", Name: objectName(n.Table)}
	for _, spec := range n.Specs {
		if spec.Tp == ast.AlterTableDropPartition || spec.Tp == ast.AlterTableTruncatePartition || spec.Tp == ast.AlterTableExchangePartition {
			d.Destructive = true
		}
		d.Changes = append(d.Changes, t.change(spec)...)
	}
	return d
}

// change translates one action.
func (t *translator) change(n *ast.AlterTableSpec) []tree.Change {
	guarded := n.IfExists || n.IfNotExists
	switch n.Tp { //nolint:exhaustive // the others are not known
	case ast.AlterTableAddColumns:
		return t.addColumns(n)
	case ast.AlterTableAddConstraint:
		return []tree.Change{t.addKey(n.Constraint, guarded)}
	case ast.AlterTableDropColumn:
		return []tree.Change{{Kind: "drop column", Name: n.OldColumnName.Name.L, Guarded: guarded, Known: true}}
	case ast.AlterTableDropPrimaryKey, ast.AlterTableDropIndex, ast.AlterTableDropForeignKey, ast.AlterTableDropCheck:
		return []tree.Change{drop(n, guarded)}
	case ast.AlterTableModifyColumn, ast.AlterTableChangeColumn:
		return t.redefine(n, guarded)
	case ast.AlterTableRenameColumn:
		return []tree.Change{{Kind: "rename column", Name: n.OldColumnName.Name.L, To: n.NewColumnName.Name.L, Known: true}}
	case ast.AlterTableRenameTable:
		return []tree.Change{{Kind: "rename table", To: n.NewTable.Name.O, Known: n.NewTable.Schema.L == ""}}
	case ast.AlterTableRenameIndex:
		return []tree.Change{{Kind: "rename index", Name: n.FromKey.L, To: n.ToKey.L, Known: true}}
	case ast.AlterTableAlterColumn:
		return []tree.Change{t.defaultOf(n.NewColumns[0])}
	case ast.AlterTableOption:
		return []tree.Change{{Kind: "set options", Known: harmless(n.Options)}}
	case ast.AlterTableLock, ast.AlterTableAlgorithm, ast.AlterTableForce, ast.AlterTableEnableKeys,
		ast.AlterTableDisableKeys, ast.AlterTableWithValidation, ast.AlterTableWithoutValidation,
		ast.AlterTableOrderByColumns, ast.AlterTableIndexInvisible, ast.AlterTableAlterCheck:
		return []tree.Change{{Kind: "set options", Known: true}}
	}
	return []tree.Change{{Kind: "other"}}
}

// drop translates the removal of a key or constraint. Foreign keys and indexes may have the same names.
func drop(n *ast.AlterTableSpec, guarded bool) tree.Change {
	c := tree.Change{Kind: "drop index", Name: keyName(n.Name), Guarded: guarded, Known: true}
	switch n.Tp { //nolint:exhaustive // the others are indexes
	case ast.AlterTableDropPrimaryKey:
		c.Name = "PRIMARY"
	case ast.AlterTableDropForeignKey:
		c.Kind = "drop foreign key"
	case ast.AlterTableDropCheck:
		c.Kind = "drop constraint"
		if n.Constraint != nil {
			c.Name = strings.ToLower(n.Constraint.Name)
		}
	}
	return c
}

// placed reports whether the columns take their usual places, which an INSERT without a list needs to know.
func placed(n *ast.AlterTableSpec) bool {
	if n.Position != nil && n.Position.Tp != ast.ColumnPositionNone {
		return false
	}
	for _, col := range n.NewColumns {
		for _, o := range col.Options {
			if o.Tp == ast.ColumnOptionInvisible {
				return false
			}
		}
	}
	return true
}

func (t *translator) addColumns(n *ast.AlterTableSpec) []tree.Change {
	var all []tree.Change
	for _, col := range n.NewColumns {
		c, keys, foreign := t.columnDef(col, "")
		implicitTimestamp(c, col)
		all = append(all, tree.Change{Kind: "add column", Name: c.Name, Column: c, Guarded: n.IfNotExists, Known: placed(n)})
		all = append(all, added(keys, foreign)...)
	}
	for _, c := range n.NewConstraints {
		all = append(all, t.addKey(c, false))
	}
	return all
}

func added(keys []*tree.Key, foreign []*tree.Foreign) []tree.Change {
	var all []tree.Change
	for _, k := range keys {
		all = append(all, tree.Change{Kind: "add constraint", Name: k.Name, Key: k, Known: true})
	}
	for _, f := range foreign {
		all = append(all, tree.Change{Kind: "add constraint", Foreign: f, Known: true})
	}
	return all
}

func (t *translator) addKey(n *ast.Constraint, guarded bool) tree.Change {
	c := tree.Change{Kind: "add constraint", Name: strings.ToLower(n.Name), Guarded: guarded || n.IfNotExists, Known: true}
	c.Key = t.key(n)
	switch n.Tp { //nolint:exhaustive // the others are indexes
	case ast.ConstraintForeignKey:
		c.Foreign = t.foreign(n)
	case ast.ConstraintCheck:
	default:
		if c.Known = c.Key != nil; c.Known {
			c.Name = c.Key.Name
		}
	}
	return c
}

// redefine translates MODIFY and CHANGE.
func (t *translator) redefine(n *ast.AlterTableSpec, guarded bool) []tree.Change {
	c, keys, foreign := t.columnDef(n.NewColumns[0], "")
	implicitTimestamp(c, n.NewColumns[0])
	change := tree.Change{Kind: "alter column", Name: c.Name, Column: c, Guarded: guarded, Known: placed(n)}
	if n.OldColumnName != nil && n.OldColumnName.Name.L != c.Name {
		change.Name, change.To = n.OldColumnName.Name.L, c.Name
	}
	return append([]tree.Change{change}, added(keys, foreign)...)
}

// defaultOf translates ALTER COLUMN … SET DEFAULT and DROP DEFAULT.
func (t *translator) defaultOf(n *ast.ColumnDef) tree.Change {
	c := tree.Change{Kind: "drop default", Name: n.Name.Name.L, Known: true}
	if len(n.Options) > 0 {
		c.Kind, c.Column = "set default", &tree.ColumnDef{Name: c.Name, Default: t.expr(n.Options[0].Expr)}
	}
	return c
}

// harmless reports whether options of a table leave its columns and keys as they are.
func harmless(options []*ast.TableOption) bool {
	for _, o := range options {
		switch o.Tp { //nolint:exhaustive // the others change neither
		case ast.TableOptionCharset, ast.TableOptionCollate, ast.TableOptionUnion:
			return false
		case ast.TableOptionEngine:
			if !engines[strings.ToLower(o.StrValue)] {
				return false
			}
		}
	}
	return true
}
