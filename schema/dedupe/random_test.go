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
	"github.com/semel-dev/semel/schema/dedupe"
)

// world is a random schema with random rows. Every table has tenant, id, amount, pos, label, main and tag, which names a row for
// good.
type world struct {
	*rand.Rand
	*bench

	tables []*randomTable
	mark   bool
	// ownerType and ownerID are the columns of remarks, which refer to rows of any table; "" without that table.
	ownerType, ownerID string
	bags               bool
}

type randomTable struct {
	name   string
	pk     []string
	refs   []randomRef
	unique [][]string // columns
	marks  bool
	rows   []map[string]string // their keys
	// one says that its key is over the reference alone, for main rows where partial says so; yields is the declaration about it.
	one, partial, follows bool
	yields                string
	// folds says that label has a collation for which cases are the same.
	folds bool
}

type randomRef struct {
	cols     []string
	parent   *randomTable
	nullable bool
	// loose says that the database does not know the reference.
	loose bool
}

// own is the column of the reference itself.
func (r randomRef) own() string { return r.cols[len(r.cols)-1] }

// TestRandomSchemas: in random schemas with random rows, a merge leaves the rows that a simple model expects, keeps all sums, lets
// every reference, whether the database knows it or not, name the row that has the place of the one before, and an undo restores
// every byte. Without a word about references, either the plan is refused, or nothing that was named is gone.
// SEMEL_DEDUPE_SEEDS sets how many schemas each database gets.
func TestRandomSchemas(t *testing.T) {
	t.Parallel()
	n := claimtest.Times(6, 25, 350)
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
	if w.mark = w.IntN(2) == 0; w.Dialect == dialect.PostgreSQL {
		w.exec("CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
	}
	composite := w.IntN(3) == 0
	count := 3 + w.IntN(4)
	for i := range count {
		r := &randomTable{name: tableNames[i], pk: []string{"id"}, folds: w.IntN(3) == 0}
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
			if w.IntN(3) == 0 {
				w.addLoose(r, w.tables[w.IntN(i+1)])
			}
		}
		r.marks = w.mark && (i == 0 || w.IntN(2) == 0 && len(r.pk) == 1 && r.pk[0] == "id")
		w.exec(w.ddl(r))
		for n, columns := range r.unique {
			end := ")"
			switch {
			case r.marks:
				end = w.by(") WHERE merged_into IS NULL", ", live)", ") WHERE merged_into IS NULL")
				if r.partial {
					end = w.by(end+" AND main = 1", ", live, is_main)", end+" AND main = 1")
				}
			case r.partial:
				end = w.by(") WHERE main = 1", ", is_main)", ") WHERE main = 1")
			}
			w.exec(fmt.Sprintf("CREATE UNIQUE INDEX %s_u%d ON %s (%s%s", r.name, n, r.name, strings.Join(columns, ", "), end))
		}
	}
	if last := w.tables[1]; w.IntN(3) == 0 && last.pk[0] != "r0" && (len(last.pk) == 1 || w.Dialect != dialect.SQLite) { // a circle of tables
		root := w.tables[0]
		w.addRef(root, last, true)
		ref := root.refs[len(root.refs)-1]
		column := "ALTER TABLE " + root.name + " ADD " + ref.cols[len(ref.cols)-1] + " bigint"
		if w.Dialect == dialect.SQLite {
			w.exec(column + " REFERENCES " + last.name + " (id)")
		} else {
			w.exec(column, "ALTER TABLE "+root.name+" ADD "+w.foreign(ref))
		}
	}
	w.createLoose()
}

// tableNames are in the plural, as applications have them; references to them are in the singular.
var (
	tableNames = []string{"categories", "boxes", "people", "addresses", "branches", "t5"}
	singulars  = map[string]string{"categories": "category", "boxes": "box", "people": "person", "addresses": "address", "branches": "branch", "t5": "t5"}
)

// createLoose makes the tables whose references the database does not know.
func (w *world) createLoose() {
	if w.IntN(2) == 0 {
		names := [][2]string{{"owner_type", "owner_id"}, {"ownerType", "ownerId"}, {"entity_table", "entity_id"}, {"res_model", "res_id"}, {"content_type_id", "object_id"}}[w.IntN(5)]
		w.ownerType, w.ownerID = names[0], names[1]
		w.exec(fmt.Sprintf("CREATE TABLE remarks (id bigint PRIMARY KEY, %s varchar(12), %s bigint, amount int)", w.ownerType, w.ownerID))
	}
	if w.bags = w.IntN(3) == 0; w.bags {
		w.exec("CREATE TABLE bags (id bigint PRIMARY KEY, box_ids " + w.by([]string{"bigint[]", "text[]", "jsonb"}[w.IntN(3)], "json", "text") + ")")
	}
}

// addLoose adds a reference without a foreign key.
func (w *world) addLoose(from, to *randomTable) {
	if len(to.pk) != 1 || to.pk[0] != "id" {
		return
	}
	name := []string{singulars[to.name] + "_id", singulars[to.name] + "Id", "old_" + singulars[to.name] + "_id"}[w.IntN(3)]
	from.refs = append(from.refs, randomRef{parent: to, nullable: true, loose: true, cols: []string{name}})
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
	yields := []string{"", "winner", "oldest", "newest", "winner:main=0", "oldest:main=NULL"}
	switch w.IntN(8) {
	case 0:
		r.unique = [][]string{append(append([]string{}, first...), "pos")}
	case 1:
		r.unique, r.one, r.yields = [][]string{first}, true, yields[w.IntN(4)]
	case 5, 6:
		r.unique, r.one, r.partial, r.yields = [][]string{first}, true, true, yields[w.IntN(6)]
	case 2:
		last := r.refs[len(r.refs)-1].cols
		r.unique, r.one = [][]string{first}, true
		if own := last[len(last)-1]; !slices.Contains(first, own) {
			r.unique[0], r.one = append(append([]string{}, first...), own), false
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
	columns := []string{"tenant bigint NOT NULL DEFAULT 1", "id bigint NOT NULL", "k varchar(9)", "amount numeric NOT NULL", "pos int", "label varchar(9)" + w.folding(r), "main int", "tag int NOT NULL"}
	if r.partial && w.Dialect == dialect.MySQL {
		columns = append(columns, "is_main int AS (CASE WHEN main = 1 THEN 1 END) VIRTUAL")
	}
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
		if !ref.loose {
			columns = append(columns, w.foreign(ref))
		}
	}
	return "CREATE TABLE " + r.name + " (" + strings.Join(columns, ", ") + ")"
}

// folding is the collation of a table's labels.
func (w *world) folding(r *randomTable) string {
	if !r.folds {
		return w.by("", " COLLATE utf8mb4_bin", "")
	}
	return w.by(" COLLATE folding", " COLLATE utf8mb4_general_ci", " COLLATE NOCASE")
}

// fillRows adds rows, those that collide not.
func (w *world) fillRows() {
	insert, end := w.by("INSERT", "INSERT IGNORE", "INSERT OR IGNORE"), w.by(" ON CONFLICT DO NOTHING", "", "")
	for i, r := range w.tables {
		rows := 12 + w.IntN(12)
		var all []string
		for id := range rows {
			names, values := []string{"id", "k", "amount", "pos", "label", "main", "tag"}, []string{
				fmt.Sprint(id + 1), "'k" + fmt.Sprint(w.IntN(5)) + "'", fmt.Sprint(w.IntN(50)), fmt.Sprint(w.IntN(3)), "'" + []string{"l", "L"}[w.IntN(2)] + fmt.Sprint(w.IntN(2)) + "'",
				[]string{"1", "1", "0", "NULL"}[w.IntN(4)], fmt.Sprint(id + 1),
			}
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
	w.fillLoose()
	for i, r := range w.tables { // what refers to rows that came later
		for _, ref := range r.refs {
			if ref.loose || ref.parent != r && (i > 0 || ref.parent == w.tables[0]) {
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

// fillLoose fills the tables whose references the database does not know.
func (w *world) fillLoose() {
	for id := range 30 {
		r := w.tables[w.IntN(len(w.tables))]
		if w.ownerID != "" && r.named() {
			w.exec(fmt.Sprintf("INSERT INTO remarks VALUES (%d, '%s', %s, %d)", id, r.name, r.rows[w.IntN(len(r.rows))]["id"], w.IntN(50)))
		}
		for _, ref := range r.refs {
			if ref.loose && ref.parent == r && len(r.rows) > 0 {
				w.exec(fmt.Sprintf("UPDATE %s SET %s = %s WHERE id = %d", r.name, ref.own(), r.rows[w.IntN(len(r.rows))]["id"], w.IntN(20)))
			}
		}
	}
}

// named reports whether one number names a row.
func (r *randomTable) named() bool { return len(r.pk) == 1 && r.pk[0] == "id" && len(r.rows) > 0 }

// request declares what a person who knows the schema does.
func (w *world) request() dedupe.Request {
	q := request()
	q.Cycles = "break"
	if w.mark {
		q.Losers = "mark"
	}
	for _, r := range w.tables {
		for _, ref := range r.refs {
			if ref.loose {
				q.References = append(q.References, r.name+"."+ref.own()+" to "+ref.parent.name)
			}
		}
		if w.ownerID != "" && r.named() {
			q.References = append(q.References, fmt.Sprintf("remarks.%s to %s where %s = '%s'", w.ownerID, r.name, w.ownerType, r.name))
		}
	}
	if w.bags {
		q.References = append(q.References, "bags.box_ids to none")
	}
	if w.ownerID != "" {
		q.References = append(q.References, "remarks."+w.ownerID+" to none")
	}
	q.Columns = []string{"amount=sum"}
	for _, r := range w.tables[1:] {
		try := q
		if r.yields != "" {
			try.Yields = append(slices.Clone(q.Yields), r.name+"="+r.yields)
			if _, err := w.tryPlan("categories", "k", try); err == nil {
				q, r.follows = try, true
			}
		}
		try.Yields = q.Yields
		try.Columns = append(slices.Clone(q.Columns), r.name+".amount=sum")
		if _, err := w.tryPlan("categories", "k", try); err == nil {
			q = try
		}
	}
	return q
}

// silent merges without a word about references that the database does not know: nothing that one names may be gone. It reports
// whether the plan was refused.
func (w *world) silent(q dedupe.Request) bool {
	before := w.state()
	q.References = nil
	p, err := w.tryPlan("categories", "k", q)
	if err != nil {
		w.refused(err, "would be deleted or get another key, and these columns may name them without a foreign key")
		return true
	}
	report := w.bench.try(p)
	w.orphans()
	w.undo(report.Run)
	w.restored(before)
	return false
}

// orphans wants every reference that the database does not know to name a row.
func (w *world) orphans() {
	for _, r := range w.tables {
		for _, ref := range r.refs {
			if ref.loose {
				w.want(fmt.Sprintf("SELECT count(*) FROM %s AS t WHERE %s IS NOT NULL AND NOT EXISTS (SELECT 1 FROM %s AS p WHERE p.id = t.%s)", r.name, ref.own(), ref.parent.name, ref.own()), "0")
			}
		}
		if w.ownerID != "" && r.named() {
			w.want(fmt.Sprintf("SELECT count(*) FROM remarks AS t WHERE %s = '%s' AND NOT EXISTS (SELECT 1 FROM %s AS p WHERE p.id = t.%s)", w.ownerType, r.name, r.name, w.ownerID), "0")
		}
	}
}

// pairs are the tags of rows and of those that they refer to, of every reference by its name.
func (w *world) pairs() map[string]string {
	all := map[string]string{}
	for _, r := range w.tables {
		for _, ref := range r.refs {
			all[r.name+"."+ref.own()+">"+ref.parent.name] = w.text("SELECT concat(t.tag, '>', p.tag) FROM " + r.name + " AS t JOIN " + ref.parent.name + " AS p ON (t." + strings.Join(ref.cols, ", t.") + ") = (p." + strings.Join(ref.parent.pk, ", p.") + ") WHERE " + r.live("t"))
		}
		if w.ownerID != "" && r.named() {
			all["remarks.id>"+r.name] = w.text(fmt.Sprintf("SELECT concat(t.id, '>', p.tag) FROM remarks AS t JOIN %s AS p ON p.id = t.%s WHERE t.%s = '%s'", r.name, w.ownerID, w.ownerType, r.name))
		}
	}
	return all
}

// sameWay wants each reference of a row that is left to name the row that has the place of the one before. One to what the row
// became itself is NULL, and one that closed a circle may be.
func (w *world) sameWay(before map[string]string, m *model) {
	left := map[string]bool{}
	for _, r := range w.tables {
		for tag := range strings.FieldsSeq(w.text("SELECT tag FROM " + r.name + " AS t WHERE " + r.live("t"))) {
			left[r.name+" "+tag] = true
		}
	}
	after := w.pairs()
	for name, text := range before {
		reference, target, _ := strings.Cut(name, ">")
		child, _, _ := strings.Cut(reference, ".")
		now := map[string]string{}
		for pair := range strings.FieldsSeq(after[name]) {
			row, at, _ := strings.Cut(pair, ">")
			now[row] = at
		}
		for pair := range strings.FieldsSeq(text) {
			row, was, _ := strings.Cut(pair, ">")
			at, refers := now[row]
			switch {
			case child != "remarks" && !left[child+" "+row], child == target && !refers:
			case !refers || m.of(target, at) != m.of(target, was):
				w.Errorf("%s: the row %s referred to %s, and refers to %q", name, row, was, at)
			case !left[target+" "+at]:
				w.Errorf("%s: the row %s refers to %s, which is merged", name, row, at)
			}
		}
	}
}

func (w *world) attack() {
	before, pairs := w.state(), w.pairs()
	sums := map[string]string{}
	for _, r := range w.tables {
		sums[r.name] = w.text("SELECT coalesce(sum(amount), 0) FROM " + r.name)
	}
	q, m := w.request(), w.model()
	w.silent(q)
	m.solve(nil)
	crowded := m.crowded
	p := w.plan("categories", "k", q)
	report := w.bench.try(p)
	var left []string
	for _, r := range report.Refusals {
		if !crowded || !strings.Contains(r.Reason, "would be one of several") {
			w.Errorf("the group of %s is refused: %s", r.Winner, r.Reason)
		}
		id := strings.Trim(r.Winner[strings.LastIndexAny(r.Winner, ", [")+1:], `"]`)
		left = append(left, w.text("SELECT k FROM categories WHERE id = "+id))
	}
	if crowded && len(report.Refusals) == 0 {
		w.Error("rows have no place, and no group is refused")
	}
	m.solve(left)
	for i, r := range w.tables {
		w.want("SELECT count(*) FROM "+r.name+" AS t WHERE "+r.live("t"), fmt.Sprint(m.count(i)))
		w.want("SELECT coalesce(sum(amount), 0) FROM "+r.name+" AS t WHERE "+r.live("t"), sums[r.name])
	}
	w.sameWay(pairs, m)
	w.want("SELECT count(*) FROM (SELECT k FROM categories AS t WHERE "+w.tables[0].live("t")+" GROUP BY k HAVING count(*) > 1) AS d", fmt.Sprint(len(left)))
	if again := w.plan("categories", "k", q); again.Losers != p.Losers-int64(report.Merged) {
		w.Errorf("there are %d losers after the merge, of %d", again.Losers, p.Losers)
	}
	w.undo(report.Run)
	w.restored(before)
	if w.Failed() {
		for _, r := range w.tables {
			w.Logf("%s\n%v one %t partial %t %s %t", w.ddl(r), r.unique, r.one, r.partial, r.yields, r.follows)
		}
		w.Logf("%+v", q)
	}
}
