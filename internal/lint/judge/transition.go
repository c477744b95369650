package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/lint/tree"
)

// transition judges a trigger whose function reads the changed rows as a table. It does nothing when there are none, if
// all that it does is about these rows.
func (j *judge) transition(trigger *tree.Trigger, t *target) firing {
	name := "trigger " + trigger.Name
	f := firing{always: judged(Safe, PlainValues, ""), whenOnce: judged(Safe, PlainValues, ""), settled: true}
	f.always.Once, f.whenOnce.Once = true, true
	if !j.idles(trigger, map[*tree.Trigger]bool{}) {
		f.whenOnce = judged(CannotTell, Triggered, name+" may change something even when the statement changes no row")
	}
	if trigger.Unknown != "" || trigger.OldRows != "" || trigger.Before || trigger.EachRow {
		f.always = judged(CannotTell, Triggered, "what "+name+" does is not known: its function reads the changed rows as a table")
		return f
	}
	for _, st := range trigger.Body {
		f.always = worse(f.always, j.newRows(st, trigger, t))
	}
	return f
}

// newRows judges a statement that takes values from the new rows: those are rows of the table, the same at a second run
// or fewer of them.
func (j *judge) newRows(st tree.Statement, trigger *tree.Trigger, t *target) Judgement {
	of := t.table.Name
	var where tree.Expr
	name := "trigger " + trigger.Name
	as := "" // what the statement calls the new rows
	put := func(list []tree.Source) []tree.Source {
		tree.Sources(list, func(from tree.Source) {
			if ref, ok := from.(*tree.TableRef); ok && ref.Name.Schema == "" && strings.EqualFold(ref.Name.Name, trigger.NewRows) {
				as = sourceName(ref)
			}
		})
		return renamed(list, trigger.NewRows, of)
	}
	switch s := st.(type) {
	case *tree.Update:
		at := *s
		at.From = put(s.From)
		where, st = s.Where, &at
	case *tree.Insert:
		if s.Source == nil || s.Source.SetOp != "" || !j.plainRows(s.Source) || s.Conflict != nil && !s.Conflict.Nothing {
			return judged(CannotTell, Triggered, name+" inserts rows each time")
		}
		at, from := *s, *s.Source
		from.From = put(from.From)
		at.Source = &from
		where, st = from.Where, &at
	default:
		return judged(CannotTell, Triggered, "what "+name+" does with the changed rows is not known")
	}
	if with, written := tree.Parts(st); len(with) > 0 || j.base(written) == t.name {
		return judged(CannotTell, Triggered, "what "+name+" does with the changed rows is not known")
	}
	if why, assumes := j.guard(t.ofNewRows(where, as), t); why != "" && !hasQuery(where) && len(assumes) == 0 {
		none := judged(Safe, PlainValues, "")
		none.Once = true
		return none
	}
	defer j.apart()()
	changed, ripple := j.changed[t.name], j.ripple
	j.changed[t.name], j.ripple = false, nil
	res := j.statement(st)
	j.changed[t.name], j.ripple = changed, ripple
	if res.Verdict != Safe {
		res.Rule, res.Why = Triggered, name+" runs each time: "+res.Why
	}
	return res
}

// ofNewRows returns the conditions on the new rows, in the words of the statement.
func (t *target) ofNewRows(where tree.Expr, name string) (all []tree.Expr) {
	for _, c := range tree.Conjuncts(where) {
		own := true
		c = substituted(c, func(c *tree.Column) tree.Expr {
			own = own && strings.EqualFold(c.Table, name)
			return &tree.Column{Table: t.called, Name: c.Name}
		}, func(*tree.Query) tree.Expr { return &tree.Raw{Why: "a query"} })
		if own {
			all = append(all, c)
		}
	}
	return all
}

// renamed puts a table in the place of the one of a name, which keeps that as its alias.
func renamed(list []tree.Source, name string, to tree.Name) (all []tree.Source) {
	for _, from := range list {
		switch from := from.(type) {
		case *tree.TableRef:
			if from.Name.Schema == "" && strings.EqualFold(from.Name.Name, name) {
				all = append(all, &tree.TableRef{Name: to, As: sourceName(from)})
				continue
			}
			all = append(all, from)
		case *tree.Join:
			at := *from
			at.Left, at.Right = renamed([]tree.Source{from.Left}, name, to)[0], renamed([]tree.Source{from.Right}, name, to)[0]
			all = append(all, &at)
		default:
			all = append(all, from)
		}
	}
	return all
}

// idles reports whether a trigger changes nothing when the statement has changed no row.
func (j *judge) idles(trigger *tree.Trigger, seen map[*tree.Trigger]bool) bool {
	if trigger.EachRow || seen[trigger] {
		return true
	}
	seen[trigger] = true
	if !trigger.Transitions() || trigger.Before || trigger.Instead || trigger.Function == "" || trigger.Hides != "" || trigger.Does == nil {
		return false
	}
	e := &idling{judge: j, seen: seen, empty: map[string]bool{}}
	for _, name := range []string{trigger.NewRows, trigger.OldRows} {
		if name != "" {
			e.empty[strings.ToLower(name)] = true
		}
	}
	return !slices.ContainsFunc(trigger.Idle, func(st tree.Statement) bool { return !e.statement(st) })
}

// idling follows which queries find nothing when some tables are empty.
type idling struct {
	judge *judge
	seen  map[*tree.Trigger]bool
	empty map[string]bool // tables and common table expressions, in lower case
	rest  []tree.Expr     // that are evaluated even so
	fails bool            // some part changes something even so
}

// statement reports whether a statement changes nothing then.
func (e *idling) statement(st tree.Statement) bool {
	rest, fails, empty := e.rest, e.fails, e.empty
	e.rest, e.fails, e.empty = nil, false, map[string]bool{}
	for name := range empty {
		e.empty[name] = true
	}
	e.changes(st)
	silent := e.judge.evaluated(&tree.List{Items: e.rest}).Verdict == Safe
	idle := silent && !e.fails
	e.rest, e.fails, e.empty = rest, fails, empty
	return idle
}

// changes looks at a statement, and at the triggers that it fires without a row.
func (e *idling) changes(st tree.Statement) {
	var table tree.Name
	switch s := st.(type) {
	case *tree.Select:
		e.query(s)
		return
	case *tree.Insert:
		e.with(s.With)
		e.fails = e.fails || s.Source == nil || !e.query(s.Source)
		table = s.Table
	case *tree.Update:
		e.with(s.With)
		e.fails = !e.sources(s.From, s.Where) || e.fails
		table = s.Table
	case *tree.Delete:
		e.with(s.With)
		e.fails = !e.sources(s.Using, s.Where) || e.fails
		table = s.Table
	default:
		e.fails = true
		return
	}
	family := e.judge.newRipple().family(e.judge.base(table))
	e.fails = e.fails || len(family) == 0
	for _, t := range family {
		e.fails = e.fails || t.Rules || t.Unknown != "" || t.View != nil || slices.ContainsFunc(t.Triggers, func(one *tree.Trigger) bool { return !e.judge.idles(one, e.seen) })
	}
}

func (e *idling) with(list []tree.With) {
	for _, w := range list {
		var found bool
		if s, reads := w.Body.(*tree.Select); reads {
			found = !w.Recursive && e.query(s)
			e.fails = e.fails || w.Recursive
		} else {
			e.changes(w.Body)
			found = true // its rows are those that it changes
		}
		e.empty[strings.ToLower(w.Name)] = found
	}
}

// query reports whether a query finds nothing.
func (e *idling) query(s *tree.Select) bool {
	if s == nil {
		return false
	}
	e.with(s.With)
	e.rest = append(e.rest, s.Limit, s.Offset)
	if s.SetOp != "" {
		left, right := e.query(s.Left), e.query(s.Right)
		switch s.SetOp {
		case "union", "union all":
			return left && right
		case "intersect", "intersect all":
			return left || right
		case "except", "except all":
			return left
		}
		return false
	}
	for _, row := range s.Values {
		e.rest = append(e.rest, row...)
	}
	if s.Values == nil && e.sources(s.From, s.Where) && (s.Having == nil || len(s.GroupBy) > 0) && !e.judge.aggregated(&tree.Select{Items: s.Items, GroupBy: s.GroupBy, OrderBy: s.OrderBy}) {
		return true
	}
	for _, item := range s.Items {
		e.rest = append(e.rest, item.Expr)
	}
	for _, o := range s.OrderBy {
		e.rest = append(e.rest, o.Expr)
	}
	e.rest = append(append(append(e.rest, s.GroupBy...), s.DistinctOn...), s.Having)
	return false
}

// sources reports whether nothing is found in FROM under a condition.
func (e *idling) sources(list []tree.Source, where tree.Expr) (nothing bool) {
	e.rest = append(e.rest, where)
	for _, from := range list {
		nothing = e.source(from) || nothing
	}
	for _, c := range tree.Conjuncts(where) {
		if q, ok := c.(*tree.Query); ok && (q.Kind == "in" || q.Kind == "any" || q.Kind == "exists") {
			nothing = e.query(q.Select) || nothing
		}
	}
	return nothing
}

func (e *idling) source(from tree.Source) bool {
	switch from := from.(type) {
	case *tree.TableRef:
		return from.Name.Schema == "" && e.empty[strings.ToLower(from.Name.Name)]
	case *tree.Derived:
		return e.query(from.Query)
	case *tree.Function:
		e.rest = append(e.rest, from.Call)
	case *tree.Join:
		e.rest = append(e.rest, from.On)
		left, right := e.source(from.Left), e.source(from.Right)
		switch from.Kind {
		case "inner", "cross":
			return left || right
		case "left":
			return left
		case "right":
			return right
		}
		return left && right
	}
	return false
}
