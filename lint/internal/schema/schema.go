// Package schema holds what is known of a database's tables, and learns it from the statements
// that define them, in their order.
package schema

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// Schema holds tables by their names. The zero value knows none.
type Schema struct {
	tables    map[string]*tree.Table
	named     map[string][]*tree.Table // by their bare names, in lower case
	routines  map[string]*tree.Routine // likewise
	strangers map[string]bool          // functions that were not understood, likewise
	types     map[string]bool          // without defaults of their own, likewise

	related atomic.Pointer[relations] // nil until they are asked for

	// Refuses says that the sql_mode of a MySQL server is strict, and Clips that it is not: a value that a column cannot hold
	// is then cut. A schema of files says neither.
	Refuses, Clips bool

	// Lacks says why a statement of the schema that may be about any table was not understood.
	Lacks string
}

// Table returns the table or view that a statement means by a name, nil for one that is not known. A name without a
// schema finds a table of any schema if there is one only: the search path is not known.
func (s *Schema) Table(name tree.Name) *tree.Table {
	if s == nil {
		return nil
	}
	if t := s.tables[id(name)]; t != nil && name.Schema != "" {
		return t
	}
	return s.only(name)
}

// only returns the one table that a name may mean.
func (s *Schema) only(name tree.Name) (found *tree.Table) {
	all := s.named[strings.ToLower(name.Name)]
	for _, t := range all {
		if name.Schema != "" && t.Name.Schema != "" {
			continue
		}
		if found != nil {
			return nil
		}
		found = t
	}
	return found
}

// own returns the table that a definition is about: a temporary one hides others, and one without a schema is that
// of the definitions before.
func (s *Schema) own(name tree.Name) *tree.Table {
	if t := s.tables[id(tree.Name{Schema: temporary, Name: name.Name})]; t != nil && name.Schema == "" {
		return t
	}
	if t := s.tables[id(name)]; t != nil {
		return t
	}
	return s.only(name)
}

// temporary is the schema of temporary tables.
const temporary = "temp"

// Shadows reports whether the schema defines a function of a name.
func (s *Schema) Shadows(function string) bool {
	return s != nil && (s.routines[bare(function)] != nil || s.strangers[bare(function)])
}

// Immutable reports whether the schema declares all functions of a name immutable.
func (s *Schema) Immutable(function string) bool {
	if s == nil || s.strangers[bare(function)] {
		return false
	}
	r := s.routines[bare(function)]
	return r != nil && r.Volatility == "immutable" && !r.Trigger
}

// Routine returns what the schema's functions of a name do, nil if it defines none or one of them was not understood.
func (s *Schema) Routine(function string) *tree.Routine {
	if s == nil || s.strangers[bare(function)] {
		return nil
	}
	return s.routines[bare(function)]
}

// Defines reports whether the schema defines a type of a name, which is not a domain and so has no default.
func (s *Schema) Defines(name string) bool { return s != nil && s.types[bare(name)] }

// All calls visit with every table.
func (s *Schema) All(visit func(*tree.Table)) {
	if s == nil {
		return
	}
	for _, t := range s.tables {
		visit(t)
	}
}

// Add makes a table known. One of its name that it does not replace leaves it open which is meant.
func (s *Schema) Add(t *tree.Table, replaces bool) {
	s.related.Store(nil)
	if s.tables == nil {
		s.tables, s.named = map[string]*tree.Table{}, map[string][]*tree.Table{}
	}
	if old := s.tables[id(t.Name)]; old != nil {
		if alike(old, t.Name) {
			t.Unknown = old.Unknown
		} else if !replaces || old.Name != t.Name { // in another schema
			t.Unknown = "two definitions have its name"
		}
		s.remove(old)
	}
	s.tables[id(t.Name)] = t
	name := strings.ToLower(t.Name.Name)
	s.named[name] = append(s.named[name], t)
}

// remove forgets a table.
func (s *Schema) remove(t *tree.Table) {
	delete(s.tables, id(t.Name))
	name := strings.ToLower(t.Name.Name)
	s.named[name] = slices.DeleteFunc(s.named[name], func(one *tree.Table) bool { return one == t })
}

func id(name tree.Name) string {
	if name.Schema == "pg_temp" {
		name.Schema = temporary
	}
	return strings.ToLower(name.Schema + "." + name.Name)
}

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

// index learns an index. IF NOT EXISTS makes none under a name that is taken, whatever the index of that name is.
func (s *Schema) index(def *tree.Define) {
	s.change(def.Table, func(t *tree.Table) {
		if def.Destructive { // OR REPLACE
			t.Keys = slices.DeleteFunc(t.Keys, func(k *tree.Key) bool { return called(k, def.Name.Name) })
		}
		if !def.Guarded || !s.taken(def.Name, t) {
			t.Keys = append(t.Keys, def.Index)
		}
	})
}

// taken reports whether the name of a new index of a table is that of another one, or of a table. In MySQL, which writes the table
// before it, only the table's own indexes count. The table is unknown where one of them may have the name.
func (s *Schema) taken(name tree.Name, t *tree.Table) bool {
	own := name.Schema == t.Name.Name
	found := !own && s.only(tree.Name{Name: name.Name}) != nil
	s.All(func(of *tree.Table) {
		for _, k := range of.Keys {
			if (of == t || !own && cmp.Or(of.Name.Schema, "public") == cmp.Or(t.Name.Schema, "public")) && called(k, name.Name) {
				if found = true; k.Name == "" {
					t.Unknown = "another index may have the name " + name.Name
				}
			}
		}
	})
	return found
}

// trigger learns a trigger, in the place of an older one of its name.
func (s *Schema) trigger(def *tree.Define) {
	s.join(def.Trigger)
	s.change(def.Table, func(t *tree.Table) {
		t.Triggers = slices.DeleteFunc(t.Triggers, func(old *tree.Trigger) bool { return strings.EqualFold(old.Name, def.Trigger.Name) })
		t.Triggers = append(t.Triggers, def.Trigger)
	})
}

// renameIndex gives the keys of a name another one.
func (s *Schema) renameIndex(def *tree.Define) {
	s.All(func(t *tree.Table) {
		for i := range def.Changes {
			for _, k := range t.Keys {
				if called(k, def.Name.Name) && def.Changes[i].To != "" {
					k.Name = def.Changes[i].To
				}
			}
		}
	})
}

// Apply learns from one statement. Those that define nothing change nothing, apart from a ROLLBACK: what it takes back
// is not known.
func (s *Schema) Apply(st tree.Statement) {
	if n, ok := st.(*tree.Neutral); ok && strings.HasPrefix(strings.ToLower(n.What), "rollback") {
		s.Doubt("a ROLLBACK takes back definitions")
		return
	}
	def, ok := st.(*tree.Define)
	if !ok {
		return
	}
	s.related.Store(nil)
	if def.Unreadable != "" && !strings.HasPrefix(def.Kind, "drop ") {
		s.unread(def)
		return
	}
	switch {
	case (def.Kind == "create table" || def.Kind == "create temporary table") && def.Table != nil:
		if def.Kind == "create temporary table" {
			def.Table.Name.Schema = temporary
		}
		if old := s.own(def.Table.Name); !def.Guarded || def.Destructive || old == nil || alike(old, def.Table.Name) { // OR REPLACE is destructive
			s.copied(def.Table)
			s.Add(def.Table, def.Destructive)
		}
	case def.Kind == "create view" && def.View != nil:
		s.Add(&tree.Table{Name: def.Name, View: def.View}, true)
	case def.Kind == "create index" && def.Index != nil:
		s.index(def)
	case def.Kind == "create trigger" && def.Trigger != nil:
		s.trigger(def)
	case def.Kind == "create function" && def.Function != nil:
		s.define(def.Function)
	case def.Kind == "create type":
		if s.types == nil {
			s.types = map[string]bool{}
		}
		s.types[bare(def.Name.Name)] = true
	case def.Kind == "create rule":
		s.change(def.Table, func(t *tree.Table) { t.Rules = true })
	case strings.HasPrefix(def.Kind, "drop "):
		s.drop(def)
	case def.Kind == "alter table":
		s.alter(def)
	case def.Kind == "alter index":
		s.renameIndex(def)
	case def.Kind == "alter view": // it may give a column a default of its own
		s.change(&tree.Table{Name: def.Name}, func(t *tree.Table) { t.Unknown = "ALTER VIEW" })
	}
}

// unread notes a definition that was not understood: with its table, or else with all of them.
func (s *Schema) unread(def *tree.Define) {
	switch {
	case def.Table != nil:
		s.change(def.Table, func(t *tree.Table) { t.Unknown = def.Unreadable })
	case strings.HasPrefix(def.Kind, "create table") || def.Kind == "alter table" || def.Kind == "create view":
		s.change(&tree.Table{Name: def.Name}, func(t *tree.Table) { t.Unknown = def.Unreadable })
	case def.Kind == "create trigger", def.Kind == "create rule", def.Kind == "alter trigger", def.Kind == "create schema":
		s.Doubt(def.Unreadable)
	case def.Kind == "create function":
		if s.strangers == nil {
			s.strangers = map[string]bool{}
		}
		s.strangers[bare(def.Name.Name)] = true
	}
}

// Doubt says that the schema lacks a statement that may be about any table.
func (s *Schema) Doubt(why string) {
	s.Lacks = cmp.Or(s.Lacks, why)
}

func (s *Schema) drop(def *tree.Define) {
	names := append([]tree.Name{def.Name}, def.Others...)
	switch def.Kind {
	case "drop table", "drop view":
		for _, name := range names {
			if t := s.own(name); t != nil && !alike(t, name) {
				s.remove(t)
			}
		}
	case "drop schema":
		for _, t := range slices.Collect(maps.Values(s.tables)) {
			of := func(n tree.Name) bool { return strings.EqualFold(n.Name, cmp.Or(t.Name.Schema, "public")) }
			if slices.ContainsFunc(names, of) {
				s.remove(t)
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
		s.All(func(t *tree.Table) { dropKeys(t, def.Table, names) })
	}
}

// dropKeys drops the keys of these names; of is the table that the statement names, or nil.
func dropKeys(t, of *tree.Table, names []tree.Name) {
	if of == nil || strings.EqualFold(of.Name.Name, t.Name.Name) {
		t.Keys = slices.DeleteFunc(t.Keys, func(k *tree.Key) bool {
			return slices.ContainsFunc(names, func(n tree.Name) bool { return called(k, n.Name) })
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
	name := bare(r.Name.Name)
	if old := s.routines[name]; old != nil { // of several, the worst counts
		if old.Volatility != "immutable" {
			r.Volatility = old.Volatility
		}
		if !slices.Equal(old.Arguments, r.Arguments) {
			r.Does, r.Hides = append(slices.Clip(r.Does), old.Does...), cmp.Or(r.Hides, old.Hides)
		}
	}
	s.routines[name] = r
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
	t := s.own(named.Name)
	if t == nil {
		t = &tree.Table{Name: named.Name, Unknown: "the statement that creates it is missing"}
		s.Add(t, false)
	}
	alike(t, named.Name)
	how(t)
}

// alike reports whether a definition has named a table in another case, and notes that it may be another table.
func alike(t *tree.Table, name tree.Name) bool {
	const why = "a definition names it in another case"
	if t.Name.Name != name.Name {
		t.Unknown = why
	}
	return t.Unknown == why
}

func (s *Schema) alter(def *tree.Define) {
	name := def.Name
	if def.Table != nil {
		name = def.Table.Name
	}
	s.change(&tree.Table{Name: name}, func(t *tree.Table) {
		there := false // the column of ADD COLUMN IF NOT EXISTS, which then adds no constraint either
		for i := range def.Changes {
			c := &def.Changes[i]
			if there = c.Guarded && (c.Kind == "add column" && Column(t, c.Name) != nil || there && c.Kind == "add constraint"); !there {
				s.apply(t, c)
			}
		}
		if def.Unreadable != "" {
			t.Unknown = def.Unreadable
		}
	})
}
