package schema

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// harmless are the changes that alter neither columns nor keys nor what a write does.
//
//nolint:gochecknoglobals // a constant.
var harmless = map[string]bool{
	"set statistics": true, "set options": true, "reset options": true, "set storage": true, "set compression": true, "validate constraint": true,
	"change owner": true, "owner": true, "cluster on": true, "drop cluster": true, "set logged": true, "set un logged": true, "set access method": true,
	"set table space": true, "set rel options": true, "reset rel options": true, "replica identity": true, "set identity": true,
	"drop foreign key": true, // which stays: it only adds to what a write may change
}

// apply makes one change of ALTER TABLE. What it does not know makes the table unknown in part.
func (s *Schema) apply(t *tree.Table, c *tree.Change) {
	named := func(k *tree.Key) bool { return called(k, c.Name) }
	switch c.Kind {
	case "add column":
		if c.Column == nil {
			t.Unknown = "ALTER TABLE: " + c.Kind
		} else if Column(t, c.Column.Name) == nil {
			t.Columns = append(t.Columns, c.Column)
		}
	case "drop column":
		t.Columns = slices.DeleteFunc(t.Columns, func(d *tree.ColumnDef) bool { return strings.EqualFold(d.Name, c.Name) })
		t.Keys = slices.DeleteFunc(t.Keys, func(k *tree.Key) bool { return mentions(k, c.Name) && (k.Unique || len(k.Parts) == 1) })
	case "drop constraint", "drop index":
		t.Keys = slices.DeleteFunc(t.Keys, named)
	case "rename table":
		s.remove(t)
		t.Name.Name = c.To
		s.Add(t, false)
	case "set default", "drop default", "set not null", "drop not null", "alter column type", "add identity", "drop identity", "set expression", "drop expression":
		s.column(t, c)
	case "alter column":
		s.redefine(t, c)
	case "rename column":
		s.rename(t, c)
	case "rename constraint", "rename index":
		for _, k := range t.Keys {
			if named(k) {
				k.Name = c.To
			}
		}
	case "add constraint", "add index":
		if !c.Known && c.Key == nil && c.Foreign == nil {
			t.Unknown = "ALTER TABLE: " + c.Kind
		}
	case "add inherit":
		t.Parents = append(t.Parents, tree.Name{Name: c.To})
	default:
		if !c.Known || !harmless[c.Kind] {
			t.Unknown = "ALTER TABLE: " + c.Kind
		}
	}
	if c.Key != nil {
		t.Keys = append(t.Keys, c.Key)
	}
	if c.Foreign != nil {
		t.Foreign = append(t.Foreign, c.Foreign)
	}
}

// called reports whether a key has a name, or may have it: MySQL gives a key without one that of its first column, with a number
// behind it where that is taken, and PostgreSQL gives an index that of the table, with columns and more behind it.
func called(k *tree.Key, name string) bool {
	if k.Name != "" || k.Primary || len(k.Parts) == 0 {
		return strings.EqualFold(k.Name, name)
	}
	first := k.First
	if c, ok := k.Parts[0].(*tree.Column); ok && first == "" {
		first = c.Name
	}
	rest, more := strings.CutPrefix(strings.ToLower(name), strings.ToLower(first)+"_")
	return first != "" && (strings.EqualFold(first, name) || more && (k.First != "" || strings.Trim(rest, "0123456789") == ""))
}

// column changes what is known of one column.
func (s *Schema) column(t *tree.Table, c *tree.Change) {
	def := Column(t, c.Name)
	switch {
	case def == nil:
		t.Unknown = "ALTER TABLE: " + c.Kind + " of a column that is not known"
	case c.Kind == "set default":
		def.Default = c.Column.Default
	case c.Kind == "drop default":
		def.Default = nil
	case c.Kind == "set not null":
		def.NotNull = true
	case c.Kind == "drop not null":
		def.NotNull = false
	case c.Kind == "add identity", c.Kind == "drop identity":
		def.Serial = c.Kind == "add identity"
	case c.Kind == "set expression":
		def.Generated = c.Column.Generated
	case c.Kind == "drop expression":
		def.Generated = nil
	default:
		def.Type, def.Collation = c.Column.Type, c.Column.Collation
	}
}

// redefine gives a column another definition, and maybe another name: MODIFY and CHANGE of MySQL.
func (s *Schema) redefine(t *tree.Table, c *tree.Change) {
	def := Column(t, c.Name)
	if def == nil || c.Column == nil || !c.Known {
		t.Unknown = "ALTER TABLE: " + c.Kind
		return
	}
	if c.To != "" {
		if s.rename(t, c); t.Unknown != "" {
			return
		}
	}
	*def = *c.Column
	for _, k := range t.Keys {
		def.NotNull = def.NotNull || k.Primary && slices.ContainsFunc(k.Parts, func(part tree.Expr) bool { return reads(part, def.Name) })
	}
}

// rename gives a column another name, in keys, foreign keys and generated columns as well. With triggers and views the table is
// not known: their names for the column stay as they were written.
func (s *Schema) rename(t *tree.Table, c *tree.Change) {
	def := Column(t, c.Name)
	if def == nil || c.To == "" || Column(t, c.To) != nil || len(t.Triggers) > 0 || t.Rules || s.seen(t) {
		t.Unknown = "ALTER TABLE: " + c.Kind
		return
	}
	old := def.Name
	def.Name = c.To
	for _, k := range t.Keys {
		renameKey(k, old, c.To)
	}
	for _, one := range t.Columns {
		renameIn(one.Generated, old, c.To)
	}
	renameAll := func(names []string) {
		for i, name := range names {
			if strings.EqualFold(name, old) {
				names[i] = c.To
			}
		}
	}
	for _, f := range t.Foreign {
		renameAll(f.Columns)
	}
	s.All(func(other *tree.Table) {
		for _, f := range other.Foreign {
			if strings.EqualFold(f.Table.Name, t.Name.Name) {
				renameAll(f.Targets)
			}
		}
	})
}

// renameKey gives a column another name in a key, which keeps the name that it got from its first column.
func renameKey(k *tree.Key, old, to string) {
	if len(k.Parts) > 0 && k.Name == "" && k.First == "" {
		if first, ok := k.Parts[0].(*tree.Column); ok {
			k.First = first.Name
		}
	}
	for _, part := range append(slices.Clone(k.Parts), k.Where) {
		renameIn(part, old, to)
	}
}

// seen reports whether a view or a trigger of another table names the table.
func (s *Schema) seen(t *tree.Table) (found bool) {
	look := func(st tree.Statement) {
		from, to := tree.Tables(st)
		found = found || slices.ContainsFunc(append(from, to...), func(name string) bool { return bare(name) == bare(t.Name.Name) })
	}
	s.All(func(other *tree.Table) {
		if other.View != nil {
			look(other.View)
		}
		for _, trigger := range other.Triggers {
			for _, st := range trigger.Body {
				look(st)
			}
		}
	})
	return found
}

// renameIn gives a column another name within an expression.
func renameIn(e tree.Expr, old, to string) {
	tree.Exprs(e, func(e tree.Expr) bool {
		if c, ok := e.(*tree.Column); ok && strings.EqualFold(c.Name, old) {
			c.Name = to
		}
		return true
	})
}

// mentions reports whether a key has the column in it.
func mentions(k *tree.Key, column string) bool {
	return slices.ContainsFunc(append(slices.Clone(k.Parts), k.Where), func(part tree.Expr) bool { return reads(part, column) })
}

// reads reports whether an expression reads a column.
func reads(e tree.Expr, column string) (found bool) {
	tree.Exprs(e, func(e tree.Expr) bool {
		c, ok := e.(*tree.Column)
		found = found || ok && strings.EqualFold(c.Name, column)
		return !found
	})
	return found
}
