package dedupe

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An undo takes a group back as a whole or leaves it merged: what hangs on a loser goes back to it, so it must be the row that it
// was, and a winner that keeps what it took over would have it twice. A row whose reference moved is another matter: where a writer
// has let it refer to something else since, or deleted it, it has left the group, and stays as it is.

// units are the groups that are still to be taken back, the last one first, but each behind those that it waits for. Those come
// together that wait for each other, or whose rows were merged into rows of each other: one of them alone would take back a part of what
// such a row took over.
func (u *undoer) units(ctx context.Context, only int64) (units [][]int64, err error) {
	if err := u.wait(ctx); err != nil {
		return nil, err
	}
	waits := map[int64][]int64{}
	if u.item == 0 {
		if waits, err = u.shared(ctx); err != nil {
			return nil, err
		}
		for grp, needs := range u.needs {
			for _, n := range needs {
				if n.run == u.run {
					waits[grp] = append(waits[grp], n.grp)
				}
			}
		}
	}
	groups, err := scanned[int64](ctx, u.dbSession, "SELECT DISTINCT grp FROM semel_dedupe_audit AS a WHERE "+u.mine()+" ORDER BY grp DESC")
	groups = slices.DeleteFunc(groups, func(grp int64) bool { return u.item != 0 && grp != only })
	units = inUnits(groups, waits)
	if err != nil || only == 0 {
		return units, err
	}
	units = slices.DeleteFunc(units, func(unit []int64) bool { return !slices.Contains(unit, only) })
	if len(units) > 0 && len(units[0]) > 1 {
		return nil, refuse("rows of group %d were merged into rows of other groups, or refer to them, and others to its own: %s come back together (undo the run without --group)", only, named(units[0]))
	}
	return units, nil
}

// shared are the groups whose rows were merged into rows of each other.
func (u *undoer) shared(ctx context.Context) (map[int64][]int64, error) {
	waits := map[int64][]int64{}
	audit := " FROM semel_dedupe_audit AS a WHERE " + u.mine()
	rows := "SELECT grp, tbl, winner AS semel_row, 0 AS changed" + audit + " AND step = 2 UNION ALL SELECT grp, tbl, \"key\", CASE WHEN step = 2 OR old IS NOT NULL THEN 1 ELSE 0 END" + audit + " AND step > 1"
	// The least group of each row would take MariaDB the square of the rows that were merged into it.
	same := " OVER (PARTITION BY tbl, semel_row"
	err := u.each(ctx, "SELECT DISTINCT earlier, grp FROM (SELECT grp, lag(grp)"+same+" ORDER BY grp) AS earlier, sum(changed)"+same+") AS changed FROM ("+rows+") AS r) AS s WHERE earlier < grp AND changed > 0", nil, func(rows *sql.Rows) error {
		var a, b int64
		err := rows.Scan(&a, &b)
		waits[a], waits[b] = append(waits[a], b), append(waits[b], a)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for rows of several groups: %w", err)
	}
	return waits, nil
}

// named lists groups.
func named(groups []int64) string {
	var all []string
	for _, grp := range slices.Sorted(slices.Values(groups)) {
		all = append(all, "group "+strconv.FormatInt(grp, 10))
	}
	return strings.Join(all, ", ")
}

// inTurn takes the groups of a unit back one after the other, each when no other one of them has merged its winners since.
func (u *undoer) inTurn(ctx context.Context, groups []int64) error {
	for left := slices.Clone(groups); len(left) > 0; {
		next := -1
		for i, grp := range left {
			if slices.ContainsFunc(u.needs[grp], func(n need) bool { return n.ordered && n.run == u.run && slices.Contains(left, n.grp) }) {
				continue
			}
			var later int64
			if err := u.one(ctx, "SELECT count(*) FROM semel_dedupe_audit AS a JOIN semel_dedupe_audit AS b ON b.tbl = a.tbl AND b.\"key\" = a.winner AND b.step = 2 AND b.undone_at IS NULL AND b.run = a.run AND b.grp <> a.grp AND b.id > a.id"+
				" WHERE a.run = $1 AND a.grp = $2 AND a.step = 2 AND a.undone_at IS NULL", []any{u.run, grp}, &later); err != nil {
				return err
			}
			if later == 0 {
				next = i
				break
			}
		}
		if next < 0 {
			return &refusedError{map[int64]string{left[0]: named(left) + " merged rows of each other in turns"}}
		}
		if err := u.together(ctx, left[next:next+1]); err != nil {
			return err
		}
		left = slices.Delete(left, next, next+1)
	}
	return nil
}

// compareAll finds the rows of groups that are not as the merge left them. It refuses the groups that cannot come back as a whole,
// and marks and reports the rows that have left a group.
func (u *undoer) compareAll(ctx context.Context, groups []int64) error {
	reasons, more := map[int64][]string{}, map[int64]int{}
	for _, t := range u.tables {
		rows := u.changedSince(t, groups)
		err := u.each(ctx, "SELECT grp, \"key\", reason, stays FROM ("+rows+") AS q WHERE reason <> '' ORDER BY id", nil, func(rows *sql.Rows) error {
			k := Kept{Table: t.name}
			var grp int64
			var stays bool
			err := rows.Scan(&grp, &k.Key, &k.Reason, &stays)
			switch {
			case !stays:
				u.report.Kept = append(u.report.Kept, k)
			case len(reasons[grp]) == maxReasons:
				more[grp]++
			default:
				reasons[grp] = append(reasons[grp], "the row "+k.Key+" of "+t.name+": "+k.Reason)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("compare %s: %w", t.name, err)
		}
		mark := u.update("semel_dedupe_audit", "s", []string{"kept"}, []string{"q.reason"}, "("+rows+") AS q", "q.run = s.run AND q.grp = s.grp AND q.id = s.id AND q.reason <> '' AND q.step IN (1, 4)")
		//semel:safe the second run finds the same reasons
		if _, err := u.exec(ctx, mark); err != nil {
			return err
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	refused := &refusedError{map[int64]string{}}
	for grp, all := range reasons {
		refused.reasons[grp] = strings.Join(all, "; ")
		if n := more[grp]; n > 0 {
			refused.reasons[grp] += fmt.Sprintf("; and %d more", n)
		}
	}
	return refused
}

// isMerged holds for an entry a of the audit while the group is not taken back.
const isMerged = "EXISTS (SELECT 1 FROM semel_dedupe_map AS m WHERE m.run = a.run AND m.grp = a.grp AND m.state = 1)"

// changedSince selects the rows of the audit of a table with what has happened to them since the merge, "" where nothing has, and
// whether their group has to stay merged for it. A row that a sweep changed once more is compared with what that found. A winner whose losers came back one by one keeps its values.
func (u *undoer) changedSince(t *trail, groups []int64) string {
	there := "t." + quote(t.id[0]) + " IS NOT NULL"
	reasons := []string{"CASE WHEN a.old IS NULL AND a.step = 2 AND " + there + " THEN 'its key belongs to another row now (give that one another key, or delete it, and undo again)'" +
		" WHEN a.old IS NOT NULL AND NOT " + there + " THEN 'it was deleted since the merge' END"}
	for step, names := range [][]string{stepMoved: t.moved, stepMerged: overlap(t.marked, []string{mergedInto}), stepKept: t.filled, stepYielded: t.yielded} {
		for _, name := range names {
			reasons = append(reasons, "CASE WHEN a.step = "+strconv.Itoa(step)+" AND "+there+" AND a.old IS NOT NULL AND "+t.changed(name)+" AND "+t.drifted(name, "a.later")+" THEN "+t.literal(name+" was changed since the merge")+" END")
		}
	}
	steps := "step > 0"
	if u.item != 0 {
		steps = "step <> 3"
	}
	return "SELECT a.run, a.grp, a.id, a.\"key\", a.step, a.step = 2 OR a.step = 3 AND " + isMerged + " AS stays, concat_ws('; ', " + strings.Join(reasons, ", ") + ") AS reason FROM (SELECT a.*, lead(a.old) OVER (PARTITION BY a.grp, a.\"key\", a.step ORDER BY a.id) AS later FROM semel_dedupe_audit AS a WHERE " + u.due(groups) + " AND " + steps +
		" AND tbl = " + u.literal(t.name) + ") AS a LEFT JOIN " + t.path + " AS t ON " + t.here()
}
