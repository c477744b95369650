package judge

import (
	"maps"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// update judges UPDATE.
func (j *judge) update(u *tree.Update) Judgement {
	res := j.within(u.With)
	t, where, why := j.behind(u.Table, u.As, u.From, u.Where)
	switch {
	case u.Cursor:
		return worse(res, judged(CannotTell, Opaque, "WHERE CURRENT OF changes the row of a cursor"))
	case why != "":
		res = worse(res, judged(CannotTell, UnknownTable, why))
	}
	t.sets(u)
	if fed, ok := j.fedOnce(t, where); ok {
		return worse(res, worse(worse(fed, j.triggers(t, onUpdate).whenOnce), worse(j.quietly(t), j.returned(u.Returning))))
	}
	where = j.inlined(t, where)
	limit := u.Limit
	if u.Offset != nil {
		limit = u.Offset
	}
	picksOne := limit != nil && j.oneAtMost(t, where, u.OrderBy, u.Limit, u.Offset)
	if picksOne {
		limit = nil
	}
	one := j.changes(t, where, u.OrderBy, limit)
	if picksOne {
		one.Assumes = append(slices.Clip(one.Assumes), j.asTexts(t, where)...)
	}
	if one.Verdict != NotSafe || t.table == nil {
		one = worse(one, j.returned(u.Returning))
	}
	if u.LeftToRight && len(u.Set) > 1 && worse(res, one).Verdict < CannotTell {
		at := *u
		at.LeftToRight = false
		if j.update(&at).Verdict >= CannotTell {
			return judged(CannotTell, RelativeValue, "an assignment reads a column that another one sets: its value depends on the sql_mode SIMULTANEOUS_ASSIGNMENT")
		}
	}
	return worse(res, one)
}

// oneAtMost reports whether a condition leaves one row at most, so that LIMIT and OFFSET pick none of several.
func (j *judge) oneAtMost(t *target, where tree.Expr, order []tree.Order, limit ...tree.Expr) bool {
	constant := func(e tree.Expr) bool { return e == nil || literal(e) != nil || isParam(e) }
	return len(t.others) == 0 && !slices.ContainsFunc(limit, func(e tree.Expr) bool { return !constant(e) }) &&
		!slices.ContainsFunc(order, func(o tree.Order) bool { return !j.effectsOf(o.Expr).pure() }) && j.namesRow(where, t)
}

// asTexts returns what it takes for a condition of MySQL on a text to name one row: a number is that of many texts.
func (j *judge) asTexts(t *target, where tree.Expr) (assumes []string) {
	for _, c := range tree.Conjuncts(where) {
		op, ok := c.(*tree.Op)
		if !ok || op.Name != "=" || len(op.Args) != 2 || j.dialect != dialect.MySQL {
			continue
		}
		for i, side := range op.Args {
			def := schema.Column(t.table, t.column(side))
			if p, ok := op.Args[1-i].(*tree.Param); ok && def != nil && typeOf(def.Type) != integer {
				assumes = append(assumes, "parameter "+p.Name+" is of the type of column "+def.Name)
			}
		}
	}
	return assumes
}

// returned judges RETURNING, which may call functions.
func (j *judge) returned(items []tree.Item) Judgement {
	var f effects
	for _, item := range items {
		f = f.and(j.effectsOf(item.Expr))
	}
	if f.acts || f.stranger {
		return f.judgement()
	}
	res := judged(Safe, PlainValues, "")
	res.Once = true
	return res
}

// behind returns the table that is written: of a view that is a plain selection, the one that it
// selects from, with the view's condition. why says what is not known.
func (j *judge) behind(name tree.Name, as string, others []tree.Source, where tree.Expr) (t *target, _ tree.Expr, why string) {
	t = j.target(name, as, others)
	for depth := 0; t.table != nil && t.table.View != nil; depth++ {
		v := t.table.View
		if depth > maxDepth || len(t.table.Triggers) > 0 || t.table.Rules || !plainView(v) {
			return t, where, name.Name + " is a view of which the linter does not know what a change does"
		}
		if t.table.Unknown != "" {
			return t, where, "view " + name.Name + " is not known in full: " + t.table.Unknown
		}
		ref, ok := v.From[0].(*tree.TableRef)
		if !ok {
			return t, where, name.Name + " is a view of a query"
		}
		where = tree.And(where, v.Where)
		hides := false
		tree.Sources(others, func(from tree.Source) {
			hides = hides || strings.EqualFold(sourceName(from), ref.Name.Name) || ref.As != "" && strings.EqualFold(sourceName(from), ref.As)
		})
		if hides {
			return t, where, "the statement and the view " + name.Name + " use one name for different rows"
		}
		t.table = j.schema.Table(ref.Name)
		t.aliases[strings.ToLower(ref.Name.Name)] = true
		if ref.As != "" {
			t.aliases[strings.ToLower(ref.As)] = true
		}
	}
	switch {
	case t.table == nil:
		return t, where, "table " + name.Name + " is not in the schema: its triggers and keys are not known"
	case j.heirs(t):
		return t, where, "table " + name.Name + " has partitions or heirs, whose keys and triggers are their own"
	case j.schema.Lacks != "":
		return t, where, "the schema was not understood in full: " + j.schema.Lacks
	case j.dialect == dialect.PostgreSQL && alike(t.table):
		return t, where, "table " + name.Name + " has columns whose names differ in case only"
	case t.table.Unknown != "":
		return t, where, "table " + name.Name + " is not known in full: " + t.table.Unknown
	}
	return t, where, ""
}

// heirs reports whether other tables hold rows of this one.
func (j *judge) heirs(t *target) bool {
	return j.schema.HasHeirs(t.table.Name.Name) || len(t.table.Parents) > 0
}

// alike reports whether two columns of a table differ only in the case of their names.
func alike(t *tree.Table) bool {
	names := map[string]bool{}
	for _, c := range t.Columns {
		if names[strings.ToLower(c.Name)] {
			return true
		}
		names[strings.ToLower(c.Name)] = true
	}
	return false
}

// plainView reports whether a view selects columns of one table, under their names.
func plainView(v *tree.Select) bool {
	if len(v.From) != 1 || len(v.With) > 0 || v.SetOp != "" || len(v.GroupBy) > 0 || v.Having != nil || v.Distinct || len(v.DistinctOn) > 0 || v.Limit != nil || v.Offset != nil {
		return false
	}
	return !slices.ContainsFunc(v.Items, func(item tree.Item) bool {
		c, ok := item.Expr.(*tree.Column)
		_, star := item.Expr.(*tree.Star)
		return !star && (!ok || item.As != "" && !strings.EqualFold(item.As, c.Name))
	})
}

// sets notes what an UPDATE assigns. In MySQL an assignment sees those before it, so they are put
// in the place of their columns.
func (t *target) sets(u *tree.Update) {
	seen := map[string]tree.Expr{}
	// MariaDB turns a statement whose queries read the same table into a join, in which no
	// assignment sees another.
	queries := hasQuery(u.Where) || slices.ContainsFunc(u.Set, func(a tree.Assign) bool { return hasQuery(a.Value) })
	for _, a := range u.Set {
		column, value := strings.ToLower(a.Column), a.Value
		if u.LeftToRight {
			before := value
			if value = t.put(value, seen); queries && tree.Text(value) != tree.Text(before) {
				value = &tree.Raw{Why: "an assignment that reads one before it, which a join may have made of the statement"}
			}
			seen[column] = t.stored(column, value)
		}
		t.assign(column, value, a.Of)
	}
	t.derive()
}

// stored is a value as later assignments see it in its column, which may have rounded or cut it.
func (t *target) stored(column string, value tree.Expr) tree.Expr {
	def := schema.Column(t.table, column)
	if c, ok := value.(*tree.Column); ok {
		if from := schema.Column(t.table, c.Name); from != nil && def != nil && from.Type == def.Type {
			return value
		}
	}
	if l := literal(value); l != nil && (l.Kind == tree.Null || keeps(dialect.MySQL, def, l)) {
		return value
	}
	return &tree.Op{Name: "stored", Args: []tree.Expr{value}}
}

func (t *target) assign(column string, value tree.Expr, part bool) {
	t.set[column] = assign{value, part}
	t.written[column] = true
}

// derive adds the columns that change with others: generated ones, and those that the database
// sets at every change.
//
//nolint:gocognit // three reasons for a change.
func (t *target) derive() {
	if t.table == nil {
		return
	}
	for range t.table.Columns {
		for _, def := range t.table.Columns {
			name := strings.ToLower(def.Name)
			if def.Generated != nil && len(t.readsWritten(def.Generated)) > 0 || def.OnUpdate && !t.written[name] {
				t.written[name] = true
			}
		}
		for _, f := range t.table.Foreign { // of the table to itself, or to others that change with it
			if own := strings.ToLower(f.Table.Name); tree.Acts(f.OnUpdate) && own == t.name || t.changed[own] && own != t.name && t.judge.acts(f) {
				for _, name := range f.Columns {
					t.written[strings.ToLower(name)], t.moved[strings.ToLower(name)] = true, true
				}
			}
		}
	}
}

// put returns an expression with the values of columns in their place.
func (t *target) put(e tree.Expr, seen map[string]tree.Expr) tree.Expr {
	if len(seen) == 0 {
		return e
	}
	switch e := e.(type) {
	case *tree.Column:
		if v, ok := seen[t.column(e)]; ok {
			return v
		}
		return e
	case *tree.Op:
		return &tree.Op{Name: e.Name, Args: t.putAll(e.Args, seen)}
	case *tree.Call:
		c := *e
		c.Args = t.putAll(e.Args, seen)
		return &c
	case *tree.Cast:
		return &tree.Cast{Value: t.put(e.Value, seen), Type: e.Type}
	case *tree.List:
		return &tree.List{Items: t.putAll(e.Items, seen)}
	case *tree.Literal, *tree.Param, *tree.Default:
		return e
	}
	for name := range t.reads(e) {
		if _, ok := seen[name]; ok || name == "*" {
			return &tree.Raw{Why: "an assignment that reads one before it"}
		}
	}
	return e
}

func (t *target) putAll(list []tree.Expr, seen map[string]tree.Expr) []tree.Expr {
	all := make([]tree.Expr, len(list))
	for i, e := range list {
		all[i] = t.put(e, seen)
	}
	return all
}

// changes judges the assignments of t under a condition.
func (j *judge) changes(t *target, where tree.Expr, order []tree.Order, limit tree.Expr) Judgement {
	t.one = j.namesRow(where, t)
	fired := j.triggers(t, onUpdate)
	selected := worse(worse(j.selection(where, t, false), j.sources(t.others, t, false)), j.limits(t, where, order, limit))
	conditions := j.effectsOf(where).judgement()
	rowLocal := selected.Verdict == Safe && limit == nil
	if rowLocal && (conditions.Verdict == Safe || conditions.Verdict == Time) {
		why, assumes := j.guard(tree.Conjuncts(where), t)
		switch {
		case why != "" && !fired.settled: // what was set may be set back
			return worse(conditions, fired.always)
		case why != "":
			res := judged(Safe, Guarded, "a second run finds no row: "+why)
			conditions.Once = conditions.Verdict == Safe
			res.Once, res.Assumes = conditions.Once, assumes
			return worse(worse(worse(res, conditions), fired.whenOnce), j.quietly(t))
		}
	}
	res := worse(worse(worse(selected, conditions), fired.always), j.values(t, where))
	if res.Verdict != Safe {
		res = worse(res, fired.onChange)
	}
	return res
}

// quietly judges whether the first run changes nothing apart from its rows while it computes their values.
func (j *judge) quietly(t *target) Judgement {
	res := judged(Safe, PlainValues, "")
	res.Once = true
	for _, name := range slices.Sorted(maps.Keys(t.set)) {
		if one := j.evaluated(t.set[name].value); one.Verdict == CannotTell { // NOT SAFE is about a second call
			res = worse(res, one)
		}
	}
	return res
}

// limits judges ORDER BY and LIMIT of the statement itself.
func (j *judge) limits(t *target, where tree.Expr, order []tree.Order, limit tree.Expr) Judgement {
	if limit == nil {
		return judged(Safe, PlainValues, "")
	}
	q := &tree.Select{From: []tree.Source{&tree.TableRef{}}, OrderBy: order, Limit: limit}
	moves := len(t.readsWritten(where)) > 0
	for _, o := range order {
		moves = moves || len(t.readsWritten(o.Expr)) > 0
	}
	switch {
	case moves:
		return guardedBy(judged(NotSafe, MovingSelection, "LIMIT picks rows by what the statement changes: the next run picks others"), otherRows)
	case !j.ordered(q, t):
		return guardedBy(judged(NotSafe, OpenOrder, "LIMIT without an order by a unique column: the next run may pick other rows"), otherRows)
	}
	return judged(Safe, PlainValues, "")
}

// values judges each assignment.
func (j *judge) values(t *target, where tree.Expr) Judgement {
	res := judged(Safe, PlainValues, "it sets the same values each time")
	names := make([]string, 0, len(t.set))
	for name := range t.set {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		res = worse(res, j.value(name, t, where))
	}
	return res
}

// value judges one assignment.
func (j *judge) value(column string, t *target, where tree.Expr) Judgement {
	a := t.set[column]
	def := schema.Column(t.table, column)
	if _, ok := a.value.(*tree.Default); ok {
		if def == nil {
			return judged(CannotTell, UnknownTable, "the default of "+column+" is not known")
		}
		switch {
		case def.Serial:
			return judged(NotSafe, RandomValue, column+" gets another number at every run")
		case def.Default == nil && j.mayDefault(def):
			return judged(CannotTell, UnknownTable, "the default of the type "+def.Type+" is not known")
		}
		return valueEffects(j.effectsOf(def.Default), column)
	}
	res := worse(j.selection(a.value, t, false), valueEffects(j.effectsOf(a.value), column))
	if def != nil && def.NullIsNow && isNull(a.value) {
		res = worse(res, judged(Time, Timestamp, column+" may be set to the time of the run: a TIMESTAMP that is not declared NULL takes NULL for it"))
	}
	if l := literal(uncast(a.value)); l != nil && l.Kind == tree.String && timeWord(l.Text) && (def == nil || typeOf(def.Type) == otherType) {
		res = worse(res, judged(Time, Timestamp, column+" is set to the time of the run"))
	}
	written := t.readsWritten(a.value)
	switch {
	case len(written) == 0:
		return worse(res, j.joined(a.value, t, where))
	case len(written) == 1 && written[0] == column && !hasQuery(a.value) && !a.part:
		return worse(worse(j.withoutEffects(a.value, column), j.settled(a.value, column, t)), j.joined(a.value, t, where))
	case t.takesWritten(a.value) != "":
		from := t.takesWritten(a.value)
		if t.column(t.set[from].value) == from {
			return res // it stays as it is
		}
		return guardedBy(judged(NotSafe, RelativeValue, column+" takes the old "+from+", and the next run the new one"), relativeGuard)
	case !hasQuery(a.value) && t.readsOwn(a.value, column):
		return guardedBy(judged(NotSafe, RelativeValue, "each run changes "+column+" again: it is computed from the old value"), relativeGuard)
	}
	return worse(res, judged(CannotTell, RelativeValue, column+" is computed from "+strings.Join(written, ", ")+", which the statement changes"))
}

// takesWritten returns the column that a value is, when the statement sets that as well.
func (t *target) takesWritten(e tree.Expr) string {
	from := t.column(e)
	if a, ok := t.set[from]; ok && from != "" && !a.part {
		return from
	}
	return ""
}

// withoutEffects leaves clocks and random numbers to [judge.settled]: coalesce(token, random()) has a
// value once.
func (j *judge) withoutEffects(e tree.Expr, column string) Judgement {
	f := j.effectsOf(e)
	if c, ok := e.(*tree.Call); ok && c.Name == "coalesce" && !f.acts && !f.stranger && !slices.ContainsFunc(c.Args, func(e tree.Expr) bool { return !j.effectsOf(e).pure() && !neverNull(e) }) {
		return judged(Safe, PlainValues, "")
	}
	return valueEffects(f, column)
}

// readsOwn reports whether a value is arithmetic on its own column.
func (t *target) readsOwn(e tree.Expr, column string) bool {
	op, ok := e.(*tree.Op)
	return ok && slices.Contains([]string{"+", "-", "*", "/"}, op.Name) && len(op.Args) == 2 && t.column(op.Args[0]) == column
}

func valueEffects(f effects, column string) Judgement {
	switch {
	case f.acts:
		return judged(NotSafe, SideEffect, f.names[changes]+" changes something at every call")
	case f.random:
		return guardedBy(judged(NotSafe, RandomValue, column+" gets another value of "+f.names[random]+" at every run"), "make the value before, and pass it as a parameter")
	case f.stranger:
		return judged(CannotTell, UnknownFunction, f.names[stranger]+" is not known")
	case f.clock:
		return judged(Time, Timestamp, column+" is set to the time of the run")
	}
	return judged(Safe, PlainValues, "it sets the same values each time")
}
