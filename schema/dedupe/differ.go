package dedupe

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

const (
	// maxDifferences bounds the columns of a sample, maxCompared the characters of a value that are compared, maxShown those shown.
	maxDifferences = 6
	maxCompared    = 1000
	maxShown       = 40
)

// Difference is a column in which the rows of a sample differ.
type Difference struct {
	Column string
	// Values are those of the rows, the winner's first; nil where they may say something of a person.
	Values []string
}

// String writes the difference for a report.
func (d Difference) String() string {
	if d.Values == nil {
		return d.Column + " (not shown)"
	}
	return d.Column + " " + strings.Join(d.Values, " | ")
}

// differences compares the rows with these keys.
func (s *dbSession) differences(ctx context.Context, t *table, keys []string) ([]Difference, error) {
	columns := slices.DeleteFunc(t.stored(), func(name string) bool {
		return slices.Contains(t.id, name) || name == mergedInto || name == mergedAt || name == mergeRun
	})
	if len(columns) == 0 {
		return nil, nil
	}
	wanted := texts.Of(keys, func(key string) string { return "(" + equal(of("t", t.id), t.unkey(t.literal(key))) + ")" })
	values := texts.Of(columns, func(name string) string {
		return fmt.Sprintf("substr(%s, 1, %d)", s.text("t."+quote(name), t.column(name)), maxCompared)
	})
	rows := make([][]sql.NullString, len(keys))
	query := "SELECT " + list([]string{t.key(of("t", t.id))}, values) + " FROM " + t.path + " AS t WHERE " + strings.Join(wanted, " OR ")
	err := s.each(ctx, query, nil, func(found *sql.Rows) error {
		var key string
		row := make([]sql.NullString, len(columns))
		into := []any{&key}
		for i := range row {
			into = append(into, &row[i])
		}
		err := found.Scan(into...)
		if i := slices.Index(keys, key); i >= 0 {
			rows[i] = row
		}
		return err
	})
	if err != nil || slices.ContainsFunc(rows, func(row []sql.NullString) bool { return row == nil }) {
		return nil, err // a row that is gone says nothing
	}
	var all []Difference
	for i, name := range columns {
		if !slices.ContainsFunc(rows, func(row []sql.NullString) bool { return row[i] != rows[0][i] }) || len(all) == maxDifferences {
			continue
		}
		d := Difference{Column: name}
		if impersonal(t.column(name)) && !slices.ContainsFunc(rows, func(row []sql.NullString) bool { return s.textual(row[i]) }) {
			d.Values = texts.Of(rows, func(row []sql.NullString) string { return shown(row[i]) })
		}
		all = append(all, d)
	}
	return all, nil
}

// impersonal reports whether a column is of numbers, times, truth values or UUIDs, and of nothing else. A type of the
// application's own may hold anything, whatever its name.
func impersonal(c *catalog.Column) bool {
	base, _, _ := strings.Cut(c.Base, " ")
	return slices.Contains([]string{
		"int2", "int4", "int8", "float4", "float8", "bool", "interval", "timestamptz", "timetz", // of PostgreSQL
		"tinyint", "smallint", "mediumint", "int", "integer", "bigint", "float", "double", "boolean", "datetime", "year",
		"numeric", "decimal", "real", "date", "time", "timestamp", "uuid",
	}, base)
}

// textual reports whether SQLite has a text or a blob in a column of numbers: the engine writes them in quotes.
func (s *dbSession) textual(value sql.NullString) bool {
	return s.Dialect == dialect.SQLite && strings.Contains(value.String, "'")
}

func shown(value sql.NullString) string {
	if !value.Valid {
		return "NULL"
	}
	if runes := []rune(value.String); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return value.String
}
