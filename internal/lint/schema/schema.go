// Package schema holds what is known of a database's tables, and learns it from the statements
// that define them, in their order.
package schema

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/lint/tree"
)

// Schema holds tables by their names. The zero value knows none.
type Schema struct {
	tables   map[string]*tree.Table
	routines map[string]*tree.Routine // by their bare names, in lower case

	// Lacks says why a statement of the schema that may be about any table was not understood.
	Lacks string
}

// Table returns the table or view of a name, nil for one that is not known. A name without a
// schema finds a table of any schema if there is one only.
func (s *Schema) Table(name tree.Name) *tree.Table {
	if s == nil {
		return nil
	}
	if t := s.tables[id(name)]; t != nil {
		return t
	}
	var found *tree.Table
	for _, t := range s.tables {
		if !strings.EqualFold(t.Name.Name, name.Name) || name.Schema != "" && t.Name.Schema != "" {
			continue
		}
		if found != nil {
			return nil
		}
		found = t
	}
	return found
}

// All calls visit with every table.
func (s *Schema) All(visit func(*tree.Table)) {
	if s == nil {
		return
	}
	for _, t := range s.tables {
		visit(t)
	}
}

// Add makes a table known, in the place of one of its name.
func (s *Schema) Add(t *tree.Table) {
	if s.tables == nil {
		s.tables = map[string]*tree.Table{}
	}
	if old := s.tables[id(t.Name)]; old != nil && old.Name != t.Name {
		t.Unknown = "another table has a name that differs in case only"
	}
	s.tables[id(t.Name)] = t
}

func id(name tree.Name) string { return strings.ToLower(name.Schema + "." + name.Name) }

// Column returns the column of a table, nil for one that is not known.
func Column(t *tree.Table, name string) *tree.ColumnDef {
	if t == nil {
		return nil
	}
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c
		}
	}
	return nil
}

// Apply learns from one statement. Statements that define nothing change nothing.
func (s *Schema) Apply(st tree.Statement) {
	def, ok := st.(*tree.Define)
	if !ok {
		return
	}
	if def.Unreadable != "" && !strings.HasPrefix(def.Kind, "drop ") {
		s.unread(def)
		return
	}
	switch {
	case (def.Kind == "create table" || def.Kind == "create temporary table") && def.Table != nil:
		if !def.Guarded || s.Table(def.Table.Name) == nil {
			s.Add(def.Table)
		}
	case def.Kind == "create view" && def.View != nil:
		s.Add(&tree.Table{Name: def.Name, View: def.View})
	case def.Kind == "create index" && def.Index != nil:
		s.change(def.Table, func(t *tree.Table) {
			if def.Index.Unique {
				t.Keys = append(t.Keys, def.Index)
			}
		})
	case def.Kind == "create trigger" && def.Trigger != nil:
		s.join(def.Trigger)
		s.change(def.Table, func(t *tree.Table) {
			t.Triggers = slices.DeleteFunc(t.Triggers, func(old *tree.Trigger) bool { return strings.EqualFold(old.Name, def.Trigger.Name) })
			t.Triggers = append(t.Triggers, def.Trigger)
		})
	case def.Kind == "create function" && def.Function != nil:
		s.define(def.Function)
	case def.Kind == "create rule":
		s.change(def.Table, func(t *tree.Table) { t.Rules = true })
	case strings.HasPrefix(def.Kind, "drop "):
		s.drop(def)
	case def.Kind == "alter table":
		s.alter(def)
	}
}

// unread notes a definition that was not understood: with its table, or else with all of them.
func (s *Schema) unread(def *tree.Define) {
	switch {
	case def.Table != nil:
		s.change(def.Table, func(t *tree.Table) { t.Unknown = def.Unreadable })
	case strings.HasPrefix(def.Kind, "create table") || def.Kind == "alter table" || def.Kind == "create view":
		s.change(&tree.Table{Name: def.Name}, func(t *tree.Table) { t.Unknown = def.Unreadable })
	case def.Kind == "create trigger", def.Kind == "create rule", def.Kind == "alter trigger":
		s.Doubt(def.Unreadable)
	}
}

// Doubt says that the schema lacks a statement that may be about any table.
func (s *Schema) Doubt(why string) {
	if s.Lacks == "" {
		s.Lacks = why
	}
}

func (s *Schema) drop(def *tree.Define) {
	names := append([]tree.Name{def.Name}, def.Others...)
	switch def.Kind {
	case "drop table", "drop view":
		for _, name := range names {
			if t := s.Table(name); t != nil {
				delete(s.tables, id(t.Name))
			}
		}
	case "drop trigger":
		s.All(func(t *tree.Table) {
			for _, trigger := range t.Triggers {
				if strings.EqualFold(trigger.Name, bare(def.Name.Name)) {
					trigger.Unknown = "a trigger of its name was dropped"
				}
			}
		})
	case "drop index":
		s.All(func(t *tree.Table) {
			t.Keys = slices.DeleteFunc(t.Keys, func(k *tree.Key) bool {
				return slices.ContainsFunc(names, func(n tree.Name) bool { return strings.EqualFold(k.Name, n.Name) })
			})
		})
	}
}

// join gives a trigger the body of the function that it calls.
func (s *Schema) join(t *tree.Trigger) {
	if t.Function == "" {
		return
	}
	if r := s.routines[bare(t.Function)]; r != nil {
		r.Join(t)
	} else if t.Unknown == "" {
		t.Unknown = "function " + t.Function + " is not known"
	}
}

// define makes a function known to the triggers that call it. Of several that share a name,
// the last one counts.
func (s *Schema) define(r *tree.Routine) {
	if s.routines == nil {
		s.routines = map[string]*tree.Routine{}
	}
	s.routines[bare(r.Name.Name)] = r
	s.All(func(t *tree.Table) {
		for _, trigger := range t.Triggers {
			if trigger.Function != "" && bare(trigger.Function) == bare(r.Name.Name) {
				r.Join(trigger)
			}
		}
	})
}

func bare(name string) string {
	return strings.ToLower(name[strings.LastIndex(name, ".")+1:])
}

// change changes a table that is known, and otherwise notes that part of it is.
func (s *Schema) change(named *tree.Table, how func(*tree.Table)) {
	if named == nil {
		return
	}
	t := s.Table(named.Name)
	if t == nil {
		t = &tree.Table{Name: named.Name, Unknown: "the statement that creates it is missing"}
		s.Add(t)
	}
	how(t)
}

func (s *Schema) alter(def *tree.Define) {
	name := def.Name
	if def.Table != nil {
		name = def.Table.Name
	}
	s.change(&tree.Table{Name: name}, func(t *tree.Table) {
		for i := range def.Changes {
			s.apply(t, &def.Changes[i])
		}
		if def.Unreadable != "" {
			t.Unknown = def.Unreadable
		}
	})
}

// apply makes one change of ALTER TABLE. What it does not know makes the table unknown in part.
func (s *Schema) apply(t *tree.Table, c *tree.Change) {
	named := func(k *tree.Key) bool { return strings.EqualFold(k.Name, c.Name) }
	switch c.Kind {
	case "add column":
		if c.Column == nil {
			t.Unknown = "ALTER TABLE: " + c.Kind
		} else if Column(t, c.Column.Name) == nil {
			t.Columns = append(t.Columns, c.Column)
		}
	case "drop column":
		t.Columns = slices.DeleteFunc(t.Columns, func(d *tree.ColumnDef) bool { return strings.EqualFold(d.Name, c.Name) })
		t.Keys = slices.DeleteFunc(t.Keys, func(k *tree.Key) bool { return mentions(k, c.Name) })
	case "drop constraint", "drop index":
		t.Keys = slices.DeleteFunc(t.Keys, named)
	case "rename table":
		delete(s.tables, id(t.Name))
		t.Name.Name = c.To
		s.Add(t)
	case "add constraint", "add index", "set options", "validate constraint", "owner":
		if !c.Known && c.Key == nil && c.Foreign == nil {
			t.Unknown = "ALTER TABLE: " + c.Kind
		}
	default:
		t.Unknown = "ALTER TABLE: " + c.Kind
	}
	if c.Key != nil && c.Key.Unique {
		t.Keys = append(t.Keys, c.Key)
	}
	if c.Foreign != nil {
		t.Foreign = append(t.Foreign, c.Foreign)
	}
}

// mentions reports whether a key has the column in it.
func mentions(k *tree.Key, column string) (found bool) {
	for _, part := range append(slices.Clone(k.Parts), k.Where) {
		tree.Exprs(part, func(e tree.Expr) bool {
			c, ok := e.(*tree.Column)
			found = found || ok && strings.EqualFold(c.Name, column)
			return true
		})
	}
	return found
}
