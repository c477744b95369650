package dedupe

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

// errShared means that two groups of a batch changed the same row: the later one has to be taken back first.
var errShared = errors.New("two groups changed the same row")

// restore takes groups back: the steps of a merge in reverse, each for all tables in one statement.
func (u *undoer) restore(ctx context.Context, groups []int64) error {
	if err := u.apart(ctx, groups); err != nil {
		return err
	}
	if err := u.execAll(ctx, u.announce(-u.run)); err != nil {
		return err
	}
	steps := []reversal{
		{[]string{"step = 1", "step = 2 AND old IS NULL"}, []func(*trail, string) string{(*trail).unmove, (*trail).undelete}},
		{[]string{"step = 2 AND old IS NOT NULL"}, []func(*trail, string) string{(*trail).unmark}},
	}
	if u.item == 0 { // else a winner keeps what it has of several losers
		steps = slices.Insert(steps, 0, reversal{[]string{"step = 3"}, []func(*trail, string) string{(*trail).unfill}})
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
	if _, err := u.exec(ctx, "UPDATE semel_dedupe_map SET state = 3 WHERE run = $1 AND state = 1 AND "+between(groups)+items, u.run); err != nil {
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
	err := u.one(ctx, "SELECT min(grp) FROM semel_dedupe_audit WHERE run = $1 AND undone_at IS NULL AND "+between(groups)+" GROUP BY tbl, \"key\" HAVING min(grp) < max(grp) LIMIT 1", []any{u.run}, &grp)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return errors.Join(err, errShared)
}

// reversal is a statement that takes rows of the audit back: their conditions, and for each how to write it.
type reversal struct {
	where  []string
	writes []func(t *trail, audit string) string
}

// reverse takes one step of groups back.
func (u *undoer) reverse(ctx context.Context, step reversal, groups []int64) error {
	var statements, audits, conditions []string
	for i, where := range step.where {
		where = "run = " + strconv.FormatInt(u.run, 10) + " AND " + where + " AND undone_at IS NULL AND " + between(groups) + u.only("a", 0)
		audit := "SELECT * FROM semel_dedupe_audit AS a WHERE " + where
		audits, conditions = append(audits, audit), append(conditions, where)
		if err := u.spare(ctx, audit); err != nil {
			return err
		}
		for _, t := range u.tables {
			if statement := step.writes[i](t, audit+" AND kept IS NULL AND tbl = "+u.literal(t.name)); statement != "" {
				statements = append(statements, statement)
			}
		}
	}
	counts, _, err := u.apply(ctx, statements, nil)
	if err != nil {
		return err
	}
	for _, n := range counts {
		u.report.Restored += n
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

// between selects groups by the last and the first one of a batch: those between them were undone before.
func between(groups []int64) string {
	return "grp BETWEEN " + strconv.FormatInt(groups[len(groups)-1], 10) + " AND " + strconv.FormatInt(groups[0], 10)
}

// here joins a row of the audit to the row of the table.
func (t *trail) here() string { return equal(of("t", t.id), t.unkey(`a."key"`)) }

// unfill gives winners their columns back, those that nothing has changed since.
func (t *trail) unfill(audit string) string {
	if len(t.filled) == 0 {
		return ""
	}
	values := texts.Of(t.filled, func(name string) string {
		column := "t." + quote(name)
		return "CASE WHEN " + t.drifted(name) + " THEN " + column + " ELSE " + t.past("a.old", name) + " END"
	})
	return t.update(t.path, "t", texts.Of(t.filled, quote), values, "("+audit+") AS a", t.here()+" AND "+t.differ([]string{"a.old"}, []string{"a.new"}))
}

// undelete brings deleted losers back.
func (t *trail) undelete(audit string) string {
	if !t.deleted {
		return ""
	}
	stored := t.stored()
	values := texts.Of(stored, func(name string) string { return t.past("a.whole", name) })
	return "INSERT INTO " + t.path + " (" + list(texts.Of(stored, quote)) + ")" + t.restored() + " SELECT " + list(values) + " FROM (" + audit + ") AS a WHERE a.id > 0"
}

// unmark takes the mark from losers.
func (t *trail) unmark(audit string) string { return t.reset(audit, t.marked) }

// unmove lets references refer to what they did.
func (t *trail) unmove(audit string) string { return t.reset(audit, t.moved) }

func (t *trail) reset(audit string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	values := texts.Of(names, func(name string) string {
		return "CASE WHEN " + t.changed(name) + " THEN " + t.past("a.old", name) + " ELSE t." + quote(name) + " END"
	})
	return t.update(t.path, "t", texts.Of(names, quote), values, "("+audit+") AS a", t.here())
}

// changed holds when the merge changed a column of a row: another group may have changed the others.
func (t *trail) changed(name string) string {
	return t.differ([]string{t.member("a.old", name)}, []string{t.member("a.new", name)})
}

// drifted holds when a column of a row is not as the merge wrote it.
func (t *trail) drifted(name string) string {
	return t.differ([]string{t.text("t."+quote(name), t.column(name))}, []string{t.member("a.new", name)})
}

// spare finds the rows of an audit that were changed or deleted since, or whose key another row has taken: they are kept as
// they are, and reported. Of a winner, each column is kept on its own.
func (u *undoer) spare(ctx context.Context, audit string) error {
	for _, t := range u.tables {
		there := "t." + quote(t.id[0]) + " IS NOT NULL"
		reasons := []string{"CASE WHEN a.old IS NULL AND a.step = 2 AND " + there + " THEN 'its key belongs to another row now' WHEN a.old IS NOT NULL AND NOT " + there + " THEN 'it was deleted since the merge' END"}
		for step, names := range [][]string{stepMoved: t.moved, stepMerged: overlap(t.marked, []string{mergedInto}), stepKept: t.filled} {
			for _, name := range names {
				now, wrote := t.text("t."+quote(name), t.column(name)), t.member("a.new", name)
				reasons = append(reasons, "CASE WHEN a.step = "+strconv.Itoa(step)+" AND "+there+" AND a.old IS NOT NULL AND "+t.changed(name)+" AND "+t.drifted(name)+" THEN concat("+
					t.literal(name+" is ")+", coalesce("+now+", 'NULL'), ', and the merge wrote ', coalesce("+wrote+", 'NULL')) END")
			}
		}
		rows := "SELECT a.run, a.grp, a.id, a.\"key\", a.step, concat_ws('; ', " + strings.Join(reasons, ", ") + ") AS reason FROM (" + audit + " AND tbl = " + u.literal(t.name) + ") AS a LEFT JOIN " + t.path + " AS t ON " + t.here()
		err := u.each(ctx, "SELECT \"key\", reason FROM ("+rows+") AS q WHERE reason <> '' ORDER BY id", nil, func(rows *sql.Rows) error {
			k := Kept{Table: t.name}
			err := rows.Scan(&k.Key, &k.Reason)
			u.report.Kept = append(u.report.Kept, k)
			return err
		})
		if err != nil {
			return fmt.Errorf("compare %s: %w", t.name, err)
		}
		mark := u.update("semel_dedupe_audit", "s", []string{"kept"}, []string{"q.reason"}, "("+rows+") AS q", "q.run = s.run AND q.grp = s.grp AND q.id = s.id AND q.reason <> '' AND q.step <> 3")
		//semel:safe the second run finds the same reasons
		if _, err := u.exec(ctx, mark); err != nil {
			return err
		}
	}
	return nil
}
