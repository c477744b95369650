package postgres

import (
	"slices"
	"strings"

	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func (t *translator) createTable(s *pg.CreateStmt) *tree.Define {
	table := &tree.Table{Name: relation(s.GetRelation())}
	d := &tree.Define{Kind: "create table", Name: table.Name, Guarded: s.GetIfNotExists(), Table: table}
	if s.GetRelation().GetRelpersistence() == "t" {
		d.Kind = "create temporary table"
	}
	switch {
	case s.GetPartbound() != nil:
		table.Unknown = "it is a partition"
	case len(s.GetInhRelations()) > 0:
		table.Unknown = "it inherits from another table"
	case s.GetOfTypename() != nil:
		table.Unknown = "its columns are those of a type"
	}
	for _, n := range s.GetInhRelations() { // of a partition as well
		table.Parents = append(table.Parents, relation(n.GetRangeVar()))
	}
	var constraints []*pg.Constraint
	for _, n := range s.GetTableElts() {
		switch e := n.GetNode().(type) {
		case *pg.Node_ColumnDef:
			c := t.columnDef(e.ColumnDef)
			table.Columns = append(table.Columns, c.def)
			table.Keys = append(table.Keys, c.keys...)
			table.Foreign = append(table.Foreign, c.foreign...)
		case *pg.Node_Constraint:
			constraints = append(constraints, e.Constraint)
		case *pg.Node_TableLikeClause:
			o := e.TableLikeClause.GetOptions()
			table.Like = append(table.Like, tree.Like{
				Table: relation(e.TableLikeClause.GetRelation()), At: len(table.Columns),
				Defaults: o&likeDefaults != 0, Numbers: o&likeIdentity != 0, Keys: o&likeIndexes != 0,
			})
		default:
			table.Unknown = "an element of it is not known"
		}
	}
	for _, c := range constraints {
		t.constrain(table, c)
	}
	table.Keys = nameKeys(table.Name.Name, table.Keys)
	return d
}

// What LIKE … INCLUDING takes, as the parser numbers it.
const (
	likeDefaults = 1 << 3
	likeIdentity = 1 << 5
	likeIndexes  = 1 << 6
)

// constrain adds a constraint of the table.
func (t *translator) constrain(table *tree.Table, c *pg.Constraint) {
	if f := foreign(c, nil); f != nil {
		table.Foreign = append(table.Foreign, f)
	}
	k := t.key(c, nil)
	if k != nil {
		table.Keys = append(table.Keys, k)
	}
	notNull := c.GetContype() == pg.ConstrType_CONSTR_NOTNULL && !c.GetSkipValidation()
	if !notNull && (k == nil || !k.Primary) {
		return
	}
	for _, name := range words(c.GetKeys()) {
		for _, column := range table.Columns {
			column.NotNull = column.NotNull || column.Name == name
		}
	}
}

// columnParts is a column with the constraints that are written at it.
type columnParts struct {
	def     *tree.ColumnDef
	keys    []*tree.Key
	foreign []*tree.Foreign
}

func (t *translator) columnDef(n *pg.ColumnDef) columnParts {
	c := columnParts{def: &tree.ColumnDef{
		Name: n.GetColname(), Type: typeName(n.GetTypeName()), NotNull: n.GetIsNotNull(), Default: t.expr(n.GetRawDefault()),
		Collation: dotted(n.GetCollClause().GetCollname()),
	}}
	if base, ok := serials[c.def.Type]; ok {
		c.def.Type, c.def.Serial, c.def.NotNull = base, true, true
	}
	var last *tree.Key
	for _, constraint := range n.GetConstraints() {
		k := constraint.GetConstraint()
		switch k.GetContype() { //nolint:exhaustive // the others do not matter
		case pg.ConstrType_CONSTR_NOTNULL:
			c.def.NotNull = c.def.NotNull || !k.GetSkipValidation()
		case pg.ConstrType_CONSTR_DEFAULT:
			c.def.Default = t.expr(k.GetRawExpr())
		case pg.ConstrType_CONSTR_IDENTITY:
			c.def.Serial, c.def.NotNull = true, true
		case pg.ConstrType_CONSTR_GENERATED:
			c.def.Generated = t.expr(k.GetRawExpr())
		case pg.ConstrType_CONSTR_PRIMARY, pg.ConstrType_CONSTR_UNIQUE:
			if last = t.key(k, []string{c.def.Name}); last != nil {
				c.keys = append(c.keys, last)
				c.def.NotNull = c.def.NotNull || last.Primary
			}
		case pg.ConstrType_CONSTR_FOREIGN:
			c.foreign = append(c.foreign, foreign(k, []string{c.def.Name}))
			last = nil
		case pg.ConstrType_CONSTR_ATTR_DEFERRABLE, pg.ConstrType_CONSTR_ATTR_DEFERRED:
			if last != nil {
				last.Deferred = true
			}
		default:
		}
	}
	return c
}

// serials are the types that number a column, with the type that the column then has.
var serials = map[string]string{ //nolint:gochecknoglobals // constant
	"serial": "int", "serial4": "int", "bigserial": "bigint", "serial8": "bigint", "smallserial": "smallint", "serial2": "smallint",
}

// key returns the key of a constraint, or nil. One WITHOUT OVERLAPS is left out: equal values need not be refused.
func (t *translator) key(c *pg.Constraint, columns []string) *tree.Key {
	if c.GetContype() == pg.ConstrType_CONSTR_EXCLUSION {
		return t.exclusion(c)
	}
	primary := c.GetContype() == pg.ConstrType_CONSTR_PRIMARY
	if !primary && c.GetContype() != pg.ConstrType_CONSTR_UNIQUE || c.GetWithoutOverlaps() {
		return nil
	}
	if names := words(c.GetKeys()); names != nil {
		columns = names
	}
	if columns == nil {
		return nil // USING INDEX
	}
	k := &tree.Key{
		Name: c.GetConname(), Unique: true, Primary: primary, NullsSame: c.GetNullsNotDistinct(),
		Deferred: c.GetDeferrable() || c.GetInitdeferred(),
	}
	for _, name := range columns {
		k.Parts = append(k.Parts, &tree.Column{Name: name})
	}
	return k
}

// exclusion returns the key of an exclusion constraint, or nil if it compares a part by another operator than =.
func (t *translator) exclusion(c *pg.Constraint) *tree.Key {
	k := &tree.Key{
		Name: c.GetConname(), Unique: true, Exclusion: true, Where: t.expr(c.GetWhereClause()),
		Deferred: c.GetDeferrable() || c.GetInitdeferred(),
	}
	for _, n := range c.GetExclusions() { // an element, and the name of its operator
		pair := n.GetList().GetItems()
		if len(pair) != 2 {
			return nil
		}
		if operator := words(pair[1].GetList().GetItems()); len(operator) != 1 || operator[0] != "=" {
			return nil
		}
		k.Parts = append(k.Parts, t.parts(pair[:1])...)
	}
	return k
}

// maxNameBytes is the length at which PostgreSQL cuts names.
const maxNameBytes = 63

// nameKeys gives keys without a name the one that the database chooses, if that is certain. It leaves out exclusion constraints
// whose name is not: they could be dropped unnoticed.
func nameKeys(table string, keys []*tree.Key) []*tree.Key {
	taken := map[string]bool{}
	for _, k := range keys {
		taken[k.Name] = true
	}
	for _, k := range keys {
		if k.Name != "" {
			continue
		}
		if name := chosenName(table, k); name != "" && len(name) <= maxNameBytes && !taken[name] {
			k.Name = name
			taken[name] = true
		}
	}
	return slices.DeleteFunc(keys, func(k *tree.Key) bool { return k.Exclusion && k.Name == "" })
}

// chosenName returns the name that the database chooses for a key if it is free and not too long, and nothing for an exclusion
// constraint over an expression, of which it is not certain.
func chosenName(table string, k *tree.Key) string {
	if k.Primary {
		return table + "_pkey"
	}
	names, end := []string{table}, "key"
	if k.Exclusion {
		end = "excl"
	}
	for _, part := range k.Parts {
		c, ok := part.(*tree.Column)
		if !ok {
			return ""
		}
		names = append(names, c.Name)
	}
	return strings.Join(append(names, end), "_")
}

// actions are the actions of foreign keys by the letters of the catalog.
var actions = map[string]string{"r": "restrict", "c": "cascade", "n": "set null", "d": "set default"} //nolint:gochecknoglobals // constant

// foreign returns the foreign key of a constraint, or nil.
func foreign(c *pg.Constraint, columns []string) *tree.Foreign {
	if c.GetContype() != pg.ConstrType_CONSTR_FOREIGN {
		return nil
	}
	if names := words(c.GetFkAttrs()); names != nil {
		columns = names
	}
	return &tree.Foreign{
		Columns: columns, Table: relation(c.GetPktable()), Targets: words(c.GetPkAttrs()),
		OnDelete: actions[strings.ToLower(c.GetFkDelAction())], OnUpdate: actions[strings.ToLower(c.GetFkUpdAction())],
	}
}
