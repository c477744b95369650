package judge

import (
	"strings"

	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// joined judges a value from other tables: there must be one row of them for each row that is written.
func (j *judge) joined(e tree.Expr, t *target, where tree.Expr) Judgement {
	res := judged(Safe, PlainValues, "it sets the same values each time")
	if len(t.others) == 0 {
		return res
	}
	fixed := map[tree.Source]bool{}
	for more := true; more; {
		more = false
		tree.Sources(t.others, func(from tree.Source) {
			if conditions := t.determined(from, where, fixed); !fixed[from] && (j.single(from, conditions) || j.oneMember(from, conditions, t)) {
				fixed[from], more = true, true
			}
		})
	}
	tree.Sources(t.others, func(from tree.Source) {
		if !j.used(e, from, t) || fixed[from] {
			return
		}
		if column := j.ofArrays(from, t.determined(from, where, fixed), t); column != "" {
			res = worse(res, Judgement{Verdict: Safe, Rule: PlainValues, Why: res.Why, Assumes: []string{"the arrays behind " + sourceName(from) + " hold no " + column + " twice"}})
			return
		}
		res = worse(res, judged(CannotTell, OpenOrder, "several joined rows may match one row: which of their values it gets is open"))
	})
	return res
}

// determined returns the conditions on a source that depend on the written row, and on sources of
// which one row is left.
func (t *target) determined(of tree.Source, where tree.Expr, fixed map[tree.Source]bool) (all []tree.Expr) {
	conditions := tree.Conjuncts(where)
	for _, from := range t.others {
		conditions = append(conditions, joinConditions(from, of)...)
	}
	open := map[string]bool{}
	tree.Sources(t.others, func(from tree.Source) {
		if from != of && !fixed[from] {
			open[strings.ToLower(sourceName(from))] = true
		}
	})
	for _, c := range conditions {
		reads := len(t.readsWritten(c)) > 0 // another row is joined the next time
		tree.Exprs(c, func(e tree.Expr) bool {
			col, ok := e.(*tree.Column)
			reads = reads || ok && (open[strings.ToLower(col.Table)] || col.Table == "" && len(open) > 0 && schema.Column(t.table, col.Name) == nil)
			return !reads
		})
		if !reads {
			all = append(all, c)
		}
	}
	return all
}

// joinConditions returns those that every row of a source in a join satisfies.
func joinConditions(from, of tree.Source) []tree.Expr {
	join, ok := from.(*tree.Join)
	if !ok {
		return nil
	}
	all := append(joinConditions(join.Left, of), joinConditions(join.Right, of)...)
	within := func(side tree.Source) (found bool) {
		tree.Sources([]tree.Source{side}, func(one tree.Source) { found = found || one == of })
		return found
	}
	switch {
	case join.Kind == "full", join.Kind == "left" && within(join.Left), join.Kind == "right" && within(join.Right):
		return all
	}
	return append(all, tree.Conjuncts(join.On)...)
}

// used reports whether an expression may read a source.
func (*judge) used(e tree.Expr, from tree.Source, t *target) (used bool) {
	as := sourceName(from)
	tree.Exprs(e, func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Column:
			used = used || e.Table == "" && schema.Column(t.table, e.Name) == nil || strings.EqualFold(e.Table, as)
		case *tree.Star:
			used = true
		}
		return !used
	})
	return used
}

func sourceName(from tree.Source) string {
	switch from := from.(type) {
	case *tree.TableRef:
		if from.As != "" {
			return from.As
		}
		return from.Name.Name
	case *tree.Derived:
		return from.As
	case *tree.Function:
		return from.As
	}
	return ""
}

// single reports whether conditions leave one row of a source for each row of the others: they
// fix all columns of a unique key.
func (j *judge) single(from tree.Source, conditions []tree.Expr) bool {
	if d, ok := from.(*tree.Derived); ok && len(d.Query.Values) == 1 {
		return true
	}
	ref, ok := from.(*tree.TableRef)
	if !ok {
		return false
	}
	if w := j.with[strings.ToLower(ref.Name.Name)]; w != nil {
		return ref.Name.Schema == "" && j.returns(w, sourceName(from), conditions)
	}
	other := j.target(ref.Name, sourceName(from), nil)
	if other.table == nil || other.table.View != nil {
		return false
	}
	var fixed []string
	for _, c := range conditions {
		op, ok := c.(*tree.Op)
		if !ok || op.Name != "=" || len(op.Args) != 2 {
			continue
		}
		for i, side := range op.Args {
			col, ok := side.(*tree.Column)
			if ok && strings.EqualFold(col.Table, sourceName(from)) && len(other.reads(op.Args[1-i])) == 0 {
				fixed = append(fixed, strings.ToLower(col.Name))
			}
		}
	}
	return other.unique(fixed)
}
