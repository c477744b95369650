package near

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/schema/catalog"
)

// Similar says that the texts of a column are compared by their trigrams.
type Similar struct {
	Column string
	// Least is the similarity from which two rows are listed, above 0 and at most 1.
	Least float64
}

// manyRows is the number of rows from which comparing all with all takes too long.
const manyRows = 20_000

// ParseSimilar reads COLUMN=SIMILARITY, such as name=0.6.
func ParseSimilar(text string) (Similar, error) {
	column, number, _ := strings.Cut(text, "=")
	least, err := strconv.ParseFloat(number, 64)
	if err != nil || column == "" || !(least > 0 && least <= 1) {
		return Similar{}, fmt.Errorf("%q: write COLUMN=SIMILARITY, a number above 0 and at most 1, such as name=0.6", text)
	}
	return Similar{column, least}, nil
}

// alike lists pairs of rows whose texts are similar, the most similar first.
func (f *finder) alike(ctx context.Context, s Similar) error {
	if f.in != dialect.PostgreSQL {
		return fmt.Errorf("%s does not compare texts by trigrams (compare by letters instead: --by %s:letters)", f.in, s.Column)
	}
	var schema string
	if err := f.db.QueryRowContext(ctx, "SELECT coalesce((SELECT n.nspname FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'), '')").Scan(&schema); err != nil {
		return err
	}
	column := f.in.Quote(s.Column)
	switch {
	case schema == "":
		return fmt.Errorf("the extension pg_trgm is not installed in this database (CREATE EXTENSION pg_trgm)")
	case f.Table.Rows >= manyRows && !f.hasTrigrams(s.Column):
		return fmt.Errorf("no index has the trigrams of %s, and comparing %d rows with each other would take too long (CREATE INDEX CONCURRENTLY ON %s USING gin (%s %s.gin_trgm_ops))",
			s.Column, f.Table.Rows, f.path(), column, f.in.Quote(schema))
	}
	space := f.in.Quote(schema)
	pairs := make([]string, 0, 2)
	for _, alias := range []string{"a", "b"} {
		pairs = append(pairs, strings.Join(slices.Concat(f.texts(alias, f.id), f.texts(alias, f.shown)), ", "))
	}
	less := "(" + strings.Join(columnsOf(f.in, "a", f.id), ", ") + ") < (" + strings.Join(columnsOf(f.in, "b", f.id), ", ") + ")"
	query := "SELECT " + strings.Join(pairs, ", ") + ", CAST(round(CAST(" + space + ".similarity(a." + column + ", b." + column + ") AS numeric), 2) AS text) AS semel_alike FROM " + f.path() + " AS a JOIN " + f.path() +
		" AS b ON a." + column + " OPERATOR(" + space + ".%) b." + column + " AND " + less + " WHERE " + f.live("a") + " AND " + f.live("b") + " ORDER BY semel_alike DESC LIMIT " + strconv.Itoa(maxGroups+1)
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it has only read.
	//semel:safe a setting that ends with the transaction
	if _, err := tx.ExecContext(ctx, "SELECT set_config('pg_trgm.similarity_threshold', $1, true)", strconv.FormatFloat(s.Least, 'f', -1, 64)); err != nil {
		return err
	}
	width := len(f.id) + len(f.shown)
	return f.query(ctx, tx, query, 2*width+1, func(values []*string) {
		f.list(Group{Why: s.Column + " is alike: " + *values[2*width], Rows: []Row{f.row(values[:width]), f.row(values[width : 2*width])}})
	})
}

func columnsOf(d dialect.Dialect, alias string, names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = alias + "." + d.Quote(name)
	}
	return all
}

// hasTrigrams reports whether an index finds similar texts of a column.
func (f *finder) hasTrigrams(column string) bool {
	return slices.ContainsFunc(f.Table.Indexes, func(x catalog.Index) bool {
		return x.Valid && (x.Method == "gin" || x.Method == "gist") && slices.ContainsFunc(x.Parts, func(p catalog.Part) bool { return p.Column == column })
	})
}
