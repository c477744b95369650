package dedupe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

// A late row is a row that refers to a merged row although the merge is over: a writer that knew the old row added it, or set its
// reference back. Late rows move as if they had been there when their group was merged: they collide, are merged and written to
// the audit of that group, so that its undo takes them back.

// maxPasses bounds how often a sweep looks for late rows that were added during it.
const maxPasses = 10

// sweep is the result of one.
type sweep struct {
	moved   int64
	reasons map[int64]string // of groups whose late rows stay
	refused []Refusal
}

// sweepAll moves the late rows of all runs of the table.
func (r *runner) sweepAll(ctx context.Context) (*sweep, error) {
	runs, err := scanned[int64](ctx, r.dbSession, "SELECT id FROM semel_dedupe_run WHERE tbl = $1 AND undone_at IS NULL ORDER BY id", r.tables[0].name)
	if err != nil {
		return nil, err
	}
	own := r.run
	all := &sweep{}
	r.swept = all
	defer func() { r.run, r.swept = own, nil }()
	for _, run := range runs {
		r.run, all.reasons = run, map[int64]string{}
		if err := r.sweepRun(ctx); err != nil {
			return all, fmt.Errorf("move the rows that refer to merged ones of run %d: %w", run, err)
		}
		for _, number := range slices.Sorted(maps.Keys(all.reasons)) {
			all.refused = append(all.refused, Refusal{Group: number, Winner: "run " + strconv.FormatInt(run, 10), Reason: all.reasons[number]})
		}
	}
	return all, nil
}

func (r *runner) sweepRun(ctx context.Context) error {
	for range maxPasses {
		groups, err := r.lateGroups(ctx)
		if err != nil || len(groups) == 0 {
			return err
		}
		for len(groups) > 0 {
			batch := groups[:min(r.pace.most(), len(groups))]
			groups = groups[len(batch):]
			if err := r.pace.wait(ctx, r.progress); err != nil {
				return err
			}
			if err := r.pace.during(func() error { return r.attempt(ctx, slices.Clone(batch)) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// lateGroups are the groups of the run with late rows, but not those whose late rows stay.
func (r *runner) lateGroups(ctx context.Context) (groups []group, err error) {
	found := map[int64]bool{}
	for _, e := range r.edges {
		numbers, err := scanned[int64](ctx, r.dbSession, e.late(), r.run)
		if err != nil {
			return nil, err
		}
		for _, number := range numbers {
			found[number] = true
		}
	}
	for _, number := range slices.Sorted(maps.Keys(found)) {
		if r.swept.reasons[number] == "" {
			groups = append(groups, group{number: number})
		}
	}
	return groups, nil
}

// merged selects the losers that a run merged into other rows of the table, as a.
func (t *table) merged() string {
	gone := "NOT EXISTS (SELECT 1 FROM " + t.path + " AS p WHERE " + equal(of("p", t.id), t.unkey(`a."key"`)) + ")"
	if t.marks {
		gone = "EXISTS (SELECT 1 FROM " + t.path + " AS p WHERE " + equal(of("p", t.id), t.unkey(`a."key"`)) + " AND p." + quote(mergedInto) + " IS NOT NULL)"
	}
	return "a.run = $1 AND a.step = " + strconv.Itoa(stepMerged) + " AND a.tbl = " + t.literal(t.name) + " AND a.undone_at IS NULL AND " + gone
}

// late selects the groups of the run with late rows of this reference.
func (e *edge) late() string {
	p := e.parent
	old := texts.Of(e.refs, func(name string) string { return p.past("a.whole", name) })
	return "SELECT DISTINCT " + p.inOrder() + "a.grp FROM semel_dedupe_audit AS a JOIN " + e.rows() + " AS t ON " + equal(old, cast(of("t", e.cols), e.casts)) + " WHERE " + p.merged() + e.alive("t")
}

// rows are the child's rows for which the reference counts.
func (e *edge) rows() string {
	if e.where == "" {
		return e.child.path
	}
	return "(SELECT * FROM " + e.child.path + " WHERE " + e.where + ")"
}

// alive leaves out merged rows that keep their references.
func (e *edge) alive(alias string) string {
	if !e.live() {
		return ""
	}
	return " AND " + alias + "." + quote(mergedInto) + " IS NULL"
}

// sweepGroups moves the late rows of groups, in the transaction of the session.
func (r *runner) sweepGroups(ctx context.Context, groups []int64) error {
	for _, t := range r.tables {
		if !slices.ContainsFunc(r.edges, func(e *edge) bool { return e.parent == t }) {
			continue
		}
		for _, statement := range []string{r.insertRoots(t, groups), r.insertMerged(t, groups)} {
			//semel:safe a batch is one transaction, and the second run finds no late rows
			if _, err := r.meet(ctx, t, statement, r.run); err != nil {
				return err
			}
		}
	}
	if err := r.spread(ctx); err != nil {
		return err
	}
	for t := range r.met {
		//semel:safe a batch is one transaction, and the second run finds no late rows
		if _, err := r.exec(ctx, t.forgetMerged(), r.run); err != nil {
			return err
		}
	}
	moved, err := r.countLate(ctx)
	if err != nil {
		return err
	}
	if moved == 0 {
		return &refusedError{reasonsFor(groups, "the row that has the place of a merged one is gone: rows that refer to it stay")}
	}
	if err := r.fill(ctx); err != nil {
		return err
	}
	if err := r.write(ctx); err != nil {
		return err
	}
	r.swept.moved += moved
	return nil
}

func reasonsFor(groups []int64, reason string) map[int64]string {
	reasons := map[int64]string{}
	for _, number := range groups {
		reasons[number] = reason
	}
	return reasons
}

// countLate counts the rows that are about to move or to be merged.
func (r *runner) countLate(ctx context.Context) (all int64, err error) {
	for _, t := range r.tables {
		due := t.lost("f")
		if len(t.moves) > 0 {
			due += " OR " + t.moved()
		}
		if !r.met[t] {
			continue
		}
		var n int64
		if err := r.one(ctx, "SELECT count(*) FROM "+t.fate()+" AS f WHERE "+due, nil, &n); err != nil {
			return 0, err
		}
		all += n
	}
	return all, nil
}

// roots follows the losers of groups that have late rows to the rows that have their places, over later merges: with key, grp, item and winner.
func (s *site) roots(t *table, groups []int64) string {
	var refers []string
	for _, e := range s.edges {
		if e.parent == t {
			old := texts.Of(e.refs, func(name string) string { return t.past("a.whole", name) })
			refers = append(refers, "EXISTS (SELECT 1 FROM "+e.rows()+" AS t WHERE "+equal(old, cast(of("t", e.cols), e.casts))+e.alive("t")+")")
		}
	}
	later := "b.tbl = " + t.literal(t.name) + " AND b.step = " + strconv.Itoa(stepMerged) + " AND b.undone_at IS NULL AND b.\"key\" = s.winner AND b.id > s.at"
	return "WITH RECURSIVE semel_root AS (SELECT a.id, a.id AS at, a.grp, a.item, a.\"key\", a.winner, a.whole FROM semel_dedupe_audit AS a WHERE " + groupsIn("a.grp", groups) + " AND " + t.merged() +
		" AND (" + strings.Join(refers, " OR ") + ") UNION ALL SELECT s.id, b.id, s.grp, s.item, s.\"key\", b.winner, s.whole FROM semel_root AS s JOIN semel_dedupe_audit AS b ON " + later + ") SELECT s.* FROM semel_root AS s" +
		" WHERE NOT EXISTS (SELECT 1 FROM semel_dedupe_audit AS b WHERE " + later + ")"
}

// insertRoots adds the rows that have the places of losers with late rows, which it locks.
func (s *site) insertRoots(t *table, groups []int64) string {
	roots := "(SELECT winner, min(grp) AS grp FROM (" + s.roots(t, groups) + ") AS s GROUP BY winner) AS s"
	return t.insertFate("s.grp", "0", roots+" JOIN "+t.path+" AS t ON "+equal(of("t", t.id), t.unkey("s.winner")), "")
}

// insertMerged adds the losers that late rows refer to: the marked rows, or the deleted ones of the audit.
func (s *site) insertMerged(t *table, groups []int64) string {
	names := t.columns()
	from, values := "", texts.Of(names, func(name string) string { return t.past("s.whole", name) })
	checks := texts.Of(t.checks, func(string) string { return "0" })
	lock := ""
	if t.marks {
		from, values, lock = " JOIN "+t.path+" AS t ON "+equal(of("t", t.id), t.unkey(`s."key"`)), of("t", names), t.locking()
	}
	return "INSERT INTO " + t.fate() + " SELECT " + list([]string{"s.grp", "s.item"}, values, values, t.unkey("s.winner"), checks) + " FROM (" + s.roots(t, groups) + ") AS s" + from +
		" WHERE EXISTS (SELECT 1 FROM " + t.fate() + " AS f WHERE " + equal(t.oldID("f"), t.unkey("s.winner")) + ")" + lock
}

// forgetMerged leaves out of a fate what the run merged before: it is marked or deleted, and in the audit.
func (t *table) forgetMerged() string {
	return "DELETE FROM " + t.fate() + " WHERE " + t.lost(t.fate()) + " AND EXISTS (SELECT 1 FROM semel_dedupe_audit AS a WHERE a.run = $1 AND a.step = " + strconv.Itoa(stepMerged) +
		" AND a.tbl = " + t.literal(t.name) + " AND a.undone_at IS NULL AND a.\"key\" = " + t.key(t.oldID(t.fate())) + ")"
}

// auditMovedAgain keeps the references that a sweep moves. Where the group's merge moved the row before, this takes the place
// of that entry: columns that nothing has changed since go back to what they were before the merge.
func (t *table) auditMovedAgain(clock string) []string {
	mine := "p.run = $1 AND p.step = " + strconv.Itoa(stepMoved) + " AND p.tbl = " + t.literal(t.name) + " AND p.undone_at IS NULL AND p.grp = f.grp AND p.\"key\" = " + t.key(t.newID("f"))
	old := texts.Of(t.moves, func(name string) string {
		now := t.at("f", "o", []string{name})[0]
		text := t.text(now, t.column(name))
		return "CASE WHEN p.id IS NOT NULL AND NOT " + t.differ([]string{t.member("p.new", name)}, []string{text}) + " THEN " + t.member("p.old", name) + " ELSE " + text + " END"
	})
	return []string{
		t.audit(strconv.Itoa(stepMoved)) + t.key(t.newID("f")) + ", NULL, NULL, " + t.object(t.moves, old) + ", " + t.row(t.moves, t.at("f", "n", t.moves)) +
			" FROM " + t.fate() + " AS f LEFT JOIN semel_dedupe_audit AS p ON " + mine + " WHERE " + t.moved(),
		t.update("semel_dedupe_audit", "p", []string{"undone_at", "undone_by", "kept"}, []string{clock, "'sweep'", "'it was moved again'"},
			t.fate()+" AS f, (SELECT * FROM semel_dedupe_audit WHERE run = $1 AND undone_at IS NULL) AS n", mine+" AND "+t.moved()+" AND n.grp = p.grp AND n.step = p.step AND n.tbl = p.tbl AND n.\"key\" = p.\"key\" AND n.id > p.id"),
	}
}
