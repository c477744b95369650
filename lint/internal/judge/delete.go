package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// delete judges DELETE.
func (j *judge) delete(d *tree.Delete) Judgement {
	res := j.within(d.With)
	t, where, why := j.behind(d.Table, d.As, d.Using, d.Where)
	if why != "" {
		res = worse(res, judged(CannotTell, UnknownTable, why))
	}
	if d.Cursor {
		return worse(res, judged(CannotTell, Opaque, "WHERE CURRENT OF deletes the row of a cursor"))
	}
	if fed, ok := j.fedOnce(t, where); ok {
		return worse(res, worse(worse(fed, j.triggers(t, onDelete).whenOnce), j.returned(d.Returning)))
	}
	where = j.inlined(t, where)
	fired := j.triggers(t, onDelete)
	one := judged(Safe, Deletes, "what is deleted is not there at a second run")
	conditions := j.effectsOf(where).judgement()
	one.Once = conditions.Verdict == Safe
	switch picks := d.Limit != nil || d.Offset != nil; {
	case picks && j.oneAtMost(t, where, d.OrderBy, d.Limit, d.Offset):
		one.Assumes = j.asTexts(t, where)
	case picks:
		one = worse(one, guardedBy(judged(NotSafe, MovingSelection, "LIMIT: the next run deletes further rows"), otherRows))
	}
	j.noteChildless(where, t)
	picking := slices.DeleteFunc(tree.Conjuncts(where), func(c tree.Expr) bool { return j.whole(c, t) }) // once those are true, none of the rows is left
	selected := worse(j.selection(tree.And(picking...), t, true), j.sources(t.others, t, true))
	selected.Once = selected.Verdict == Safe
	one = worse(one, selected)
	conditions.Once = conditions.Verdict == Safe
	one = worse(worse(one, conditions), fired.whenOnce)
	one = worse(one, j.orphans(t, where))
	return worse(res, worse(one, j.returned(d.Returning)))
}

// orphans looks for foreign keys of the table to itself whose action changes what the condition reads.
func (*judge) orphans(t *target, where tree.Expr) Judgement {
	res := judged(Safe, Deletes, "")
	res.Once = true
	if t.table == nil {
		return res
	}
	reads := t.reads(where)
	for _, f := range t.table.Foreign {
		own := strings.EqualFold(f.Table.Name, t.table.Name.Name)
		sets := f.OnDelete == "set null" || f.OnDelete == "set default" || !own && tree.Acts(f.OnUpdate)
		if !sets || !own && (!t.changed[strings.ToLower(f.Table.Name)] || !t.judge.acts(f)) {
			continue
		}
		for _, column := range f.Columns {
			if reads[strings.ToLower(column)] || reads["*"] {
				return judged(NotSafe, Cascades, "deleting a row changes "+column+" of the rows below it, so that the next run finds them")
			}
		}
	}
	return res
}
