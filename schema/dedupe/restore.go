package dedupe

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

// errShared means that two groups of a batch changed the same row: the later one has to be taken back first.
var errShared = errors.New("two groups changed the same row")

// restore takes units of groups back: the steps of a merge in reverse, each for all tables in one statement.
func (u *undoer) restore(ctx context.Context, units [][]int64) error {
	groups := slices.Concat(units...)
	if err := u.astray(groups); err != nil {
		return err
	}
	err := u.apart(ctx, groups)
	if errors.Is(err, errShared) && len(units) == 1 {
		return u.inTurn(ctx, groups)
	}
	if err != nil {
		return err
	}
	return u.together(ctx, groups)
}

// together takes groups back of which no two changed the same row.
func (u *undoer) together(ctx context.Context, groups []int64) error {
	if err := u.compareAll(ctx, groups); err != nil {
		return err
	}
	if err := u.execAll(ctx, u.announce(-u.run)); err != nil {
		return err
	}
	if u.item == 0 { // else a winner keeps what it has of several losers
		if err := u.unfillAll(ctx, groups); err != nil {
			return err
		}
	}
	steps := []reversal{
		{[]string{"step = 1", "step = 2 AND old IS NULL"}, []func(*trail, string) write{(*trail).unmove, (*trail).undelete}},
		{[]string{"step = 4"}, []func(*trail, string) write{(*trail).unyield}},
		{[]string{"step = 2 AND old IS NOT NULL"}, []func(*trail, string) write{(*trail).unmark}},
	}
	for _, step := range steps {
		if err := u.reverse(ctx, step, groups); err != nil {
			return err
		}
	}
	items := ""
	if u.item != 0 {
		items = " AND item = " + strconv.FormatInt(u.item, 10)
	}
	//semel:safe the second run finds no group in state 1
	if _, err := u.exec(ctx, "UPDATE semel_dedupe_map SET state = 3 WHERE run = $1 AND state = 1 AND "+groupsIn("grp", groups)+items, u.run); err != nil {
		return err
	}
	return u.execAll(ctx, u.conclude())
}

// apart returns errShared where two of the groups changed the same row.
func (u *undoer) apart(ctx context.Context, groups []int64) error {
	if len(groups) == 1 {
		return nil
	}
	var grp int64
	err := u.one(ctx, "SELECT min(grp) FROM semel_dedupe_audit WHERE run = $1 AND undone_at IS NULL AND "+groupsIn("grp", groups)+" GROUP BY tbl, \"key\" HAVING min(grp) < max(grp) LIMIT 1", []any{u.run}, &grp)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return errors.Join(err, errShared)
}

// unfillAll gives winners their columns back. A sweep may have written to a winner once more: its last entry goes first.
func (u *undoer) unfillAll(ctx context.Context, groups []int64) error {
	kept := " FROM semel_dedupe_audit WHERE step = 3 AND " + u.due(groups) + " GROUP BY tbl, \"key\""
	var times int
	if err := u.one(ctx, "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n"+kept+") AS q", nil, &times); err != nil {
		return err
	}
	for ; times > 0; times-- {
		where := "step = 3"
		if times > 1 {
			where += " AND id IN (SELECT id FROM (SELECT max(id) AS id" + kept + ") AS l)"
		}
		if err := u.reverse(ctx, reversal{[]string{where}, []func(*trail, string) write{(*trail).unfill}}, groups); err != nil {
			return err
		}
	}
	return nil
}

// reversal takes rows of the audit back: their conditions, and for each the function that makes its statement.
type reversal struct {
	where  []string
	writes []func(t *trail, audit string) write
}

// reverse takes one step of groups back.
func (u *undoer) reverse(ctx context.Context, step reversal, groups []int64) error {
	var writes []write
	var audits, conditions []string
	for i, where := range step.where {
		where += " AND " + u.due(groups)
		audit := "SELECT * FROM semel_dedupe_audit AS a WHERE " + where
		audits, conditions = append(audits, audit), append(conditions, where)
		for _, t := range u.tables {
			if w := step.writes[i](t, audit+" AND kept IS NULL AND tbl = "+u.literal(t.name)); w.statement != "" {
				writes = append(writes, w)
			}
		}
	}
	counts, due, err := u.apply(ctx, texts.Of(writes, func(w write) string { return w.statement }), texts.Of(writes, func(w write) string { return "(SELECT count(DISTINCT a.\"key\") " + w.due + ")" }))
	if err != nil {
		return err
	}
	for i, w := range writes {
		if err := u.came(ctx, w, counts[i], due[i]); err != nil {
			return err
		}
	}
	if !u.enforces() {
		for i := range audits {
			if err := u.broken(ctx, audits[i]); err != nil {
				return err
			}
		}
	}
	for _, condition := range conditions {
		//semel:safe in one transaction with the states that keep the groups from being taken back again
		if _, err := u.exec(ctx, "UPDATE semel_dedupe_audit AS a SET undone_at = "+u.clock()+", undone_by = $1 WHERE "+condition, u.by); err != nil {
			return err
		}
	}
	return nil
}

// came refuses a write after which fewer rows are back than were due: a trigger or a rule kept the others.
func (u *undoer) came(ctx context.Context, w write, changed, due int64) error {
	found := changed
	if strings.HasPrefix(w.statement, "INSERT") { // a trigger may have given a row another key
		if err := u.one(ctx, "SELECT count(*) "+w.due+" JOIN "+w.path+" AS t ON "+equal(of("t", w.id), w.unkey(`a."key"`)), nil, &found); err != nil {
			return err
		}
	}
	if found < due { // a winner without losers may have changed since
		return refuse("a trigger or a rule keeps %s of %s from coming back (%d of %d did)", texts.Count(due-found, "row"), w.name, found, due)
	}
	u.report.Restored += changed
	return nil
}

// due are the rows of the audit, as a, that are still to be taken back.
func (u *undoer) due(groups []int64) string {
	return "run = " + strconv.FormatInt(u.run, 10) + " AND undone_at IS NULL AND " + groupsIn("grp", groups) + u.only("a", 0)
}

// here joins a row of the audit to the row of the table.
func (t *trail) here() string { return equal(of("t", t.id), t.unkey(`a."key"`)) }

// unfill gives winners their columns back, those that nothing has changed since.
func (t *trail) unfill(audit string) write {
	if len(t.filled) == 0 {
		return write{}
	}
	values := texts.Of(t.filled, func(name string) string {
		column := "t." + quote(name)
		return "CASE WHEN " + t.drifted(name, "") + " THEN " + column + " ELSE " + t.past("a.old", name) + " END"
	})
	differ := t.differ([]string{"a.old"}, []string{"a.new"})
	return write{t.table, t.update(t.path, "t", texts.Of(t.filled, quote), values, "("+audit+") AS a", t.here()+" AND "+differ), "FROM (" + audit + ") AS a WHERE " + differ + " AND " + isMerged}
}

// undelete brings deleted losers back.
func (t *trail) undelete(audit string) write {
	if !t.deleted {
		return write{}
	}
	stored := t.stored()
	values := texts.Of(stored, func(name string) string { return t.past("a.whole", name) })
	return write{t.table, t.insert(t.path+" ("+list(texts.Of(stored, quote))+")") + " SELECT " + list(values) + " FROM (" + audit + ") AS a WHERE a.id > 0", "FROM (" + audit + ") AS a"}
}

// unmark takes the mark from losers.
func (t *trail) unmark(audit string) write { return t.reset(audit, t.marked) }

// unmove lets references refer to what they did.
func (t *trail) unmove(audit string) write { return t.reset(audit, t.moved) }

// unyield gives rows back what they had before others kept their place.
func (t *trail) unyield(audit string) write { return t.reset(audit, t.yielded) }

func (t *trail) reset(audit string, names []string) write {
	if len(names) == 0 {
		return write{}
	}
	values := texts.Of(names, func(name string) string {
		return "CASE WHEN " + t.changed(name) + " THEN " + t.past("a.old", name) + " ELSE t." + quote(name) + " END"
	})
	return write{t.table, t.update(t.path, "t", texts.Of(names, quote), values, "("+audit+") AS a", t.here()), "FROM (" + audit + ") AS a"}
}

// changed holds when the merge changed a column of a row: another group may have changed the others.
func (t *trail) changed(name string) string {
	return t.differ([]string{t.member("a.old", name)}, []string{t.member("a.new", name)})
}

// drifted holds when a column of a row, or what a later entry of the audit found there, is not as the merge wrote it.
func (t *trail) drifted(name, later string) string {
	now := t.text("t."+quote(name), t.column(name))
	if later != "" {
		now = "CASE WHEN " + later + " IS NULL THEN " + now + " ELSE " + t.member(later, name) + " END"
	}
	return t.differ([]string{now}, []string{t.member("a.new", name)})
}
