package dedupe

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

// A row that comes back must not go astray: refer to a row that another group has merged and keeps, or to a stranger that has taken
// its key. Nor may a row go back to what one group knew of it while a later group has merged it. The audit says before anything
// changes which groups wait for which. Those that wait for each other come back in one transaction, and one that waits for a group
// that stays merged stays as well.

// need is another group that has to come back first, or in the same transaction.
type need struct {
	run, grp int64
	// ordered says that rows of both groups are the same, so that one goes first even within a transaction.
	ordered bool
	reason  string
}

// declared are the references without a foreign key that the plan of the run knows. One whose table or columns are gone since names
// no row.
func (u *undoer) declared(v *surveyor, plan string) ([]link, error) {
	var known struct{ Request Request }
	if err := json.Unmarshal([]byte(plan), &known); err != nil {
		return nil, fmt.Errorf("read the plan of run %d: %w", u.run, err)
	}
	root, err := v.table(u.root)
	if err != nil {
		return nil, refuse("%w", err)
	}
	for _, text := range known.Request.References {
		v.site.request = &Request{Table: u.root, References: []string{text}}
		if v.declare(root) != nil {
			continue
		}
	}
	for i := range v.links {
		l := &v.links[i]
		if l.source, l.path = pathOf(l.child), pathOf(l.parent); l.where != "" {
			l.source = "(SELECT * FROM " + l.source + " WHERE " + l.where + ")"
		}
	}
	return v.links, nil
}

// wait finds the groups, of this run or a later one, that each group of the run waits for.
func (u *undoer) wait(ctx context.Context) error {
	u.needs, u.back = map[int64][]need{}, map[int64]bool{}
	for _, t := range u.tables {
		if err := u.add(ctx, t.overtaken(u.mine()), true, "the row %s of "+t.name+" was changed once more by"); err != nil {
			return err
		}
		for i := range u.known {
			l := &u.known[i]
			p := slices.IndexFunc(u.tables, func(p *trail) bool { return p.name == l.parent && (p.deleted || p.marked != nil) })
			if l.child != t.name || p < 0 {
				continue
			}
			for _, rows := range []string{t.deletedRefer(l, u.mine()), t.movedRefer(l, u.mine())} {
				if err := u.add(ctx, u.tables[p].named(l, t.table, rows), false, "the row %s of "+t.name+" refers to a row of "+l.parent+" in"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mine are the rows of the audit, as a, that this undo is about.
func (u *undoer) mine() string {
	return "a.run = " + strconv.FormatInt(u.run, 10) + " AND a.undone_at IS NULL" + u.only("a", 0)
}

// add records a need for each pair of audit rows a and b that the query finds: the group of a waits for that of b.
func (u *undoer) add(ctx context.Context, from string, ordered bool, why string) error {
	if from == "" {
		return nil
	}
	run := strconv.FormatInt(u.run, 10)
	other := "(b.run > " + run + " OR b.grp <> a.grp"
	if u.item != 0 {
		other += " OR b.item <> a.item"
	}
	query := "SELECT " + u.inOrder() + "a.grp, b.run, b.grp, min(a.\"key\") FROM " + from + " AND b.run >= " + run + " AND b.undone_at IS NULL AND " + other + ") GROUP BY a.grp, b.run, b.grp"
	err := u.each(ctx, query, nil, func(rows *sql.Rows) error {
		var grp int64
		var key string
		n := need{ordered: ordered}
		err := rows.Scan(&grp, &n.run, &n.grp, &key)
		n.reason = fmt.Sprintf(why, key) + " group " + strconv.FormatInt(n.grp, 10)
		if n.run != u.run {
			n.reason += fmt.Sprintf(" of run %d", n.run)
		}
		n.reason += ", which stays merged"
		u.needs[grp] = append(u.needs[grp], n)
		return err
	})
	if err != nil {
		return fmt.Errorf("look for groups that wait for others: %w", err)
	}
	return nil
}

// overtaken joins rows that a group moved to what a later one did to them: it deleted them, or anything where the group has given
// them the key by which it knew them.
func (t *trail) overtaken(mine string) string {
	later := "b.step = " + strconv.Itoa(stepMerged)
	if rekeyed := overlap(t.id, t.moved); len(rekeyed) > 0 {
		later = "(" + later + " AND b.old IS NULL OR a.step = " + strconv.Itoa(stepMoved) + " AND (" + strings.Join(texts.Of(rekeyed, t.changed), " OR ") + "))"
	} else if !t.deleted {
		return ""
	} else {
		later += " AND b.old IS NULL"
	}
	return "semel_dedupe_audit AS a JOIN semel_dedupe_audit AS b ON b.tbl = a.tbl AND b.\"key\" = a.\"key\" AND b.id > a.id AND " + later +
		" WHERE " + mine + " AND a.step IN (1, 4) AND a.tbl = " + t.literal(t.name)
}

// deletedRefer selects the deleted rows with what they refer to as r1, r2 …; "" without them.
func (t *trail) deletedRefer(l *link, mine string) string {
	if !t.deleted {
		return ""
	}
	stored := l.cols
	if l.where != "" {
		stored = t.stored()
	}
	columns := texts.Of(stored, func(name string) string { return t.past("a.whole", name) + " AS " + quote(name) })
	rows := "SELECT a.grp AS semel_grp, a.item AS semel_item, a.\"key\" AS semel_key, " + list(columns) + " FROM semel_dedupe_audit AS a WHERE " + mine + " AND a.step = 2 AND a.old IS NULL AND a.tbl = " + t.literal(t.name)
	return "SELECT semel_grp AS grp, semel_item AS item, semel_key AS \"key\", " + list(as(texts.Of(l.cols, quote), "r")) + " FROM (" + rows + ") AS t" + whereOf(l.where)
}

// movedRefer selects the rows whose references an undo moves back, unless a writer has moved them since.
func (t *trail) movedRefer(l *link, mine string) string {
	moved := overlap(l.cols, t.moved)
	if len(moved) == 0 {
		return ""
	}
	var written []string
	values := texts.Of(l.cols, func(name string) string {
		if !slices.Contains(moved, name) {
			return "t." + quote(name)
		}
		written = append(written, t.changed(name)+" AND NOT "+t.drifted(name, ""))
		return "CASE WHEN " + t.changed(name) + " THEN " + t.past("a.old", name) + " ELSE t." + quote(name) + " END"
	})
	return "SELECT a.grp, a.item, a.\"key\", " + list(as(values, "r")) + " FROM semel_dedupe_audit AS a JOIN " + l.source + " AS t ON " + t.here() +
		" WHERE " + mine + " AND a.step = 1 AND a.tbl = " + t.literal(t.name) + " AND (" + strings.Join(written, " OR ") + ")"
}

// named joins rows a, with what they refer to, to the merged rows b of the table.
func (t *trail) named(l *link, child *table, rows string) string {
	if rows == "" {
		return ""
	}
	merged := " AND b.step = 2 AND b.tbl = " + t.literal(t.name)
	if len(overlap(t.id, l.refs)) == len(t.id) && len(l.refs) == len(t.id) && !slices.ContainsFunc(t.id, func(name string) bool {
		return !sameText(t.column(name), child.column(l.cols[slices.Index(l.refs, name)]))
	}) { // the index has the key
		key := texts.Of(t.id, func(name string) string { return "a.r" + strconv.Itoa(slices.Index(l.refs, name)+1) })
		return "(" + rows + ") AS a JOIN semel_dedupe_audit AS b ON b.\"key\" = " + t.key(key) + merged + " WHERE 1 = 1"
	}
	refs := texts.Of(l.refs, func(name string) string { return t.past("b.whole", name) })
	columns := list([]string{"b.run, b.grp, b.item, b.undone_at"}, as(refs, "r"))
	return "(" + rows + ") AS a" + t.behind(columns, "b.undone_at IS NULL"+merged) + " ON " + equal(numbered("b", "r", len(refs)), cast(numbered("a", "r", len(refs)), l.casts)) + " WHERE 1 = 1"
}

// sameText reports whether equal values of two columns have one text: not in a blob of SQLite (2, 2.0) or with a collation (a, A).
func sameText(a, b *catalog.Column) bool {
	whole := func(c *catalog.Column) bool {
		return familyOf(c) == numbers && !strings.Contains(c.Type, "zerofill") && strings.Contains(strings.ToLower(c.Base), "int")
	}
	scaled := familyOf(a) == numbers && strings.Contains(a.Type, "(") // 2.0 = 2.00 where the type has no scale
	exact := familyOf(a) == uuids || familyOf(a) == bytesOf && !strings.Contains(a.Base, "blob")
	return a.Collation == "" && (whole(a) && whole(b) || a.Type == b.Type && (scaled || exact))
}

// astray refuses the groups that wait for one which neither came back nor is among them, until none is left that does.
func (u *undoer) astray(groups []int64) error {
	coming, reasons := map[int64]bool{}, map[int64]string{}
	for _, grp := range groups {
		coming[grp] = u.item == 0
	}
	for before := -1; before < len(reasons); {
		before = len(reasons)
		for _, grp := range groups {
			i := slices.IndexFunc(u.needs[grp], func(n need) bool { return n.run != u.run || !coming[n.grp] && !u.back[n.grp] })
			if i >= 0 && reasons[grp] == "" {
				reasons[grp], coming[grp] = u.needs[grp][i].reason, false
			}
		}
	}
	return refusedFor(reasons)
}

// inUnits puts groups that wait for each other into one unit, after those that it waits for (Tarjan's algorithm); else order stays.
func inUnits(groups []int64, waits map[int64][]int64) (units [][]int64) {
	number, low, on := map[int64]int{}, map[int64]int{}, map[int64]bool{}
	var stack []int64
	var visit func(grp int64)
	visit = func(grp int64) {
		number[grp] = len(number) + 1
		low[grp], on[grp] = number[grp], true
		stack = append(stack, grp)
		for _, next := range waits[grp] {
			if number[next] == 0 {
				visit(next)
				low[grp] = min(low[grp], low[next])
			} else if on[next] {
				low[grp] = min(low[grp], number[next])
			}
		}
		if low[grp] < number[grp] {
			return
		}
		var unit []int64
		for on[grp] {
			last := stack[len(stack)-1]
			stack, unit, on[last] = stack[:len(stack)-1], append(unit, last), false
		}
		slices.Sort(unit)
		slices.Reverse(unit)
		units = append(units, unit)
	}
	for _, grp := range groups {
		if number[grp] == 0 {
			visit(grp)
		}
	}
	return units
}
