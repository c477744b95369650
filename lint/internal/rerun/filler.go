package rerun

import (
	"database/sql"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/schema/catalog"
)

const (
	// rowsPerTable counts the rows that are tried for each table; those that a key or a check refuses are left out.
	rowsPerTable = 7
	// outlier is far from the other values of a column, so that it moves an average.
	outlier = "-100"
)

// The styles take turns: the constants of the statement themselves, those next to them, few values that many
// rows share, and any values with an outlier.
const (
	exact = iota
	nearby
	crowded
	anything
	styles
)

// row holds the values of the columns that it gives, by their names.
type row map[string]sql.NullString

// filler makes rows.
type filler struct {
	layout *layout
	clues  *clues
	random *rand.Rand
	style  int
	ends   bool   // one row holds the greatest number of its type, which MySQL may keep instead of a greater one
	shape  string // the character that documents begin with; empty for any
	rows   map[*table][]row
	shared map[*catalog.Column][]string // the values of a crowded column
}

// newFiller makes the rows of one filling, always the same for the same statement.
func newFiller(l *layout, c *clues, statement string, number int) *filler {
	h := fnv.New64a()
	h.Write([]byte(statement))
	return &filler{
		layout: l, clues: c, random: rand.New(rand.NewPCG(h.Sum64(), uint64(number))), style: number % styles, //nolint:gosec // repeatable on purpose
		ends: l.dialect == dialect.MySQL && number == styles+anything, shape: []string{"", "[", "{"}[number%3],
		rows: map[*table][]row{}, shared: map[*catalog.Column][]string{},
	}
}

// inserts returns the statements that fill the tables, parents first.
func (f *filler) inserts(tables []*table) (list []string) {
	for _, t := range tables {
		for n := range rowsPerTable {
			if text := f.insert(t, n); text != "" {
				list = append(list, text)
			}
		}
	}
	return list
}

// insert makes the nth row of a table.
func (f *filler) insert(t *table, n int) string {
	r := row{}
	if !f.refer(t, r) {
		return ""
	}
	d := f.layout.dialect
	var names, values []string
	for i := range t.Columns {
		c := &t.Columns[i]
		family := familyOf(d, c, strings.Join(t.checks, "\n"))
		_, given := r[c.Name]
		switch {
		case c.Generated != "":
			continue
		case given:
		case f.leaves(t, c, family):
			continue
		default:
			r[c.Name] = f.value(t, c, family, n)
		}
		names = append(names, d.Quote(c.Name))
		values = append(values, literal(d, family, r[c.Name]))
	}
	f.rows[t] = append(f.rows[t], r)
	if len(names) == 0 {
		return ""
	}
	overriding := ""
	if d == dialect.PostgreSQL {
		overriding = " OVERRIDING SYSTEM VALUE"
	}
	return fmt.Sprintf("INSERT INTO %s (%s)%s VALUES (%s)", t.path, strings.Join(names, ", "), overriding, strings.Join(values, ", "))
}

// leaves reports whether the default of a column is used. Times that are now would be at the edge of what
// statements compare with the clock.
func (f *filler) leaves(t *table, c *catalog.Column, kind family) bool {
	const percent = 25
	timely := kind == moment || kind == day || kind == clock
	return c.Default != "" && !timely && (!t.unique(c.Name) || c.Minted && kind != whole) && f.random.IntN(100) < percent
}

// refer chooses the parents of a row. It fails when there is none and one is needed.
func (f *filler) refer(t *table, r row) bool {
	for i := range t.foreign {
		if !f.referBy(t, &t.foreign[i], r) {
			return false
		}
	}
	return true
}

// referBy chooses the parent of a row by one key.
func (f *filler) referBy(t *table, key *foreign, r row) bool {
	parents, null := f.rows[key.parent], true
	for _, name := range key.columns {
		if c, ok := t.Column(name); ok {
			null = null && c.Nullable
		}
	}
	const percent = 25
	switch {
	case null && (len(parents) == 0 || f.random.IntN(100) < percent):
		for _, name := range key.columns {
			r[name] = sql.NullString{}
		}
		return true
	case len(parents) == 0: // the first row may refer to itself
		return key.parent == t
	}
	parent := parents[f.random.IntN(len(parents))]
	for i, name := range key.columns {
		if v, known := parent[key.targets[i]]; known {
			r[name] = v
		}
	}
	return true
}

// value makes a value of a column.
func (f *filler) value(t *table, c *catalog.Column, kind family, n int) sql.NullString {
	if end := greatest(c); f.ends && n == f.style && kind == whole && end != "" && !c.Minted { // the server counts on from there
		return valid(end)
	}
	known := f.constants(c, kind)
	if t.unique(c.Name) && (kind != truth || len(t.key) == 1) {
		return valid(trimmed(c, f.distinct(kind, known, n)))
	}
	const percent = 15
	if c.Nullable && f.random.IntN(100) < percent {
		return sql.NullString{}
	}
	var text string
	switch pool := f.pool(c, kind); {
	case f.style == exact && len(known) > 0 && f.random.IntN(100) < 85:
		text = f.pick(known)
	case f.style == nearby && len(known) > 0 && f.random.IntN(100) < 70:
		text = f.pick(kind.near(f.pick(known)))
	case f.style == crowded:
		if f.shared[c] == nil {
			for range 2 {
				f.shared[c] = append(f.shared[c], f.pick(append(slices.Clone(pool), known...)))
			}
		}
		text = f.pick(f.shared[c])
	case f.style == anything && n == rowsPerTable-1 && (kind == whole || kind == fraction):
		text = outlier
	default:
		text = f.pick(append(slices.Clone(pool), known...))
	}
	if strings.Contains(strings.ToLower(c.Type), "unsigned") {
		text = strings.TrimPrefix(text, "-")
	}
	return valid(trimmed(c, text))
}

// distinct is the nth value of a column that a key holds. Half of the fillings have the constants of the statement among them;
// a quarter has none of them, where the statement inserts rows.
func (f *filler) distinct(kind family, known []string, n int) string {
	if f.style == exact || f.style == nearby {
		if n < len(known) {
			return known[n]
		}
	}
	without := kind != truth && (f.style <= nearby || f.clues.inserts && f.style == anything) // a boolean may have no other value
	for i, found := 0, -1; ; i++ {
		v := kind.distinct(i)
		if !without || !slices.Contains(known, v) {
			found++
		}
		if found == max(n-f.given(known), 0) {
			return v
		}
	}
}

// greatest is the greatest number of an integer type.
func greatest(c *catalog.Column) string {
	name := strings.ToLower(c.Type)
	for _, one := range []struct {
		name string
		bits uint
	}{{"tinyint", 8}, {"smallint", 16}, {"int2", 16}, {"mediumint", 24}, {"bigint", 64}, {"int8", 64}, {"int", 32}} {
		switch {
		case !strings.HasPrefix(name, one.name):
		case strings.Contains(name, "unsigned"):
			return strconv.FormatUint(1<<(one.bits-1)-1+1<<(one.bits-1), 10)
		default:
			return strconv.FormatUint(1<<(one.bits-1)-1, 10)
		}
	}
	return ""
}

func (f *filler) given(known []string) int {
	if f.style > nearby {
		return 0
	}
	return len(known)
}

// constants are those of the statement that a column may have.
func (f *filler) constants(c *catalog.Column, kind family) (list []string) {
	name := strings.ToLower(c.Name)
	for _, v := range append(slices.Clone(f.clues.met[name]), f.clues.set[name]...) {
		if kind.takes(v) && !slices.Contains(list, v) && (f.style > nearby || !slices.Contains(f.clues.set[name], v) || slices.Contains(f.clues.met[name], v)) {
			list = append(list, v)
		}
	}
	if len(list) > rowsPerTable-2 {
		list = list[:rowsPerTable-2]
	}
	return list
}

var (
	textInCheck   = regexp.MustCompile(`'((?:[^']|'')*)'`)
	numberInCheck = regexp.MustCompile(`(?:^|[^\w.])(-?\d{1,9}(?:\.\d+)?)\b`)
)

// pool lists values that a column may have: those of its type, or those that its check names.
func (f *filler) pool(c *catalog.Column, kind family) []string {
	if labels := f.layout.labels[c.Base]; labels != nil {
		return labels
	}
	if lower := strings.ToLower(c.Type); strings.HasPrefix(lower, "enum(") || strings.HasPrefix(lower, "set(") {
		return matches(textInCheck, c.Type)
	}
	named := f.checked(c, kind)
	switch {
	case kind == word && named != nil:
		return named
	case kind == whole || kind == fraction:
		return append(named, kind.pool()...)
	case kind == document:
		return slices.DeleteFunc(kind.pool(), func(one string) bool { return !strings.HasPrefix(one, f.shape) })
	}
	return kind.pool()
}

// checked lists the constants of the checks that name a column.
func (f *filler) checked(c *catalog.Column, kind family) (list []string) {
	for _, t := range f.layout.tables {
		if found, ok := t.Column(c.Name); !ok || found != c {
			continue
		}
		for _, check := range t.checks {
			switch {
			case !f.layout.words(check)[strings.ToLower(c.Name)]:
			case kind == word:
				list = append(list, matches(textInCheck, check)...)
			default:
				for _, n := range matches(numberInCheck, check) {
					list = append(list, kind.near(n)...)
				}
			}
		}
	}
	return list
}

func matches(pattern *regexp.Regexp, text string) (list []string) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		list = append(list, strings.ReplaceAll(m[1], "''", "'"))
	}
	return list
}

func (f *filler) pick(list []string) string { return list[f.random.IntN(len(list))] }

func valid(s string) sql.NullString { return sql.NullString{String: s, Valid: true} }

var width = regexp.MustCompile(`(?i)char[a-z ]*\((\d{1,4})\)`)

// trimmed cuts a text to the width of its column.
func trimmed(c *catalog.Column, s string) string {
	m := width.FindStringSubmatch(c.Type)
	if m == nil {
		return s
	}
	var most int
	if _, err := fmt.Sscan(m[1], &most); err != nil || len(s) <= most {
		return s
	}
	return s[:most]
}

// argument returns values for a placeholder: those that two rows have in the column that it is compared with, the same rows
// for all placeholders of a table, or else values of the column. whole says that the column holds arrays.
func (f *filler) argument(name string, tables []*table) (values []string, whole bool) {
	column, known := f.clues.params[name]
	if known && column == "" {
		return []string{"1"}, false // a number of rows
	}
	for _, t := range tables {
		c, ok := t.Column(column)
		if !ok {
			continue
		}
		kind := familyOf(f.layout.dialect, c, strings.Join(t.checks, "\n"))
		rows := f.rows[t]
		for i := range min(2, len(rows)) {
			if v := rows[(f.style+i)%len(rows)][c.Name]; v.Valid && f.style != crowded {
				values = append(values, v.String)
			}
		}
		if n := rowsPerTable + 1 + len(name); len(values) == 0 && kind != other {
			values = []string{trimmed(c, kind.distinct(n)), trimmed(c, kind.distinct(n+1))}
		}
		if len(values) > 0 {
			return values, kind == list
		}
	}
	return nil, false
}
