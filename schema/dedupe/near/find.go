package near

import (
	"context"
	"database/sql"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

const (
	// maxRows bounds the rows of a group: as many have something in common that says nothing, such as "n/a".
	maxRows = 50
	// maxGroups bounds the list: no person decides more.
	maxGroups = 10_000
)

// Search says which rows of a table to compare, and by what.
type Search struct {
	// Table is the table; its merged rows are left out.
	Table *catalog.Table
	// By are alternatives.
	By []By
	// Similar are columns whose texts are compared by their trigrams.
	Similar []Similar
	// Show are further columns that help a person to decide.
	Show []string
	// Progress receives the rows that were read. It may be nil.
	Progress func(rows int)
}

// Group are rows that may be the same.
type Group struct {
	// Why says what they have in common.
	Why  string `json:"why"`
	Rows []Row  `json:"rows"`
}

// Row is a row: the texts of its primary key, and of the columns that are shown, nil for NULL.
type Row struct {
	Key    []string  `json:"key"`
	Values []*string `json:"values"`
}

// Result lists what a search found.
type Result struct {
	// Columns are those that are shown.
	Columns []string `json:"columns"`
	Groups  []Group  `json:"groups"`
	// Notes say what is not listed.
	Notes []string `json:"notes,omitempty"`
}

// finder is a search at work.
type finder struct {
	*Search

	db    *sql.DB
	in    dialect.Dialect
	id    []string
	shown []string
	read  int
	found map[string]bool // the sets of rows that are listed
	Result
}

// Find lists rows that may be duplicates, in the order of the alternatives. It only reads, in two passes for each
// alternative, and keeps eight bytes for each row in between.
func Find(ctx context.Context, db *sql.DB, d dialect.Dialect, s *Search) (*Result, error) {
	f := &finder{Search: s, db: db, in: d, found: map[string]bool{}}
	if err := f.prepare(); err != nil {
		return nil, err
	}
	for _, by := range s.By {
		if err := f.same(ctx, by); err != nil {
			return nil, fmt.Errorf("compare %s: %w", by, err)
		}
	}
	for _, similar := range s.Similar {
		if err := f.alike(ctx, similar); err != nil {
			return nil, fmt.Errorf("compare %s: %w", similar.Column, err)
		}
	}
	if len(f.Groups) > maxGroups {
		f.Notes = append(f.Notes, fmt.Sprintf("only the first %d of %d groups are listed: compare by more columns at once", maxGroups, len(f.Groups)))
		f.Groups = f.Groups[:maxGroups]
	}
	f.Columns = f.shown
	return &f.Result, nil
}

// prepare looks the columns up.
func (f *finder) prepare() error {
	f.id = f.Table.PrimaryKey()
	if f.id == nil {
		return fmt.Errorf("the table %s has no primary key, by which a decision could name its rows", f.Table.Name)
	}
	add := func(name string) error {
		if _, ok := f.Table.Column(name); !ok {
			return f.Table.NoColumn(name)
		}
		if !slices.Contains(f.shown, name) {
			f.shown = append(f.shown, name)
		}
		return nil
	}
	for _, by := range f.By {
		for _, t := range by {
			if err := add(t.Column); err != nil {
				return err
			}
		}
	}
	for _, s := range f.Similar {
		if err := add(s.Column); err != nil {
			return err
		}
	}
	for _, name := range f.Show {
		if err := add(name); err != nil {
			return err
		}
	}
	return nil
}

// Text is a column's value as text, in SQL.
func Text(d dialect.Dialect, alias, column string) string {
	value := alias + "." + d.Quote(column)
	if d == dialect.MySQL {
		return "CAST(" + value + " AS CHAR)"
	}
	return "CAST(" + value + " AS text)"
}

func (f *finder) texts(alias string, columns []string) []string {
	return texts.Of(columns, func(name string) string { return Text(f.in, alias, name) })
}

// live is the condition of rows that are not merged yet.
func (f *finder) live(alias string) string {
	if _, ok := f.Table.Column("merged_into"); !ok {
		return "1 = 1"
	}
	return alias + "." + f.in.Quote("merged_into") + " IS NULL"
}

func (f *finder) path() string { return f.in.Quote(f.Table.Schema) + "." + f.in.Quote(f.Table.Name) }

// scan calls use with the texts of columns of every row.
func (f *finder) scan(ctx context.Context, columns []string, use func([]*string)) error {
	query := "SELECT " + strings.Join(f.texts("t", columns), ", ") + " FROM " + f.path() + " AS t WHERE " + f.live("t")
	return f.query(ctx, f.db, query, len(columns), use)
}

// asker is a pool or a transaction.
type asker interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (f *finder) query(ctx context.Context, on asker, query string, n int, use func([]*string)) error {
	rows, err := on.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong.
	for rows.Next() {
		values, into := make([]*string, n), make([]any, n)
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		use(values)
		if f.read++; f.Progress != nil {
			f.Progress(f.read)
		}
	}
	return rows.Err()
}

// same lists the rows with the same key. The first pass finds the keys that come again, the second one their rows.
func (f *finder) same(ctx context.Context, by By) error {
	seed := maphash.MakeSeed()
	columns := texts.Of(by, func(t Term) string { return t.Column })
	var sums []uint64
	err := f.scan(ctx, columns, func(values []*string) {
		if key, ok := by.key(values); ok {
			sums = append(sums, maphash.String(seed, key))
		}
	})
	if err != nil {
		return err
	}
	again := repeated(sums)
	if len(again) == 0 {
		return nil
	}
	groups, large, order := map[string][]Row{}, map[string]int{}, []string(nil)
	err = f.scan(ctx, slices.Concat(columns, f.id, f.shown), func(values []*string) {
		key, ok := by.key(values[:len(by)])
		if !ok {
			return
		}
		if _, found := slices.BinarySearch(again, maphash.String(seed, key)); !found {
			return
		}
		switch len(groups[key]) {
		case 0:
			order = append(order, key)
		case maxRows:
			large[key]++
			return
		}
		groups[key] = append(groups[key], f.row(values[len(by):]))
	})
	if err != nil {
		return err
	}
	slices.Sort(order)
	for _, key := range order {
		if more := large[key]; more > 0 {
			f.Notes = append(f.Notes, fmt.Sprintf("%d rows have the same %s %q: they are not listed", maxRows+more, by, key))
			continue
		}
		f.list(Group{Why: "same " + by.String() + ": " + key, Rows: groups[key]})
	}
	return nil
}

// repeated returns the sums that come more than once, in their order. It sorts sums.
func repeated(sums []uint64) []uint64 {
	slices.Sort(sums)
	all := sums[:0]
	for i := 1; i < len(sums); i++ {
		// What is kept never reaches the place that is read.
		if sum := sums[i]; sum == sums[i-1] && (len(all) == 0 || all[len(all)-1] != sum) {
			all = append(all, sum)
		}
	}
	return all
}

func (f *finder) row(values []*string) Row {
	r := Row{Values: values[len(f.id):]}
	for _, part := range values[:len(f.id)] {
		r.Key = append(r.Key, *part)
	}
	return r
}

// list keeps a group, unless it has one row, or another reason has found it.
func (f *finder) list(g Group) {
	slices.SortFunc(g.Rows, func(a, b Row) int { return slices.CompareFunc(a.Key, b.Key, byNumber) })
	id := strings.Join(texts.Of(g.Rows, func(r Row) string { return strconv.Quote(strings.Join(r.Key, "\x00")) }), " ")
	if len(g.Rows) > 1 && !f.found[id] {
		f.found[id] = true
		f.Groups = append(f.Groups, g)
	}
}

// byNumber orders whole numbers as such: 9 before 10.
func byNumber(a, b string) int {
	if len(a) != len(b) && strings.Trim(a+b, "0123456789") == "" {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
