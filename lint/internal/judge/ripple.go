package judge

import (
	"maps"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// ripple follows what a statement sets off: triggers, actions of foreign keys, functions and defaults, and what these
// write. A row that one of them puts back is changed again at the second run.
type ripple struct {
	judge  *judge
	tables map[string]bool // that triggers and functions write, in lower case
	acts   string          // what has another effect, at each call
	hidden string          // why it may write more
	twice  string          // a table that several of their statements write
	adds   map[string]bool // tables to which they only add rows that are not there
	quiet  bool            // the rows change by a foreign key of MySQL, which fires no triggers
	seen   map[string]bool
}

func (j *judge) newRipple() *ripple {
	return &ripple{judge: j, tables: map[string]bool{}, adds: map[string]bool{}, seen: map[string]bool{}}
}

// rippleOf follows the parts of a statement that write.
func (j *judge) rippleOf(st tree.Statement) *ripple {
	r := j.newRipple()
	for _, one := range writesOf(st) {
		r.write(one, true)
	}
	return r
}

// evaluated judges what evaluating an expression changes, whatever its value is.
func (j *judge) evaluated(e tree.Expr) Judgement {
	r := j.newRipple()
	r.exprs(&tree.Select{Items: []tree.Item{{Expr: e}}})
	res := judged(Safe, PlainValues, "")
	res.Once = true
	switch {
	case r.hidden != "":
		return judged(CannotTell, UnknownFunction, r.hidden)
	case len(r.tables) > 0:
		return judged(CannotTell, UnknownFunction, "a function writes to "+slices.Sorted(maps.Keys(r.tables))[0]+" at every call")
	case r.acts != "":
		return judged(NotSafe, SideEffect, r.acts+"() changes something at every call")
	}
	return res
}

func (r *ripple) hide(why string) {
	if r.hidden == "" {
		r.hidden = why
	}
}

// statement follows one that a trigger or a function runs.
func (r *ripple) statement(st tree.Statement) {
	switch st := st.(type) {
	case *tree.Opaque:
		r.hide("it runs a statement that is not known: " + st.Why)
	case *tree.Define:
		r.hide("it runs " + strings.ToUpper(st.Kind))
	}
	for _, one := range writesOf(st) {
		r.write(one, false)
	}
	r.exprs(st)
}

// write follows the change of a table. direct says that the statement itself makes it.
func (r *ripple) write(st tree.Statement, direct bool) {
	if _, name := tree.Parts(st); !direct && name.Name != "" {
		base := r.judge.base(name)
		in, adds := st.(*tree.Insert)
		adds = adds && in.Conflict != nil && in.Conflict.Nothing
		if r.tables[base] && (!adds || !r.adds[base]) {
			r.twice = base
		}
		r.adds[base] = adds && (r.adds[base] || !r.tables[base])
	}
	switch st := st.(type) {
	case *tree.Insert:
		r.table(st.Table, onInsert, nil, direct)
		if st.Replace {
			r.table(st.Table, onDelete, nil, direct)
		}
		if c := st.Conflict; c != nil && !c.Nothing {
			r.table(st.Table, onUpdate, c.Set, direct)
		}
		r.defaults(st)
	case *tree.Update:
		r.table(st.Table, onUpdate, st.Set, direct)
	case *tree.Delete:
		r.table(st.Table, onDelete, nil, direct)
	case *tree.Merge:
		for _, on := range []event{onInsert, onUpdate, onDelete} {
			r.table(st.Table, on, nil, direct)
		}
	}
}

// defaults follows what an INSERT evaluates without naming it.
func (r *ripple) defaults(in *tree.Insert) {
	t := r.judge.schema.Table(in.Table)
	if t == nil {
		return
	}
	for _, def := range t.Columns {
		if !slices.ContainsFunc(in.Columns, func(name string) bool { return strings.EqualFold(name, def.Name) }) {
			r.exprs(&tree.Select{Items: []tree.Item{{Expr: def.Default}}})
		}
	}
}

// table follows a change of the rows of a table; set are the columns of an UPDATE, nil for any.
func (r *ripple) table(name tree.Name, on event, set []tree.Assign, direct bool) {
	own := r.judge.schema.Table(name)
	if own == nil {
		if !direct {
			r.hide("it writes to " + name.Name + ", which is not known")
		}
		return
	}
	base := r.judge.base(name)
	if !direct {
		r.tables[base] = true
	}
	if own.View != nil {
		r.triggers(own, on, nil, direct)
	}
	for _, t := range r.family(base) {
		r.triggers(t, on, set, direct)
	}
	for _, f := range r.judge.schema.Acting() {
		if r.judge.base(f.Table) != base {
			continue
		}
		from := tree.Name{Name: f.From}
		switch action := map[event]string{onDelete: f.OnDelete, onUpdate: f.OnUpdate}[on]; {
		case !tree.Acts(action), on == onUpdate && !r.moves(base, f.Foreign, set):
		case action == "cascade" && on == onDelete:
			r.child(from, onDelete, direct)
		default:
			r.child(from, onUpdate, direct)
		}
	}
}

// child follows the action of a foreign key, once for each table.
func (r *ripple) child(from tree.Name, on event, direct bool) {
	key := from.Name + string(rune('0'+on))
	if direct {
		key += " direct"
	}
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	before := r.quiet
	r.quiet = before || r.judge.dialect == dialect.MySQL
	r.table(from, on, nil, direct)
	r.quiet = before
}

// moves reports whether an UPDATE may set a column to which a foreign key refers.
func (r *ripple) moves(table string, f *tree.Foreign, set []tree.Assign) bool {
	var targets []string
	for _, t := range r.judge.schema.Named(table) {
		if slices.ContainsFunc(t.Triggers, func(one *tree.Trigger) bool { return one.Before }) {
			return true
		}
		targets = append(targets, namedBy(f, t)...)
	}
	return set == nil || slices.ContainsFunc(set, func(a tree.Assign) bool {
		return slices.ContainsFunc(targets, func(name string) bool { return strings.EqualFold(name, a.Column) })
	})
}

// family returns the tables of a name, with those that they are part of, and their parts.
func (r *ripple) family(name string) []*tree.Table {
	all := slices.Clone(r.judge.schema.Named(name))
	for _, t := range all {
		for _, p := range t.Parents {
			all = append(all, r.judge.schema.Named(p.Name)...)
		}
	}
	if r.judge.schema.HasHeirs(name) {
		r.judge.schema.All(func(t *tree.Table) {
			if slices.ContainsFunc(t.Parents, func(p tree.Name) bool { return strings.EqualFold(p.Name, name) }) {
				all = append(all, t)
			}
		})
	}
	return all
}

// triggers follows those of a table that an event fires.
func (r *ripple) triggers(t *tree.Table, on event, set []tree.Assign, direct bool) {
	switch {
	case direct:
	case t.Unknown != "":
		r.hide("table " + t.Name.Name + " is not known in full: " + t.Unknown)
	case t.Rules:
		r.hide("table " + t.Name.Name + " has a rule")
	}
	if r.quiet {
		return
	}
	for _, trigger := range t.Triggers {
		key := strings.ToLower(t.Name.Name) + "." + trigger.Name
		if r.seen[key] || !fires(trigger, on, set) {
			continue
		}
		r.seen[key] = true
		r.trigger(trigger)
	}
}

// fires reports whether a trigger may wait for an event.
func fires(trigger *tree.Trigger, on event, set []tree.Assign) bool {
	switch on {
	case onInsert:
		return trigger.Insert
	case onDelete:
		return trigger.Delete
	case onUpdate:
	}
	if !trigger.Update || len(trigger.Columns) == 0 || set == nil {
		return trigger.Update
	}
	return slices.ContainsFunc(set, func(a tree.Assign) bool {
		return slices.ContainsFunc(trigger.Columns, func(name string) bool { return strings.EqualFold(name, a.Column) })
	})
}

func (r *ripple) trigger(trigger *tree.Trigger) {
	r.exprs(&tree.Select{Items: []tree.Item{{Expr: trigger.When}}})
	for _, a := range trigger.Sets {
		r.exprs(&tree.Select{Items: []tree.Item{{Expr: a.Value}}})
	}
	list, hides := trigger.Body, trigger.Unknown
	if trigger.Function != "" {
		list, hides = trigger.Does, trigger.Hides
		if trigger.Does == nil && hides == "" {
			hides = trigger.Unknown
		}
	}
	if hides != "" {
		r.hide("trigger " + trigger.Name + ": " + hides)
	}
	for _, st := range list {
		r.statement(st)
	}
}

// exprs follows the functions that the expressions of a statement call.
func (r *ripple) exprs(st tree.Statement) {
	tree.StatementExprs(st, func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Call:
			r.call(e)
		case *tree.Raw:
			r.hide("an expression is not known: " + e.Why)
		case *tree.Op:
			var f effects
			if f.add(r.judge, e); f.stranger {
				r.hide(f.names[stranger] + " is not known")
			}
		}
		return true
	})
}

func (r *ripple) call(c *tree.Call) {
	routine := r.judge.schema.Routine(c.Name)
	switch {
	case strings.HasPrefix(c.Name, "dblink"):
		r.hide(c.Name + "() may write through another connection")
	case c.Name == "nextval": // as the default of a column: what it takes is in no row
	case actors[c.Name]:
		r.acts = c.Name
	case c.Immutable, routine == nil && !r.judge.schema.Shadows(c.Name) && (builtins[r.judge.dialect][c.Name] || randoms[c.Name] || clocks[c.Name] || sessions[c.Name]):
	case routine == nil && r.judge.schema.Defines(c.Name): // makes a value of the type
	case routine == nil:
		r.hide(c.Name + "() is not known, and may write")
	case !r.seen[c.Name+"()"]:
		r.seen[c.Name+"()"] = true
		if routine.Hides != "" {
			r.hide(c.Name + "(): " + routine.Hides)
		}
		for _, st := range routine.Does {
			r.statement(st)
		}
	}
}
