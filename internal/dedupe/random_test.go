package dedupe_test

import (
	"fmt"
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
)

// world is a random schema with random rows. Every table has tenant, id, amount and pos.
type world struct {
	*rand.Rand
	*bench

	tables []*randomTable
	mark   bool
}

type randomTable struct {
	name   string
	pk     []string
	refs   []randomRef
	unique [][]string // columns
	marks  bool
	rows   []map[string]string // their keys
}

type randomRef struct {
	cols     []string
	parent   *randomTable
	nullable bool
}

// TestRandomSchemas: in random schemas with random rows, a merge leaves the rows that a simple model expects, keeps all sums,
// no reference to a merged row and no duplicate, and an undo restores every byte. SEMEL_DEDUPE_SEEDS sets how many schemas each
// database gets.
func TestRandomSchemas(t *testing.T) {
	t.Parallel()
	n := claimtest.Times(12, 24, 50)
	if seeds := os.Getenv("SEMEL_DEDUPE_SEEDS"); seeds != "" {
		n = must.Get(strconv.Atoi(seeds))
	}
	for _, d := range dialect.All() {
		for seed := range n {
			t.Run(fmt.Sprint(d, "/", seed), func(t *testing.T) {
				t.Parallel()
				w := &world{Rand: rand.New(rand.NewPCG(uint64(seed), 7)), bench: wrap(t, databases.Open(t, d))}
				w.create()
				w.fillRows()
				w.attack()
			})
		}
	}
}

// create makes the tables: each refers to earlier ones, perhaps to itself, and the second perhaps in a circle with the first.
func (w *world) create() {
	w.mark = w.IntN(2) == 0
	composite := w.IntN(3) == 0
	count := 3 + w.IntN(4)
	for i := range count {
		r := &randomTable{name: fmt.Sprintf("t%d", i), pk: []string{"id"}}
		if composite && (i > 0 || !w.mark) {
			r.pk = []string{"tenant", "id"}
		}
		w.tables = append(w.tables, r)
		if i > 0 {
			w.addRef(r, w.tables[max(0, i-1-w.IntN(2))], i > 1 && w.IntN(3) == 0)
			if w.IntN(3) == 0 {
				w.addRef(r, w.tables[w.IntN(i)], true)
			}
		}
		if w.IntN(3) == 0 {
			w.addRef(r, r, true)
		}
		if i > 0 {
			w.addKeys(r)
		}
		r.marks = w.mark && (i == 0 || w.IntN(2) == 0 && len(r.pk) == 1 && r.pk[0] == "id")
		w.exec(w.ddl(r))
		for n, columns := range r.unique {
			end := ")"
			if r.marks {
				end = w.by(") WHERE merged_into IS NULL", ", live)", ") WHERE merged_into IS NULL")
			}
			w.exec(fmt.Sprintf("CREATE UNIQUE INDEX %s_u%d ON %s (%s%s", r.name, n, r.name, strings.Join(columns, ", "), end))
		}
	}
	if last := w.tables[1]; w.IntN(3) == 0 && last.pk[0] != "r0" && (len(last.pk) == 1 || w.Dialect != dialect.SQLite) { // a circle of tables
		root := w.tables[0]
		w.addRef(root, last, true)
		ref := root.refs[len(root.refs)-1]
		column := "ALTER TABLE t0 ADD " + ref.cols[len(ref.cols)-1] + " bigint"
		if w.Dialect == dialect.SQLite {
			w.exec(column + " REFERENCES " + last.name + " (id)")
		} else {
			w.exec(column, "ALTER TABLE t0 ADD "+w.foreign(ref))
		}
	}
}

func (w *world) addRef(from, to *randomTable, nullable bool) {
	ref := randomRef{parent: to, nullable: nullable, cols: []string{fmt.Sprintf("r%d", len(from.refs))}}
	if to.pk[0] == "tenant" {
		ref.cols = []string{"tenant", ref.cols[0]}
	}
	from.refs = append(from.refs, ref)
}

func (w *world) addKeys(r *randomTable) {
	first := r.refs[0].cols
	switch w.IntN(6) {
	case 0:
		r.unique = [][]string{append(append([]string{}, first...), "pos")}
	case 1:
		r.unique = [][]string{first}
	case 2:
		last := r.refs[len(r.refs)-1].cols
		r.unique = [][]string{first}
		if own := last[len(last)-1]; !slices.Contains(first, own) {
			r.unique[0] = append(append([]string{}, first...), own)
		}
	case 3:
		r.unique = [][]string{append(append([]string{}, first...), "pos"), append(append([]string{}, first...), "label")}
	case 4:
		if len(r.pk) == 1 && len(r.refs[0].parent.pk) == 1 && r.refs[0].parent != r {
			r.pk = []string{"r0", "id"}
			r.refs[0].nullable = false
		}
	}
}

func (w *world) foreign(ref randomRef) string {
	return fmt.Sprintf("FOREIGN KEY (%s) REFERENCES %s (%s)", strings.Join(ref.cols, ", "), ref.parent.name, strings.Join(ref.parent.pk, ", "))
}

func (w *world) ddl(r *randomTable) string {
	columns := []string{"tenant bigint NOT NULL DEFAULT 1", "id bigint NOT NULL", "k varchar(9)", "amount numeric NOT NULL", "pos int", "label varchar(9)"}
	// A reference to a table whose key is (r0, id) has the columns of both.
	for i := range r.refs {
		ref := &r.refs[i]
		if ref.parent.pk[0] == "r0" && len(ref.cols) == 1 {
			ref.cols = []string{ref.cols[0] + "a", ref.cols[0]}
		}
		for _, name := range ref.cols {
			if name != "tenant" {
				null := " NOT NULL"
				if ref.nullable {
					null = ""
				}
				columns = append(columns, name+" bigint"+null)
			}
		}
	}
	if r.marks {
		columns = append(columns, "merged_into bigint", "merged_at "+w.by("timestamptz", "datetime(6)", "text"), "merge_run bigint")
		if w.Dialect == dialect.MySQL {
			columns = append(columns, "live int AS (CASE WHEN merged_into IS NULL THEN 1 END) VIRTUAL")
		}
	}
	columns = append(columns, "PRIMARY KEY ("+strings.Join(r.pk, ", ")+")")
	for _, ref := range r.refs {
		columns = append(columns, w.foreign(ref))
	}
	return "CREATE TABLE " + r.name + " (" + strings.Join(columns, ", ") + ")"
}

// fillRows adds rows, those that collide not.
func (w *world) fillRows() {
	insert, end := w.by("INSERT", "INSERT IGNORE", "INSERT OR IGNORE"), w.by(" ON CONFLICT DO NOTHING", "", "")
	for i, r := range w.tables {
		rows := 12 + w.IntN(12)
		var all []string
		for id := range rows {
			names, values := []string{"id", "k", "amount", "pos", "label"}, []string{fmt.Sprint(id + 1), "'k" + fmt.Sprint(w.IntN(5)) + "'", fmt.Sprint(w.IntN(50)), fmt.Sprint(w.IntN(3)), "'l" + fmt.Sprint(w.IntN(2)) + "'"}
			for _, ref := range r.refs {
				if ref.nullable && (ref.parent == r || i == 0 || w.IntN(3) == 0) {
					continue
				}
				w.refer(ref, &names, &values)
			}
			all = append(all, insert+" INTO "+r.name+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(values, ", ")+")"+end)
		}
		w.exec(strings.Join(all, "; "))
		r.rows = w.rowsOf(r, r.pk)
	}
	for i, r := range w.tables { // what refers to rows that came later
		for _, ref := range r.refs {
			if ref.parent != r && (i > 0 || ref.parent == w.tables[0]) {
				continue
			}
			own, target := ref.cols[len(ref.cols)-1], ref.parent.pk[len(ref.parent.pk)-1]
			for id := range 20 {
				if w.IntN(2) == 0 {
					w.try(fmt.Sprintf("UPDATE %s SET %s = %s WHERE id = %d", r.name, own, ref.parent.rows[w.IntN(len(ref.parent.rows))][target], id+1), len(ref.cols) == 1 || ref.cols[0] == "tenant")
				}
			}
		}
	}
}

// try runs an update that may collide.
func (w *world) try(statement string, fits bool) {
	if fits {
		_, _ = w.DB.ExecContext(w.Context(), statement) // a row that collides stays as it is
	}
}

// refer chooses a row to refer to.
func (w *world) refer(ref randomRef, names, values *[]string) {
	row := ref.parent.rows[w.IntN(len(ref.parent.rows))]
	for i, name := range ref.cols {
		if name != "tenant" {
			*names = append(*names, name)
			*values = append(*values, row[ref.parent.pk[i]])
		}
	}
}

// live is the condition of the rows that are not merged.
func (r *randomTable) live(alias string) string {
	if r.marks {
		return alias + ".merged_into IS NULL"
	}
	return "1 = 1"
}

func (w *world) attack() {
	before := w.state()
	sums := map[string]string{}
	for _, r := range w.tables {
		sums[r.name] = w.text("SELECT coalesce(sum(amount), 0) FROM " + r.name)
	}
	want := w.model()
	q := request()
	q.Cycles = "break"
	if w.mark {
		q.Losers = "mark"
	}
	q.Columns = []string{"amount=sum"}
	for _, r := range w.tables[1:] {
		try := q
		try.Columns = append(append([]string{}, q.Columns...), r.name+".amount=sum")
		if _, err := w.tryPlan("t0", "k", try); err == nil {
			q = try
		}
	}
	run := w.merge(w.plan("t0", "k", q)).Run
	for i, r := range w.tables {
		w.want("SELECT count(*) FROM "+r.name+" AS t WHERE "+r.live("t"), fmt.Sprint(want[i]))
		w.want("SELECT coalesce(sum(amount), 0) FROM "+r.name+" AS t WHERE "+r.live("t"), sums[r.name])
		for _, ref := range r.refs {
			if ref.parent.marks {
				w.want("SELECT count(*) FROM "+r.name+" AS t JOIN "+ref.parent.name+" AS p ON (t."+strings.Join(ref.cols, ", t.")+") = (p."+strings.Join(ref.parent.pk, ", p.")+") WHERE p.merged_into IS NOT NULL AND "+r.live("t"), "0")
			}
		}
	}
	w.want("SELECT count(*) FROM (SELECT k FROM t0 AS t WHERE "+w.tables[0].live("t")+" GROUP BY k HAVING count(*) > 1) AS d", "0")
	if again := w.plan("t0", "k", q); again.Losers != 0 {
		w.Errorf("there are %d losers after the merge", again.Losers)
	}
	w.undo(run)
	if w.state() != before {
		w.Errorf("the undo leaves another state")
	}
	if w.Failed() {
		for _, r := range w.tables {
			w.Logf("%s\n%v", w.ddl(r), r.unique)
		}
	}
}
