package judge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// event names the change for which triggers wait.
type event uint8

const (
	onInsert event = iota
	onUpdate
	onDelete
)

// firing holds the effect of a table's triggers on the verdict.
type firing struct {
	always   Judgement // when a second run touches rows
	whenOnce Judgement // when it touches none
	upserts  Judgement // when it finds each row that it was to insert
	onChange Judgement // when it changes rows; those of triggers that wait for that
	settled  bool      // what a row is after the change is known
}

// triggers judges the triggers of the table for an event. What a BEFORE trigger sets replaces what
// the statement sets.
func (j *judge) triggers(t *target, on event) firing {
	none := judged(Safe, PlainValues, "")
	none.Once = true
	f := firing{always: none, whenOnce: none, upserts: none, onChange: none, settled: true}
	if t.table == nil {
		return f
	}
	if t.table.Rules {
		rule := judged(NotSafe, Triggered, "a rule of the table adds statements, which run each time")
		f.always, f.whenOnce, f.upserts = rule, rule, rule
	}
	var changing []*tree.Trigger
	for _, trigger := range t.table.Triggers {
		if !waits(trigger, on, t) {
			continue
		}
		if on == onUpdate && j.onlyChanging(trigger, t) {
			changing = append(changing, trigger)
			continue
		}
		one := j.trigger(trigger, t)
		f.always, f.whenOnce, f.settled = worse(f.always, one.always), worse(f.whenOnce, one.whenOnce), f.settled && one.settled
		f.upserts = worse(f.upserts, one.always)
	}
	for _, trigger := range changing {
		one := j.trigger(trigger, t)
		if t.sharesColumn(trigger) {
			f.always, f.whenOnce, f.upserts, f.settled = worse(f.always, one.always), worse(f.whenOnce, one.whenOnce), worse(f.upserts, one.always), false
			continue
		}
		for _, a := range trigger.Sets {
			t.written[strings.ToLower(a.Column)] = true
		}
		t.derive()
		f.onChange = worse(f.onChange, one.always)
	}
	j.rippled(&f, t)
	return f
}

// rippled adds what the statement sets off elsewhere, by the triggers of other tables and by functions.
func (j *judge) rippled(f *firing, t *target) {
	if j.ripple == nil {
		return
	}
	why := ""
	switch {
	case j.ripple.hidden != "":
		why = "what it sets off may change the table: " + j.ripple.hidden
	case j.ripple.tables[t.name]:
		why = "a trigger or a function changes the table itself"
	}
	if why != "" {
		unknown := judged(CannotTell, Triggered, why)
		f.settled, f.always, f.whenOnce, f.upserts = false, worse(f.always, unknown), worse(f.whenOnce, unknown), worse(f.upserts, unknown)
	}
	if j.ripple.twice != "" {
		twice := judged(CannotTell, Triggered, "several statements of triggers change "+j.ripple.twice)
		f.always, f.upserts = worse(f.always, twice), worse(f.upserts, twice)
	}
}

// onlyChanging reports whether a trigger is known, and fires for rows that an UPDATE changes alone: a second run that sets
// the same values does not fire it.
func (j *judge) onlyChanging(trigger *tree.Trigger, t *target) bool {
	return trigger.EachRow && trigger.Unknown == "" && !trigger.Reordered && !trigger.Instead && !trigger.Transitions() && onChange(trigger.When) &&
		!slices.ContainsFunc(trigger.Body, func(st tree.Statement) bool { return j.reach(st)[t.name] || j.writes(st, t.name) })
}

// onChange reports whether a condition is true only if the old row and the new one differ.
func onChange(e tree.Expr) bool {
	op, ok := e.(*tree.Op)
	if !ok {
		return false
	}
	same := func(e tree.Expr) bool { return !onChange(e) }
	switch op.Name {
	case "and":
		return slices.ContainsFunc(op.Args, onChange)
	case "or":
		return !slices.ContainsFunc(op.Args, same)
	case "is distinct from", "<>":
		return len(op.Args) == 2 && (beforeAndAfter(op.Args[0], op.Args[1]) || beforeAndAfter(op.Args[1], op.Args[0]))
	}
	return false
}

// beforeAndAfter reports whether two expressions are one column of the old row and of the new one, or these rows.
func beforeAndAfter(a, b tree.Expr) bool {
	if old, ok := a.(*tree.Star); ok {
		now, ok := b.(*tree.Star)
		return ok && strings.EqualFold(old.Table, "old") && strings.EqualFold(now.Table, "new")
	}
	old, isColumn := a.(*tree.Column)
	now, ok := b.(*tree.Column)
	return ok && isColumn && strings.EqualFold(old.Table, "old") && strings.EqualFold(now.Table, "new") && strings.EqualFold(old.Name, now.Name)
}

// sharesColumn reports whether a trigger sets a column that the statement or another trigger sets.
func (t *target) sharesColumn(trigger *tree.Trigger) bool {
	return slices.ContainsFunc(trigger.Sets, func(a tree.Assign) bool { _, ok := t.set[strings.ToLower(a.Column)]; return ok })
}

// waits reports whether a trigger may fire.
func waits(trigger *tree.Trigger, on event, t *target) bool {
	switch on {
	case onInsert:
		return trigger.Insert
	case onDelete:
		return trigger.Delete
	case onUpdate:
	}
	if !trigger.Update || len(trigger.Columns) == 0 {
		return trigger.Update
	}
	return slices.ContainsFunc(trigger.Columns, func(name string) bool { return t.written[strings.ToLower(name)] })
}

func (j *judge) trigger(trigger *tree.Trigger, t *target) firing {
	name := "trigger " + trigger.Name
	if trigger.Transitions() {
		unknown := judged(CannotTell, Triggered, "what "+name+" does is not known: its function reads the changed rows as a table")
		return firing{always: unknown, whenOnce: unknown, settled: true}
	}
	if trigger.Unknown != "" || trigger.Reordered || trigger.Instead || trigger.When != nil && len(trigger.Sets) > 0 {
		why := cmp.Or(trigger.Unknown, "it acts under a condition")
		unknown := judged(CannotTell, Triggered, "what "+name+" does is not known: "+why)
		return firing{always: unknown, whenOnce: unknown}
	}
	f := firing{always: judged(Safe, PlainValues, ""), whenOnce: judged(Safe, PlainValues, ""), settled: true}
	f.always.Once, f.whenOnce.Once = true, true
	for _, a := range trigger.Sets {
		f.always = worse(f.always, t.override(a, name))
	}
	for _, st := range trigger.Body {
		if j.reach(st)[t.name] || j.writes(st, t.name) {
			own := judged(CannotTell, Triggered, name+" changes the table itself")
			f.settled, f.always, f.whenOnce = false, worse(f.always, own), worse(f.whenOnce, own)
			continue
		}
		one := j.body(st)
		if one.Verdict != Safe {
			one.Why = name + " runs each time: " + one.Why
			one.Rule = Triggered
		}
		if trigger.EachRow && !t.one {
			one = worse(one, judged(CannotTell, Triggered, "each row fires "+name+": what the last one writes stays, and their order is open"))
		}
		f.always = worse(f.always, one)
		if !trigger.EachRow {
			f.whenOnce = worse(f.whenOnce, one)
		}
	}
	return f
}

// body judges a statement of a trigger. What it reads of the old row differs at the second run.
func (j *judge) body(st tree.Statement) Judgement {
	defer j.apart()()
	ripple := j.ripple
	j.ripple = nil
	res := j.statement(st)
	j.ripple = ripple
	if readsOld(st) {
		res = worse(res, judged(CannotTell, Triggered, "it reads the old row, which is another one at the second run"))
	}
	return res
}

// writes reports whether a statement writes the table.
func (j *judge) writes(st tree.Statement, name string) bool {
	switch st := st.(type) {
	case *tree.Insert:
		return j.base(st.Table) == name
	case *tree.Update:
		return j.base(st.Table) == name
	case *tree.Delete:
		return j.base(st.Table) == name
	case *tree.Select, *tree.Neutral:
		return false
	}
	return true
}

// readsOld reports whether a statement of a trigger uses the row before the change, which is another one at the
// second run.
func readsOld(st tree.Statement) (found bool) {
	visit := func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Column:
			found = found || strings.EqualFold(e.Table, "old") || strings.EqualFold(e.Name, "old")
		case *tree.Star:
			found = found || strings.EqualFold(e.Table, "old")
		case *tree.Raw:
			found = true
		}
		return true
	}
	each := func(list []tree.Assign) {
		for _, a := range list {
			tree.Exprs(a.Value, visit)
		}
	}
	sources := func(list []tree.Source) { (&tree.Select{From: list}).Exprs(visit) }
	switch st := st.(type) {
	case *tree.Select:
		st.Exprs(visit)
	case *tree.Insert:
		st.Source.Exprs(visit)
		if st.Conflict != nil {
			each(st.Conflict.Set)
			tree.Exprs(st.Conflict.If, visit)
		}
		return found || len(st.With) > 0
	case *tree.Update:
		each(st.Set)
		sources(st.From)
		tree.Exprs(st.Where, visit)
		return found || len(st.With) > 0
	case *tree.Delete:
		sources(st.Using)
		tree.Exprs(st.Where, visit)
		return found || len(st.With) > 0
	default:
		return true
	}
	return found
}

// override puts the value of a BEFORE trigger in the place of the statement's, and judges it.
func (t *target) override(a tree.Assign, trigger string) Judgement {
	column := strings.ToLower(a.Column)
	rows, self := false, false
	tree.Exprs(a.Value, func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Column:
			rows = true
			self = self || strings.EqualFold(e.Table, "old") && strings.EqualFold(e.Name, column)
		case *tree.Star, *tree.Raw, *tree.Query:
			rows = true
		}
		return true
	})
	value := a.Value
	if rows {
		value = &tree.Raw{Why: trigger}
	}
	own, sets := t.set[column]
	t.assign(column, value, false)
	t.derive()
	if sets && len(t.readsWritten(own.value)) > 0 { // without the trigger (session_replication_role), that counts
		return judged(CannotTell, Triggered, trigger+" replaces what the statement computes for "+column)
	}
	op, arithmetic := a.Value.(*tree.Op)
	switch {
	case self && arithmetic && slices.Contains([]string{"+", "-", "*", "/", "||", "not"}, op.Name):
		return judged(NotSafe, Triggered, trigger+" changes "+column+" again at every run")
	case rows || hasQuery(a.Value):
		return judged(CannotTell, Triggered, trigger+" computes "+column+" from the row")
	}
	f := t.judge.effectsOf(a.Value)
	if def := schema.Column(t.table, column); t.judge.dialect == dialect.PostgreSQL && (def == nil || typeOf(def.Type) == otherType) && t.judge.mayBeNow(a.Value) {
		f.clock = true // PL/pgSQL converts any text
	}
	return valueEffects(f, column)
}
