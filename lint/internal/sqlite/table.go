package sqlite

import (
	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// columnOf is a column with what makes it the row id.
type columnOf struct {
	def        *tree.ColumnDef
	integer    bool // its type is INTEGER, not INT
	descending bool // its own PRIMARY KEY is, which keeps it from being the row id
}

func (t *translator) createTable(s *ast.CreateTableStmt) *tree.Define {
	table := &tree.Table{Name: createdName(s.Name, s.Temp)}
	d := &tree.Define{Kind: "create table", Name: table.Name, Guarded: s.IfNotExists, Table: table}
	if s.Select != nil {
		t.query(s.Select)
		table.Unknown = "its columns are those of a query"
		return d
	}
	strict := false
	for _, o := range s.Options {
		switch name := ident(o.Name); {
		case o.Without && name == "rowid":
			table.NoRowID = true
		case !o.Without && name == "strict":
			strict = true
		default:
			t.fail("unknown table option: " + name)
		}
	}
	columns := make(map[string]columnOf, len(s.Columns))
	for _, c := range s.Columns {
		one := t.column(table, c)
		columns[one.def.Name] = one
		table.Columns = append(table.Columns, one.def)
	}
	for _, c := range s.Constraints {
		t.constraint(table, c)
	}
	primary(table, columns, strict)
	hidden(table, columns)
	return d
}

// primary completes the columns of the primary key. They admit NULLs, except for the row id and in
// tables that are STRICT or WITHOUT ROWID.
func primary(table *tree.Table, columns map[string]columnOf, strict bool) {
	for _, key := range table.Keys {
		if !key.Primary {
			continue
		}
		for _, part := range key.Parts {
			if op, ok := part.(*tree.Op); ok && op.Name == "collate" {
				part = op.Args[0]
			}
			name, ok := part.(*tree.Column)
			if !ok || columns[name.Name].def == nil {
				continue
			}
			c := columns[name.Name]
			if len(key.Parts) == 1 && c.integer && !c.descending && !table.NoRowID {
				c.def.Serial, c.def.NotNull, table.RowID = true, true, c.def.Name
			}
			c.def.NotNull = c.def.NotNull || strict || table.NoRowID
		}
	}
}

// hidden adds the names of the row id as keys.
func hidden(table *tree.Table, columns map[string]columnOf) {
	if table.NoRowID {
		return
	}
	for _, id := range rowIDs {
		if columns[id].def == nil {
			key := &tree.Key{Name: id, Unique: true, Hidden: true, Parts: []tree.Expr{&tree.Column{Name: id}}}
			table.Keys = append(table.Keys, key)
		}
	}
}

// column translates a column, and adds its keys to the table.
func (t *translator) column(table *tree.Table, c *ast.ColumnDef) columnOf {
	def := &tree.ColumnDef{Name: ident(c.Name), Type: typeName(c.Type)}
	one := columnOf{def: def, integer: def.Type == "integer"}
	key := func(c *ast.ColumnConstraint, primary bool) {
		resolves(table, c.OnConflict)
		parts := []tree.Expr{&tree.Column{Name: def.Name}}
		table.Keys = append(table.Keys, &tree.Key{Name: ident(c.Name), Unique: true, Primary: primary, Parts: parts})
	}
	for _, c := range c.Constraints {
		switch c.Kind {
		case ast.ColumnNotNull:
			resolves(table, c.OnConflict)
			def.NotNull = true
		case ast.ColumnPrimaryKey:
			key(c, true)
			one.descending = c.Order == ast.SortDesc
		case ast.ColumnUnique:
			key(c, false)
		case ast.ColumnDefault:
			def.Default = t.defaultOf(c.Expr)
		case ast.ColumnCollate:
			def.Collation = ident(c.Collation)
		case ast.ColumnReferences:
			table.Foreign = append(table.Foreign, foreign(table, []string{def.Name}, c.References))
		case ast.ColumnGenerated:
			def.Generated = t.expr(c.Expr)
		case ast.ColumnNull, ast.ColumnCheck, ast.ColumnDeferrable: // none of them changes what is stored
		default:
			t.fail("an unknown constraint of a column")
		}
	}
	return one
}

// defaultOf translates a default. A bare name is a string.
func (t *translator) defaultOf(e ast.Expr) tree.Expr {
	if n, ok := e.(*ast.Ident); ok && boolean(n) == nil {
		return &tree.Literal{Kind: tree.String, Text: n.Name}
	}
	return t.expr(e)
}

func (t *translator) constraint(table *tree.Table, c *ast.TableConstraint) {
	switch c.Kind {
	case ast.TablePrimaryKey, ast.TableUnique:
		resolves(table, c.OnConflict)
		table.Keys = append(table.Keys, &tree.Key{
			Name: ident(c.Name), Unique: true, Primary: c.Kind == ast.TablePrimaryKey, Parts: t.parts(c.Columns),
		})
	case ast.TableForeignKey:
		table.Foreign = append(table.Foreign, foreign(table, indexed(c.FKColumns), c.References))
	case ast.TableCheck:
	default:
		t.fail("an unknown constraint of a table")
	}
}

// resolves notes a constraint that does not end in an error, so that every INSERT and UPDATE of the
// table may leave out rows or delete others.
func resolves(table *tree.Table, action ast.ConflictAction) {
	if action == ast.ConflictReplace || action == ast.ConflictIgnore {
		table.Unknown = "a constraint has ON CONFLICT " + action.String()
	}
}

// foreign translates a foreign key. It cannot refer to another schema.
func foreign(table *tree.Table, columns []string, r *ast.ForeignKeyClause) *tree.Foreign {
	f := &tree.Foreign{
		Columns: columns, Targets: indexed(r.Columns),
		Table: tree.Name{Schema: table.Name.Schema, Name: ident(r.Table)},
	}
	for _, arg := range r.Args {
		switch fold(arg.Event) {
		case "delete":
			f.OnDelete = foreignAction(arg.Action)
		case "update":
			f.OnUpdate = foreignAction(arg.Action)
		}
	}
	return f
}

func foreignAction(a ast.ForeignKeyAction) string {
	if a == ast.FKNoAction {
		return ""
	}
	return fold(a.String())
}
