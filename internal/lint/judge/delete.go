package judge

import (
	"strings"

	"github.com/semel-dev/semel/internal/lint/tree"
)

// delete judges DELETE.
func (j *judge) delete(d *tree.Delete) Judgement {
	res := j.within(d.With)
	t, where, why := j.behind(d.Table, d.As, d.Using, d.Where)
	if why != "" {
		res = worse(res, judged(CannotTell, UnknownTable, why))
	}
	where = j.inlined(t, where)
	if d.Cursor {
		return worse(res, judged(CannotTell, Opaque, "WHERE CURRENT OF deletes the row of a cursor"))
	}
	fired := j.triggers(t, onDelete)
	one := judged(Safe, Deletes, "what is deleted is not there at a second run")
	conditions := j.effectsOf(where).judgement()
	one.Once = conditions.Verdict == Safe
	if d.Limit != nil || d.Offset != nil {
		one = worse(one, guardedBy(judged(NotSafe, MovingSelection, "LIMIT: the next run deletes further rows"), otherRows))
	}
	selected := worse(j.selection(where, t, true), j.sources(t.others, t, true))
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
		if !sets || !own && !t.changed[strings.ToLower(f.Table.Name)] {
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
