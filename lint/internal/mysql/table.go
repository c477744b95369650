package mysql

import (
	"cmp"
	"strings"

	"github.com/sqlc-dev/marino/ast"
	"github.com/sqlc-dev/marino/charset"
	"github.com/sqlc-dev/marino/mysql"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// engines are those that keep unique keys as InnoDB does.
var engines = map[string]bool{ //nolint:gochecknoglobals // constant
	"innodb": true, "myisam": true, "aria": true, "memory": true, "heap": true, "rocksdb": true, "tokudb": true,
	"ndb": true, "ndbcluster": true, "xtradb": true,
}

func (t *translator) createTable(n *ast.CreateTableStmt) tree.Statement {
	table := &tree.Table{Name: objectName(n.Table)}
	d := &tree.Define{Kind: "create table", Name: table.Name, Guarded: n.IfNotExists, Table: table}
	if n.TemporaryKeyword != ast.TemporaryNone {
		d.Kind = "create temporary table"
	}
	switch {
	case n.ReferTable != nil:
		table.Like = []tree.Like{{Table: objectName(n.ReferTable), Defaults: true, Numbers: true, Keys: true, Named: true}}
	case n.Select != nil:
		table.Unknown = "CREATE TABLE … SELECT"
		d.Unreadable = "CREATE TABLE … SELECT inserts rows"
	}
	collation := t.tableOptions(table, n.Options)
	first := true
	for i, col := range n.Cols {
		t.addColumn(table, col, collation)
		if first && col.Tp.GetType() == mysql.TypeTimestamp {
			implicitTimestamp(table.Columns[i], col)
			first = false
		}
	}
	for _, c := range n.Constraints {
		t.addConstraint(table, c)
	}
	primaryNotNull(table)
	return d
}

// tableOptions returns the collation of the table, if it is written.
func (t *translator) tableOptions(table *tree.Table, options []*ast.TableOption) string {
	collation := ""
	for _, o := range options {
		switch o.Tp { //nolint:exhaustive // the others change neither columns nor keys
		case ast.TableOptionEngine:
			if o.StrValue != "" && !engines[strings.ToLower(o.StrValue)] {
				table.Unknown = "the engine " + o.StrValue + " may keep no keys"
			}
		case ast.TableOptionCollate:
			collation = t.collation(o.StrValue)
		case ast.TableOptionCharset:
			if collation == "" && strings.EqualFold(o.StrValue, "binary") {
				collation = "binary"
			}
		}
	}
	return collation
}

// addColumn adds a column with the keys that are written with it.
func (t *translator) addColumn(table *tree.Table, n *ast.ColumnDef, collation string) {
	c, keys, foreign := t.columnDef(n, collation)
	table.Columns = append(table.Columns, c)
	table.Keys = append(table.Keys, keys...)
	table.Foreign = append(table.Foreign, foreign...)
	for _, o := range n.Options {
		if o.Tp == ast.ColumnOptionInvisible {
			table.Unknown = "INSERT without a list passes over the invisible column " + c.Name
		}
	}
}

func (t *translator) columnDef(n *ast.ColumnDef, collation string) (*tree.ColumnDef, []*tree.Key, []*tree.Foreign) {
	c := &tree.ColumnDef{Name: n.Name.Name.L, Type: columnType(n.Tp)}
	c.Collation = t.columnCollation(n, collation)
	if known := t.types[c.Name]; known != "" {
		c.Type, c.Collation = known, ""
	}
	var (
		keys    []*tree.Key
		foreign []*tree.Foreign
	)
	self := []tree.Expr{&tree.Column{Name: c.Name}}
	c.NullIsNow = n.Tp.GetType() == mysql.TypeTimestamp
	for _, o := range n.Options {
		switch o.Tp { //nolint:exhaustive // the others change no value
		case ast.ColumnOptionNull:
			c.NullIsNow = false
		case ast.ColumnOptionNotNull:
			c.NotNull = true
		case ast.ColumnOptionPrimaryKey:
			c.NotNull = true
			keys = append(keys, &tree.Key{Name: "PRIMARY", Unique: true, Primary: true, Parts: self})
		case ast.ColumnOptionUniqKey:
			keys = append(keys, &tree.Key{Unique: true, Parts: self})
		case ast.ColumnOptionAutoIncrement, ast.ColumnOptionAutoRandom:
			c.Serial = true
		case ast.ColumnOptionDefaultValue:
			c.Default = t.expr(o.Expr)
		case ast.ColumnOptionOnUpdate:
			c.OnUpdate = true
		case ast.ColumnOptionGenerated:
			c.Generated = t.expr(o.Expr)
		case ast.ColumnOptionReference:
			keys = append(keys, &tree.Key{Parts: self})
			foreign = append(foreign, foreignKey(o.Refer, []string{c.Name}))
		}
	}
	return c, keys, foreign
}

// columnCollation returns the collation of a column if it is written, with it or with the table. The one
// that a character set implies depends on the server.
func (t *translator) columnCollation(n *ast.ColumnDef, ofTable string) string {
	if !compared(n.Tp) {
		if n.Tp.GetType() == mysql.TypeJSON {
			return "utf8mb4_bin"
		}
		return ""
	}
	for _, o := range n.Options {
		if o.Tp == ast.ColumnOptionCollate {
			return t.collation(o.StrValue)
		}
	}
	set := n.Tp.GetCharset()
	switch {
	case n.Tp.GetCollate() != "":
		return t.collation(n.Tp.GetCollate())
	case set == charset.CharsetBin:
		return "binary"
	case mysql.HasBinaryFlag(n.Tp.GetFlag()):
		set = cmp.Or(set, "utf8mb4")
		return strings.ToLower(set) + "_bin"
	case set != "":
		return ""
	}
	return ofTable
}

// implicitTimestamp gives a column the default and the ON UPDATE that servers without
// explicit_defaults_for_timestamp give the first TIMESTAMP of a table.
func implicitTimestamp(c *tree.ColumnDef, n *ast.ColumnDef) {
	if n.Tp.GetType() != mysql.TypeTimestamp {
		return
	}
	for _, o := range n.Options {
		switch o.Tp { //nolint:exhaustive // the others have nothing to do with it
		case ast.ColumnOptionNull, ast.ColumnOptionDefaultValue, ast.ColumnOptionOnUpdate, ast.ColumnOptionGenerated:
			return
		}
	}
	c.Default, c.OnUpdate = &tree.Call{Name: "now"}, true
}

// addConstraint adds an index or a foreign key, which has an index. Checks are left out.
func (t *translator) addConstraint(table *tree.Table, n *ast.Constraint) {
	if k := t.key(n); k != nil {
		table.Keys = append(table.Keys, k)
	}
	if n.Tp == ast.ConstraintForeignKey {
		table.Foreign = append(table.Foreign, t.foreign(n))
	}
}

// key translates an index; nil for other constraints.
func (t *translator) key(n *ast.Constraint) *tree.Key {
	k := &tree.Key{Name: strings.ToLower(n.Name)}
	switch n.Tp { //nolint:exhaustive // the others make no index
	case ast.ConstraintPrimaryKey:
		k.Name, k.Unique, k.Primary = "PRIMARY", true, true
	case ast.ConstraintUniq, ast.ConstraintUniqKey, ast.ConstraintUniqIndex:
		k.Unique = true
	case ast.ConstraintForeignKey: // the index is there unless another one serves
		k.Name, k.First = "", k.Name
	case ast.ConstraintKey, ast.ConstraintIndex, ast.ConstraintFulltext, ast.ConstraintSpatial:
	default:
		return nil
	}
	k.Parts = t.parts(n.Keys)
	if n.Option != nil {
		k.Where = t.expr(n.Option.Condition)
	}
	return k
}

func (t *translator) foreign(n *ast.Constraint) *tree.Foreign {
	var columns []string
	for _, part := range n.Keys {
		if part.Column == nil {
			t.fail("a foreign key on an expression")
		}
		columns = append(columns, part.Column.Name.L)
	}
	return foreignKey(n.Refer, columns)
}

func foreignKey(n *ast.ReferenceDef, columns []string) *tree.Foreign {
	f := &tree.Foreign{Columns: columns, Table: objectName(n.Table)}
	for _, part := range n.IndexPartSpecifications {
		if part.Column != nil {
			f.Targets = append(f.Targets, part.Column.Name.L)
		}
	}
	if n.OnDelete != nil {
		f.OnDelete = action(n.OnDelete.ReferOpt)
	}
	if n.OnUpdate != nil {
		f.OnUpdate = action(n.OnUpdate.ReferOpt)
	}
	return f
}

// action writes the action of a foreign key; NO ACTION becomes the empty action.
func action(o ast.ReferOptionType) string {
	if o == ast.ReferOptionNoAction {
		return ""
	}
	return strings.ToLower(o.String())
}

// primaryNotNull notes that the columns of a primary key take no NULL.
func primaryNotNull(table *tree.Table) {
	for _, k := range table.Keys {
		for _, part := range k.Parts {
			for _, c := range table.Columns {
				col, ok := part.(*tree.Column)
				c.NotNull = c.NotNull || ok && k.Primary && col.Name == c.Name
			}
		}
	}
}
