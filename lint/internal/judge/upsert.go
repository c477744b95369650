package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// upsert judges ON CONFLICT DO UPDATE and ON DUPLICATE KEY UPDATE: a second run updates the row that
// the first one inserted or updated, and must leave it as it is.
func (j *judge) upsert(i *insertion) Judgement {
	covered := j.covered(i)
	if covered.Verdict != Safe {
		return covered
	}
	res := judged(Safe, SameRow, "the update writes what the insert has written")
	res.Assumes = append(slices.Clip(covered.Assumes), j.lastWins(i)...)
	if j.dialect == dialect.MySQL && j.severalKeys(i) {
		res = worse(res, judged(CannotTell, Unproven, "the row may match another one by another key"))
	}
	t := i.t
	inserted := i.rows
	for _, a := range i.Conflict.Set {
		t.assign(strings.ToLower(a.Column), a.Value, a.Of)
	}
	t.derive()
	fired := j.triggers(t, onUpdate)
	if j.keyChanges(i) {
		res = worse(res, judged(CannotTell, Unproven, "it changes the key by which it finds the row"))
	}
	if i.Conflict.If != nil {
		conditions := j.effectsOf(i.Conflict.If).judgement()
		why, assumes := j.guard(tree.Conjuncts(i.Conflict.If), t)
		if why != "" && conditions.Verdict == Safe && fired.settled && !hasQuery(i.Conflict.If) && j.excludedOnly(i) && (j.dialect == dialect.PostgreSQL || !i.query && len(i.rows) == 1) {
			done := judged(Safe, Guarded, "a second run leaves the row: "+why)
			done.Assumes = assumes
			return worse(worse(res, done), fired.whenOnce)
		}
		res = worse(worse(res, conditions), j.selection(i.Conflict.If, t, true))
		if len(t.readsWritten(i.Conflict.If)) > 0 && !j.rewrites(i) {
			res = worse(res, judged(CannotTell, Unproven, "the condition of the update reads what the update changes"))
		}
	}
	res = worse(res, fired.always)
	for _, a := range i.Conflict.Set {
		for _, row := range inserted {
			res = worse(res, j.sameRow(i, row, strings.ToLower(a.Column)))
		}
	}
	if res.Verdict != Safe {
		res = worse(res, fired.onChange)
	}
	return res
}

// lastWins says what a verdict assumes when several rows of the query may have one key: PostgreSQL refuses that, in
// the others the last one stays.
func (j *judge) lastWins(i *insertion) []string {
	if !i.query || j.dialect == dialect.PostgreSQL {
		return nil
	}
	return []string{"rows of the query that have the same key come in the same order each time"}
}

// rewrites reports whether the columns that the condition of the update reads get values that do not depend on the row:
// where the condition is true of a row, a second run writes the same or leaves it.
func (j *judge) rewrites(i *insertion) bool {
	if hasQuery(i.Conflict.If) || j.dialect != dialect.PostgreSQL && (i.query || len(i.rows) != 1) {
		return false
	}
	for _, name := range i.t.readsWritten(i.Conflict.If) {
		if _, ok := i.t.set[name]; !ok || i.t.moved[name] {
			return false
		}
	}
	return !slices.ContainsFunc(i.Conflict.Set, func(a tree.Assign) bool {
		set := i.t.set[strings.ToLower(a.Column)]
		return a.Of || tree.Text(set.value) != tree.Text(a.Value) || !isExcluded(a.Value, a.Column) && readsRow(a.Value, i.t)
	})
}

// severalKeys reports whether more than one unique key may match.
func (j *judge) severalKeys(i *insertion) bool {
	for _, row := range i.rows {
		n := 0
		for _, k := range i.t.table.Keys {
			if j.covers(i, k, row).why == "" {
				n++
			}
		}
		if n > 1 {
			return true
		}
	}
	return false
}

// keyChanges reports whether the update sets a column of a unique key.
func (j *judge) keyChanges(i *insertion) bool {
	for _, k := range i.t.table.Keys {
		for _, part := range append(slices.Clone(k.Parts), k.Where) {
			if k.Unique && len(i.t.readsWritten(part)) > 0 {
				for name := range i.t.reads(part) {
					if a, ok := i.t.set[name]; ok && !isExcluded(a.value, name) && !j.asInserted(i, a.value, name) {
						return true
					}
				}
			}
		}
	}
	return false
}

// asInserted reports whether a value is the very one that each row has been inserted with.
func (j *judge) asInserted(i *insertion, e tree.Expr, column string) bool {
	return i.t.stable(e) && !readsRow(e, i.t) && !i.query && !slices.ContainsFunc(i.rows, func(row map[string]tree.Expr) bool {
		v := j.inserted(i, row, column)
		return v == nil || tree.Text(v) != tree.Text(e)
	})
}

// excludedOnly reports whether each column of the condition that is written gets the value that was
// to be inserted, so that the condition says the same of a row that was just inserted.
func (*judge) excludedOnly(i *insertion) bool {
	for _, name := range i.t.readsWritten(i.Conflict.If) {
		a, ok := i.t.set[name]
		if !ok || !isExcluded(a.value, name) {
			return false
		}
	}
	return true
}

func isExcluded(e tree.Expr, column string) bool {
	c, ok := e.(*tree.Column)
	return ok && c.Table == tree.Excluded && strings.EqualFold(c.Name, column)
}

// sameRow judges one assignment of the update against the value that the insert gives.
func (j *judge) sameRow(i *insertion, row map[string]tree.Expr, column string) Judgement {
	t, a := i.t, i.t.set[column]
	inserted := j.inserted(i, row, column)
	res := judged(Safe, SameRow, "the update writes what the insert has written")
	switch {
	case a.part:
		return judged(CannotTell, Unproven, column+" is set from a query for several columns")
	case isExcluded(a.value, column):
		if def := schema.Column(t.table, column); inserted == nil || def != nil && def.Serial && j.numbered(i, inserted, column) {
			return judged(CannotTell, Unproven, "the value of "+column+" that is inserted is not known")
		}
		return worse(worse(res, j.selection(inserted, t, true)), worse(valueEffects(j.effectsOf(inserted), column), timeText(inserted, t, column)))
	case len(t.readsWritten(a.value)) == 0 && !readsRow(a.value, t):
		return worse(worse(valueEffects(j.effectsOf(a.value), column), timeText(a.value, t, column)), j.sameValue(a.value, inserted, column))
	case len(t.readsWritten(a.value)) == 0 || hasQuery(a.value):
		return judged(CannotTell, DifferentValues, column+" is computed from the row, and inserted with another value")
	}
	if j.unlessNull(i, a.value, inserted, column) {
		return worse(res, valueEffects(j.effectsOf(inserted), column))
	}
	return worse(valueEffects(j.effectsOf(a.value), column), j.grown(i, a.value, column))
}

// unlessNull reports whether the update is coalesce(v, column) for a row that was inserted with v, or with coalesce(v, …):
// it then finds v, or leaves the column as it is.
func (j *judge) unlessNull(i *insertion, e, inserted tree.Expr, column string) bool {
	c, ok := e.(*tree.Call)
	if !ok || c.Name != "coalesce" && c.Name != "ifnull" || len(c.Args) != 2 || i.t.column(c.Args[1]) != column || !i.t.stable(c.Args[0]) || readsRow(c.Args[0], i.t) || i.query {
		return false
	}
	if in, ok := inserted.(*tree.Call); ok && (in.Name == "coalesce" || in.Name == "ifnull") && len(in.Args) > 0 {
		inserted = in.Args[0]
	}
	return inserted != nil && tree.Text(inserted) == tree.Text(c.Args[0])
}

func timeText(e tree.Expr, t *target, column string) Judgement {
	if isTimeText(e, schema.Column(t.table, column)) {
		return judged(Time, Timestamp, column+" is set to the time of the run")
	}
	return judged(Safe, SameRow, "")
}

// readsRow reports whether an expression reads the row that is there.
func readsRow(e tree.Expr, t *target) bool {
	for range t.reads(e) {
		return true
	}
	return hasQuery(e)
}

// sameValue compares a value that does not depend on the row with the inserted one.
func (j *judge) sameValue(set, inserted tree.Expr, column string) Judgement {
	clocks := func(e tree.Expr) bool { f := j.effectsOf(e); return f.clock && j.timeOnly(e) }
	switch {
	case inserted != nil && (tree.Text(set) == tree.Text(inserted) || clocks(set) && clocks(inserted)):
		return judged(Safe, SameRow, "the update writes what the insert has written")
	case inserted != nil && clocks(set):
		return guardedBy(judged(NotSafe, DifferentValues, "the first run inserts one value of "+column+" and the second sets the time"), j.again(column))
	case literal(set) != nil && (literal(inserted) != nil):
		return guardedBy(judged(NotSafe, DifferentValues, "the first run inserts one value of "+column+" and the second sets another"), j.again(column))
	}
	return guardedBy(judged(CannotTell, DifferentValues, "the first run may insert one value of "+column+" and the second set another"), j.again(column))
}

// again is the assignment that writes what was to be inserted.
func (j *judge) again(column string) string {
	name := j.quoted(column)
	if j.dialect == dialect.MySQL {
		return "SET " + name + " = VALUES(" + name + ")"
	}
	return "SET " + name + " = excluded." + name
}

// grown judges a value that reads the row: greatest(t.n, excluded.n) of a row that was inserted
// with excluded.n is that.
func (j *judge) grown(i *insertion, e tree.Expr, column string) Judgement {
	res := j.settled(e, column, i.t)
	if res.Verdict != Safe {
		return res
	}
	var results []tree.Expr
	switch e := e.(type) {
	case *tree.Call:
		if slices.Contains([]string{"greatest", "least", "coalesce", "ifnull", "max", "min"}, e.Name) {
			results = e.Args
		}
	case *tree.Case:
		for n, one := range branches(e) {
			if !j.insertedBy(i, e, n, column) {
				results = append(results, one)
			}
		}
		if len(results) == 0 {
			return res
		}
	case *tree.Column:
		results = []tree.Expr{e}
	}
	if len(results) == 0 || slices.ContainsFunc(results, func(e tree.Expr) bool { return i.t.column(e) != column && !j.insertedAs(i, e, column) }) {
		return judged(CannotTell, DifferentValues, column+" is inserted with one value and then changed to another")
	}
	return res
}

// branches returns the results of a CASE, ELSE last.
func branches(c *tree.Case) (all []tree.Expr) {
	for _, w := range c.Whens {
		all = append(all, w.Then)
	}
	return append(all, c.Else)
}

// insertedBy reports whether a branch of a CASE yields the value that the column was inserted with: the same expression, or the same
// branch of the same CASE.
func (j *judge) insertedBy(i *insertion, c *tree.Case, branch int, column string) bool {
	def := schema.Column(i.t.table, column)
	fixed := func(e tree.Expr) bool { return e != nil && i.t.stable(e) && !readsRow(e, i.t) }
	e := branches(c)[branch]
	if j.dialect == dialect.MySQL || def == nil || def.Serial || typeOf(def.Type) == float || !fixed(e) || isTimeText(e, def) {
		return false
	}
	return !slices.ContainsFunc(i.rows, func(row map[string]tree.Expr) bool {
		v := j.inserted(i, row, column)
		if same, ok := v.(*tree.Case); ok && len(same.Whens) == len(c.Whens) && c.Operand == nil && same.Operand == nil {
			if !untyped(branches(same), "", def) || !untyped(branches(c), column, def) {
				return true
			}
			for n, w := range c.Whens {
				if !fixed(w.If) || tree.Text(w.If) != tree.Text(same.Whens[n].If) {
					return true
				}
			}
			v = branches(same)[branch]
		}
		return v == nil || tree.Text(v) != tree.Text(e)
	})
}

// untyped reports whether each branch is an untyped string, the column, or a cast to its type: any other would give the CASE its own type.
func untyped(all []tree.Expr, column string, def *tree.ColumnDef) bool {
	typed := typeOf(def.Type) == text // an assignment to another type may convert a text
	return !slices.ContainsFunc(all, func(e tree.Expr) bool {
		c, own := e.(*tree.Column)
		as, cast := e.(*tree.Cast)
		own = own && strings.EqualFold(c.Name, column) || cast && as.Type == def.Type && typeOf(as.Type) == otherType && !strings.Contains(as.Type, "(")
		typed = typed || own
		_, param := e.(*tree.Param)
		return !own && !param && (literal(e) == nil || literal(e).Kind != tree.String)
	}) && typed
}

// insertedAs reports whether an expression is the value that a column was to be inserted with: excluded.c, or another
// excluded column of that type that was to get the same.
func (j *judge) insertedAs(i *insertion, e tree.Expr, column string) bool {
	if isExcluded(e, column) {
		return true
	}
	c, ok := e.(*tree.Column)
	if !ok || c.Table != tree.Excluded {
		return false
	}
	from, to := schema.Column(i.t.table, c.Name), schema.Column(i.t.table, column)
	if from == nil || to == nil || from.Type != to.Type || from.Collation != to.Collation || from.Serial || to.Serial {
		return false
	}
	return !slices.ContainsFunc(i.rows, func(row map[string]tree.Expr) bool {
		one, other := j.inserted(i, row, strings.ToLower(c.Name)), j.inserted(i, row, column)
		return one == nil || other == nil || !i.t.stable(one) || tree.Text(one) != tree.Text(other)
	})
}

// numbered reports whether the database may put a number in the place of a value.
func (j *judge) numbered(i *insertion, v tree.Expr, column string) bool {
	why, _ := j.given(i, v, strings.ToLower(column), false)
	return why != ""
}

// replace judges REPLACE: the row is deleted and inserted anew.
func (j *judge) replace(i *insertion) Judgement {
	res := j.covered(i)
	if res.Verdict != Safe {
		return res
	}
	res.Once, res.Assumes = false, append(slices.Clip(res.Assumes), j.lastWins(i)...)
	for _, row := range i.rows {
		for _, def := range i.t.table.Columns {
			v := j.inserted(i, row, strings.ToLower(def.Name))
			switch {
			case def.Generated != nil:
			case v == nil || def.Serial && j.numbered(i, v, def.Name):
				return guardedBy(judged(NotSafe, RandomValue, "REPLACE gives the row a new "+def.Name+" each time"), "use an upsert, which keeps the row")
			default:
				res = worse(res, worse(valueEffects(j.effectsOf(v), def.Name), j.selection(v, i.t, true)))
			}
		}
	}
	if j.severalKeys(i) {
		res = worse(res, judged(CannotTell, Unproven, "the row may replace two others by two keys"))
	}
	res = worse(res, j.triggers(i.t, onDelete).always)
	for _, t := range j.referring(i.t) {
		res = worse(res, judged(CannotTell, Cascades, "REPLACE deletes the row first, and with it what "+t+" keeps of it"))
	}
	return res
}

// referring names the tables whose foreign keys act when a row of the target is deleted.
func (j *judge) referring(t *target) (names []string) {
	for _, f := range j.schema.Acting() {
		if j.base(f.Table) == t.name && tree.Acts(f.OnDelete) {
			names = append(names, f.From)
		}
	}
	return names
}
