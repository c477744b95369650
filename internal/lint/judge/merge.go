package judge

import (
	"strings"

	"github.com/semel-dev/semel/internal/lint/schema"
	"github.com/semel-dev/semel/internal/lint/tree"
)

// merge judges MERGE: a branch that computes from the old row is not safe. Safe is one that finds its rows by a unique
// key, which no branch changes, and that updates them to what it inserts.
func (j *judge) merge(m *tree.Merge) Judgement {
	res := j.within(m.With)
	t, _, why := j.behind(m.Table, m.As, []tree.Source{m.Using}, m.On)
	if why != "" {
		res = worse(res, judged(CannotTell, UnknownTable, why))
	}
	for _, b := range m.Branches {
		for _, a := range b.Set {
			t.assign(strings.ToLower(a.Column), a.Value, a.Of)
		}
	}
	for _, b := range m.Branches {
		for _, a := range b.Set {
			if one := j.value(strings.ToLower(a.Column), t, m.On); b.If == nil && one.Verdict == NotSafe {
				res = worse(res, one)
			}
		}
	}
	if t.table == nil || res.Verdict == NotSafe {
		return worse(res, judged(CannotTell, Unproven, "MERGE inserts in one run what it updates in the next"))
	}
	return worse(res, j.merges(&merging{Merge: m, t: t}))
}

// merging is a MERGE that is being judged.
type merging struct {
	*tree.Merge

	t       *target
	inserts []*insertion // of the branches
	matched int          // branches for rows that are there
	some    bool         // some of these have a condition
	deletes bool
	lacks   bool // a branch is for rows that the source lacks
}

// branches looks at what the branches do.
func (j *judge) branches(m *merging) {
	for _, b := range m.Branches {
		m.lacks = m.lacks || b.BySource
		if b.Insert != nil {
			m.inserts = append(m.inserts, j.merged(m, b.Insert))
		}
		if b.Matched {
			m.matched++
			m.some, m.deletes = m.some || b.If != nil, m.deletes || b.Delete
		}
	}
}

// merges judges the branches together: what one of them inserts is found by another at the second run.
func (j *judge) merges(m *merging) Judgement {
	unproven := func(why string) Judgement { return judged(CannotTell, Unproven, why) }
	t := m.t
	if len(t.table.Triggers) > 0 || t.table.Rules || j.isView(m.Table) {
		return unproven("MERGE fires the triggers of several changes")
	}
	t.derive()
	if j.branches(m); m.lacks {
		return unproven("MERGE also changes rows that its source lacks")
	}
	res := worse(j.sources(t.others, t, true), j.returned(m.Returning))
	res.Once = false
	for _, e := range append(conditionsOf(m.Merge), m.On) {
		res = worse(worse(res, j.effectsOf(e).judgement()), j.selection(e, t, true))
		if len(t.readsWritten(e)) > 0 {
			return worse(res, unproven("a condition of MERGE reads what it changes"))
		}
	}
	switch {
	case m.deletes && (len(m.inserts) > 0 || len(j.referring(t)) > 0 || len(t.table.Foreign) > 0):
		return worse(res, unproven("MERGE deletes what the next run may insert or find otherwise"))
	case len(m.inserts) > 0 && (m.some || m.matched > 1):
		// Without a condition both rows of the source would change it, which is an error.
		return worse(res, unproven("what one row of the source inserts, another one may find at the next run and change under its condition"))
	}
	for _, b := range m.Branches {
		for _, a := range b.Set {
			res = worse(res, j.mergedValue(m, a))
		}
	}
	for _, i := range m.inserts {
		res = worse(res, j.mergedKey(m, i))
	}
	return worse(res, judged(Safe, SameRow, "a second run finds the rows by their key, and writes the same"))
}

// conditionsOf are those of the branches.
func conditionsOf(m *tree.Merge) (all []tree.Expr) {
	for _, b := range m.Branches {
		if b.If != nil {
			all = append(all, b.If)
		}
	}
	return all
}

// merged is the INSERT of a branch, as one of a row of the source.
func (j *judge) merged(m *merging, in *tree.Insert) *insertion {
	one := *in
	one.Table = m.Table
	if in.Source == nil {
		one.Columns = nil
	}
	i := &insertion{Insert: &one, t: m.t}
	if why := i.spread(); why != "" {
		i.rows = []map[string]tree.Expr{{}}
	}
	one.Source = &tree.Select{From: []tree.Source{m.Using}} // in which columns are not NULL
	i.query = true
	if one.Columns == nil {
		one.Columns = []string{}
	}
	return i
}

// mergedValue judges an assignment: of the rows that are there, and of those that a branch inserts.
func (j *judge) mergedValue(m *merging, a tree.Assign) Judgement {
	column := strings.ToLower(a.Column)
	def := schema.Column(m.t.table, column)
	if _, byDefault := a.Value.(*tree.Default); byDefault || a.Of || def == nil || def.Serial {
		return judged(CannotTell, Unproven, "what MERGE sets "+column+" to is not known")
	}
	if len(m.t.readsWritten(a.Value)) > 0 || hasQuery(a.Value) {
		return judged(CannotTell, RelativeValue, column+" is computed from what the statement changes")
	}
	res := worse(valueEffects(j.effectsOf(a.Value), column), timeText(a.Value, m.t, column))
	for _, i := range m.inserts {
		if readsRow(a.Value, m.t) {
			return judged(CannotTell, DifferentValues, column+" is computed from the row, and inserted with another value")
		}
		inserted := j.inserted(i, i.rows[0], column)
		same := j.sameValue(i, a.Value, inserted, column)
		same.Guard = "set " + column + " to the same in both branches"
		res = worse(res, worse(same, timeText(inserted, m.t, column)))
	}
	return res
}

// mergedKey judges whether the rows that a branch inserts are found again: by a key that ON compares with what is inserted.
// Otherwise that key refuses them.
func (j *judge) mergedKey(m *merging, i *insertion) Judgement {
	open := judged(CannotTell, Unproven, "MERGE may insert once more: no unique key is compared with what it inserts")
	for _, k := range m.t.table.Keys {
		if k.Deferred || k.Where != nil || !m.compares(k, i.rows[0]) {
			continue
		}
		if c := j.covers(i, k, i.rows[0]); c.why == "" {
			res := judged(Safe, SameRow, "")
			res.Assumes = c.assumes
			return res
		}
	}
	return open
}

// compares reports whether ON compares each column of a key with the value that the row is inserted with.
func (m *merging) compares(k *tree.Key, row map[string]tree.Expr) bool {
	for _, part := range k.Parts {
		found := false
		column := m.t.column(part)
		for _, c := range tree.Conjuncts(m.On) {
			op, ok := c.(*tree.Op)
			if !ok || op.Name != "=" || len(op.Args) != 2 || column == "" || row[column] == nil {
				continue
			}
			for n, side := range op.Args {
				found = found || m.t.column(side) == column && tree.Text(op.Args[1-n]) == tree.Text(row[column]) && !readsRow(row[column], m.t)
			}
		}
		if !found {
			return false
		}
	}
	return len(k.Parts) > 0
}
