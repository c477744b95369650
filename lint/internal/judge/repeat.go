package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// Repeat says what the second run of a statement answers, if nothing else has run in between.
type Repeat uint8

// The answers of a second run.
const (
	// RepeatUnknown: it depends, or cannot be told.
	RepeatUnknown Repeat = iota
	// RepeatSame: the same count of rows, and the same rows.
	RepeatSame
	// RepeatDiffers: another count of rows once the first run has changed some, mostly 0.
	RepeatDiffers
	// RepeatRefused: an error once the first run has inserted or defined something.
	RepeatRefused
)

// String is the answer as people read it.
func (r Repeat) String() string {
	return [...]string{"cannot tell", "the same", "other rows", "refused"}[r]
}

// repeated completes a judgement with what the second run answers.
func (j *judge) repeated(st tree.Statement, res Judgement) Judgement {
	if res.Verdict != Safe && res.Verdict != Time {
		return res
	}
	writes := writesOf(st)
	if len(writes) != 1 {
		if s, ok := st.(*tree.Select); ok && len(writes) == 0 && j.readsSame(s) {
			res.Repeat = RepeatSame
		}
		return res
	}
	a := j.part(writes[0], res)
	if writes[0] != st { // a query over what it returns
		if _, reads := st.(*tree.Select); !reads || a.repeat == RepeatSame {
			return res
		}
	}
	res.Repeat, res.Refusal = a.repeat, a.code
	return res
}

// answered holds what a statement answers when it is run again.
type answered struct {
	repeat Repeat
	code   string
}

// writesOf returns a statement and those of its common table expressions, as far as they write.
func writesOf(st tree.Statement) (all []tree.Statement) {
	with, _ := tree.Parts(st)
	for i := range with {
		all = append(all, writesOf(with[i].Body)...)
	}
	switch st.(type) {
	case *tree.Select, *tree.Neutral:
		return all
	}
	return append(all, st)
}

// readsSame reports whether a query reads no clock and no random numbers, and its rows are settled.
func (j *judge) readsSame(s *tree.Select) bool {
	var f effects
	for _, q := range j.reached(s) {
		j.addQuery(q, &f)
	}
	return f.pure() && !s.Into && j.limited(s).Verdict == Safe
}

// part judges one write of a statement.
func (j *judge) part(st tree.Statement, res Judgement) answered {
	switch st := st.(type) {
	case *tree.Insert:
		return j.insertAgain(st, res)
	case *tree.Update:
		return j.updateAgain(st, res)
	case *tree.Delete:
		return answered{repeat: RepeatDiffers}
	case *tree.Define:
		return defineAgain(st, res)
	}
	return answered{}
}

// updateAgain judges an UPDATE that is safe.
func (j *judge) updateAgain(u *tree.Update, res Judgement) answered {
	t, where, _ := j.behind(u.Table, u.As, u.From, u.Where)
	t.sets(u)
	where = j.inlined(t, where)
	fired := j.triggers(t, onUpdate)
	var a answered
	guarded := slices.ContainsFunc(tree.Conjuncts(where), func(c tree.Expr) bool {
		why, _ := j.fails(c, t)
		return why != "" && fired.settled
	})
	switch {
	case res.Once && guarded, j.dialect == dialect.MySQL:
		a.repeat = RepeatDiffers // MySQL counts rows that it changed, not those that it found
	case res.Verdict == Safe && len(t.readsWritten(where)) == 0 && !j.readsOwn(where, t) && j.apartFromSources(t) && u.Limit == nil && t.returnsSame(u.Returning):
		a.repeat = RepeatSame
	}
	return a
}

// readsOwn reports whether queries of an expression read a table that the statement changes.
func (j *judge) readsOwn(e tree.Expr, t *target) (found bool) {
	tree.Exprs(e, func(e tree.Expr) bool {
		if q, ok := e.(*tree.Query); ok {
			found = found || j.readsChanged(q.Select, t)
		}
		return !found
	})
	return found
}

func (j *judge) readsChanged(s *tree.Select, t *target) (found bool) {
	unknown := j.tablesOf(s, func(ref *tree.TableRef, _ *tree.Select) {
		name := j.base(ref.Name)
		found = found || name == t.name || j.changed[name]
	})
	return found || unknown != ""
}

// apartFromSources reports whether what FROM reads is not changed by the statement.
func (j *judge) apartFromSources(t *target) bool {
	if len(t.others) == 0 {
		return true
	}
	if j.readsChanged(&tree.Select{From: t.others}, t) {
		return false
	}
	apart := true
	(&tree.Select{From: t.others}).Exprs(func(e tree.Expr) bool {
		apart = apart && len(t.readsWritten(e)) == 0
		return true
	})
	return apart
}

// returnsSame reports whether RETURNING gives the same for the same rows.
func (t *target) returnsSame(items []tree.Item) bool {
	for _, item := range items {
		same := t.judge.effectsOf(item.Expr).pure() && !hasQuery(item.Expr)
		tree.Exprs(item.Expr, func(e tree.Expr) bool {
			switch e := e.(type) {
			case *tree.Column: // of the old row, maybe
				same = same && (e.Table == "" || t.aliases[strings.ToLower(e.Table)])
			case *tree.Star:
				same = same && (e.Table == "" || t.aliases[strings.ToLower(e.Table)])
			}
			return same
		})
		if !same {
			return false
		}
	}
	return true
}

// namesRow reports whether a condition names one row by a unique key, which the statement leaves as it is.
func (j *judge) namesRow(where tree.Expr, t *target) bool {
	var fixed []string
	for _, c := range tree.Conjuncts(where) {
		op, ok := c.(*tree.Op)
		if !ok || op.Name != "=" || len(op.Args) != 2 {
			continue
		}
		for i, side := range op.Args {
			column := t.column(side)
			if column != "" && !t.written[column] && j.namesValue(schema.Column(t.table, column), op.Args[1-i]) {
				fixed = append(fixed, column)
			}
		}
	}
	return t.holdsKey(fixed, true)
}

// namesValue reports whether an expression is one value of a column: MySQL compares a text with a number by the numbers that
// texts begin with, of which many are the same.
func (j *judge) namesValue(def *tree.ColumnDef, e tree.Expr) bool {
	l := literal(e)
	switch {
	case j.dialect != dialect.MySQL || l == nil:
		return l != nil || isParam(e)
	case def == nil || typeOf(def.Type) == otherType:
		return false
	}
	return l.Kind == tree.String && typeOf(def.Type) == text || l.Kind == tree.Number && typeOf(def.Type) == integer
}

// defineAgain judges DDL that is safe.
func defineAgain(d *tree.Define, res Judgement) answered {
	switch {
	case strings.HasPrefix(d.Kind, "drop ") && d.Guarded:
		return answered{repeat: RepeatSame}
	case strings.HasPrefix(d.Kind, "drop "), strings.HasPrefix(d.Kind, "create ") && !d.Guarded && res.Verdict == Safe:
		return answered{repeat: RepeatRefused}
	}
	return answered{}
}

// insertAgain judges an INSERT that is safe.
func (j *judge) insertAgain(in *tree.Insert, res Judgement) answered {
	query := in.Source != nil && in.Source.Values == nil
	switch {
	case res.Rule == FedOnce, in.Replace && j.dialect == dialect.MySQL, in.Ignore && !in.Replace, in.Conflict != nil && in.Conflict.Nothing:
		return answered{repeat: RepeatDiffers}
	case in.Replace:
		return answered{}
	case in.Conflict != nil:
		return j.upsertAgain(in, res)
	}
	if query && (len(in.Source.From) == 0 || in.Source.Where != nil) { // WHERE NOT EXISTS: no row instead of an error
		own := false
		_ = j.tablesOf(in.Source, func(ref *tree.TableRef, _ *tree.Select) { own = own || j.changed[j.base(ref.Name)] })
		if own {
			return answered{repeat: RepeatDiffers}
		}
	}
	a := answered{RepeatRefused, map[dialect.Dialect]string{dialect.PostgreSQL: "SQLSTATE 23505", dialect.MySQL: "error 1062", dialect.SQLite: "SQLITE_CONSTRAINT"}[j.dialect]}
	if t, _, _ := j.behind(in.Table, in.As, nil, nil); t.table != nil && slices.ContainsFunc(t.table.Keys, func(k *tree.Key) bool { return k.Exclusion }) {
		a.code += " or 23P01"
	}
	return a
}

// upsertAgain judges an INSERT that updates a row that is there.
func (j *judge) upsertAgain(in *tree.Insert, res Judgement) answered {
	var a answered
	t, _, _ := j.behind(in.Table, in.As, nil, nil)
	i := &insertion{Insert: in, t: t}
	if t.table == nil || i.spread() != "" {
		return a
	}
	found := j.findsByTarget(i)
	for _, set := range in.Conflict.Set {
		t.assign(strings.ToLower(set.Column), set.Value, set.Of)
	}
	t.derive()
	guard, _ := j.guard(tree.Conjuncts(in.Conflict.If), t)
	switch {
	case j.dialect == dialect.MySQL:
		a.repeat = RepeatDiffers
	case !found:
	case guard != "":
		a.repeat = RepeatDiffers
	case in.Conflict.If == nil && !i.query && res.Verdict == Safe && t.returnsSame(in.Returning):
		a.repeat = RepeatSame
	}
	return a
}

// findsByTarget reports whether the key that ON CONFLICT names is one that every row has, so that the second run
// finds its row by it and is not refused by another key.
func (j *judge) findsByTarget(i *insertion) bool {
	for _, row := range i.rows {
		if !slices.ContainsFunc(i.t.table.Keys, func(k *tree.Key) bool { return !k.Exclusion && j.covers(i, k, row).why == "" && named(k, i.Conflict) }) {
			return false
		}
	}
	return len(i.rows) > 0
}

// named reports whether ON CONFLICT means a key.
func named(k *tree.Key, c *tree.Conflict) bool {
	if c.Constraint != "" {
		return strings.EqualFold(c.Constraint, k.Name)
	}
	if c.Target == nil {
		return true
	}
	if len(c.Target) != len(k.Parts) {
		return false
	}
	parts := map[string]bool{}
	for _, part := range k.Parts {
		parts[strings.ToLower(tree.Text(part))] = true
	}
	for _, part := range c.Target {
		if !parts[strings.ToLower(tree.Text(part))] {
			return false
		}
	}
	return true
}
