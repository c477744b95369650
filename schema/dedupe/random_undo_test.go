package dedupe_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/dedupe"
)

// newTag is the least tag of rows that were added after the merge.
const newTag = 1000

// TestRandomUndoAfterWrites: in random schemas, writers add rows after a merge, some under the keys of deleted losers, and change,
// reassign and delete others. Whatever they did, the undo takes a group back as a whole or leaves it merged, keeps all sums, leaves
// no reference without a row, moves no row to one that it never belonged to, and changes nothing that the writers wrote.
// SEMEL_DEDUPE_SEEDS sets how many schemas each database gets.
func TestRandomUndoAfterWrites(t *testing.T) {
	t.Parallel()
	n := claimtest.Times(5, 15, 210)
	if seeds := os.Getenv("SEMEL_DEDUPE_SEEDS"); seeds != "" {
		n = must.Get(strconv.Atoi(seeds))
	}
	for _, d := range dialect.All() {
		for seed := range n {
			t.Run(fmt.Sprint(d, "/", seed), func(t *testing.T) {
				t.Parallel()
				w := &world{Rand: rand.New(rand.NewPCG(uint64(seed), 11)), bench: wrap(t, databases.Open(t, d))}
				w.create()
				w.fillRows()
				w.undoLater()
			})
		}
	}
}

// picture holds a random schema as a test sees it: the rows of each table by their tags, which of them are live, and the tags that
// the references of live rows lead to, by reference and tag.
type picture struct {
	rows, live, leads map[string]string
	orphans           []string
	sums              []string
}

func (w *world) look() picture {
	p := picture{rows: map[string]string{}, live: map[string]string{}, leads: map[string]string{}}
	columns := []string{"tag", "tenant", "id", "k", "amount", "pos", "label", "main"}
	for _, r := range w.tables {
		for _, row := range w.rowsOf(r, columns) {
			p.rows[r.name+" "+row["tag"]] = fmt.Sprint(row)
		}
		for tag := range strings.FieldsSeq(w.text("SELECT tag FROM " + r.name + " AS t WHERE " + r.live("t"))) {
			p.live[r.name+" "+tag] = tag
		}
		p.sums = append(p.sums, r.name+": "+w.text("SELECT coalesce(sum(amount), 0) FROM "+r.name+" AS t WHERE "+r.live("t")))
		for _, ref := range r.refs {
			of, to := "(t."+strings.Join(ref.cols, ", t.")+")", "(p."+strings.Join(ref.parent.pk, ", p.")+")"
			for tag := range strings.FieldsSeq(w.text(fmt.Sprintf("SELECT tag FROM %s AS t WHERE %s AND t.%s IS NOT NULL AND NOT EXISTS (SELECT 1 FROM %s AS p WHERE %s = %s)", r.name, r.live("t"), ref.own(), ref.parent.name, to, of))) {
				p.orphans = append(p.orphans, r.name+"."+ref.own()+" "+tag)
			}
		}
	}
	for name, text := range w.pairs() {
		for pair := range strings.FieldsSeq(text) {
			tag, to, _ := strings.Cut(pair, ">")
			p.leads[name+" "+tag] = to
		}
	}
	return p
}

func (w *world) undoLater() {
	q, before := w.request(), w.look()
	run := w.bench.try(w.plan("categories", "k", q)).Run
	merged := w.look()
	w.writeLater(before, merged)
	written := w.look()
	report, err := w.undoPart(dedupe.Target{Run: run})
	noError(w.T, err)
	after := w.look()
	if !slices.Equal(written.sums, after.sums) {
		w.Errorf("the sums are %v, and were %v", after.sums, written.sums)
	}
	for _, orphan := range after.orphans {
		if !slices.Contains(written.orphans, orphan) {
			w.Errorf("%s names no row any more", orphan)
		}
	}
	w.wholeGroups(run)
	for name, row := range written.rows {
		tag := must.Get(strconv.Atoi(name[strings.LastIndexByte(name, ' ')+1:]))
		if tag >= newTag && after.rows[name] != row {
			w.Errorf("the new row %s was %s, and is %s", name, row, after.rows[name])
		}
	}
	for name, row := range after.rows {
		if written.live[name] == "" && after.live[name] != "" && row != before.rows[name] {
			w.Errorf("the row %s came back as %s, and was %s", name, row, before.rows[name])
		}
	}
	w.leadsRight(before, merged, written, after)
	if w.Failed() {
		for _, r := range w.tables {
			w.Logf("%s\n%v one %t partial %t %s %t", w.ddl(r), r.unique, r.one, r.partial, r.yields, r.follows)
		}
		w.Logf("%+v keeps %+v", q, report.Kept)
	}
}

// wholeGroups wants each group in one state, and the audit in the same.
func (w *world) wholeGroups(run int64) {
	of := fmt.Sprintf(" FROM semel_dedupe_map WHERE run = %d AND state IN (1, 3)", run)
	w.want("SELECT count(*) FROM (SELECT grp"+of+" GROUP BY grp HAVING min(state) < max(state)) AS g", "0")
	for state, undone := range map[int]string{1: "IS NOT NULL", 3: "IS NULL"} {
		w.want(fmt.Sprintf("SELECT count(*) FROM semel_dedupe_audit AS a WHERE run = %d AND undone_at %s AND grp IN (SELECT grp%s AND state = %d)", run, undone, of, state), "0")
	}
}

// leadsRight wants each reference to lead where the writers let it, or back to where it led before the merge when they left it
// alone.
func (w *world) leadsRight(before, merged, written, after picture) {
	for name, to := range after.leads {
		was, there := written.leads[name]
		switch tag := must.Get(strconv.Atoi(name[strings.LastIndexByte(name, ' ')+1:])); {
		case !there && to == before.leads[name], to == was:
		case !there, was != merged.leads[name], tag >= newTag && !strings.HasPrefix(name, "remarks"), to != before.leads[name]:
			w.Errorf("%s leads to %q; before the merge %q, after it %q, then %q", name, to, before.leads[name], merged.leads[name], was)
		}
	}
}

// writeLater does what an application may do after a merge, as far as the database lets it.
func (w *world) writeLater(before, merged picture) {
	gone := map[string][]string{} // the ids of deleted rows by table
	for name := range maps.Keys(before.rows) {
		if table, tag, _ := strings.Cut(name, " "); merged.rows[name] == "" {
			gone[table] = append(gone[table], tag) // id and tag are the same in the beginning
		}
	}
	for i := range 4 + w.IntN(12) {
		r := w.tables[w.IntN(len(w.tables))]
		id, some := fmt.Sprint(newTag+i), fmt.Sprintf(" WHERE id = %d", 1+w.IntN(20))
		if r.marks {
			some += " AND merged_into IS NULL"
		}
		switch w.IntN(6) {
		case 0, 1:
			if taken := gone[r.name]; len(taken) > 0 && w.IntN(3) > 0 {
				slices.Sort(taken)
				id = taken[w.IntN(len(taken))]
			}
			names, values := []string{"id", "k", "amount", "pos", "label", "tag"}, []string{id, "'new" + fmt.Sprint(i) + "'", "7", fmt.Sprint(w.IntN(3)), "'l0'", fmt.Sprint(newTag + i)}
			for _, ref := range r.refs {
				ref.parent.rows = w.rowsOf(ref.parent, ref.parent.pk)
				w.refer(ref, &names, &values)
			}
			w.try("INSERT INTO "+r.name+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(values, ", ")+")", true)
		case 2:
			if len(r.refs) > 0 {
				ref := r.refs[w.IntN(len(r.refs))]
				if rows := w.rowsOf(ref.parent, ref.parent.pk); len(rows) > 0 && (len(ref.cols) == 1 || ref.cols[0] == "tenant") {
					w.try("UPDATE "+r.name+" SET "+ref.own()+" = "+rows[w.IntN(len(rows))][ref.parent.pk[len(ref.parent.pk)-1]]+some, true)
				}
			}
		case 3:
			w.try("DELETE FROM "+r.name+some, true)
		case 4:
			w.try("UPDATE "+r.name+" SET amount = amount + 3"+some, true)
		case 5:
			w.try("UPDATE "+r.name+" SET pos = pos + 10, label = 'w'"+some, true)
		}
	}
}
