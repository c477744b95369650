package expression_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/semel-dev/semel/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/rules/expression"
)

// tables have a column of each kind that the expressions of these tests use.
func table(d dialect.Dialect) string {
	switch d {
	case dialect.PostgreSQL:
		return `CREATE TABLE t (id int, email varchar(40), note text, code char(5), n int, big bigint, b boolean, d date, ts timestamp, tz timestamptz, "Odd Name" text)`
	case dialect.MySQL:
		return "CREATE TABLE t (id int, email varchar(40), note varchar(200), code char(5), n int, big bigint, b boolean, d date, ts datetime, tz timestamp NULL, `Odd Name` varchar(40))"
	case dialect.SQLite:
	}
	return `CREATE TABLE t (id int, email varchar(40), note text, code char(5), n int, big bigint, b boolean, d date, ts datetime, tz datetime, "Odd Name" text)`
}

// types are what the catalogue would say of these columns.
func types(d dialect.Dialect) expression.ColumnTypes {
	all := expression.ColumnTypes{
		"email": {Type: "character varying(40)"}, "note": {Type: "text"}, "code": {Type: "char(5)"}, "n": {Type: "integer"}, "big": {Type: "bigint"},
		"b": {Type: "boolean"}, "d": {Type: "date"}, "ts": {Type: "timestamp without time zone"}, "tz": {Type: "timestamp with time zone"}, "Odd Name": {Type: "text"},
	}
	if d == dialect.MySQL {
		all["email"] = expression.ColumnType{Type: "varchar(40)"}
		all["b"], all["ts"], all["tz"] = expression.ColumnType{Type: "tinyint(1)"}, expression.ColumnType{Type: "datetime"}, expression.ColumnType{Type: "timestamp"}
	}
	return all
}

// stored makes an index or a generated column of a piece of SQL, and returns
// what the catalogue has of it then.
func stored(tb testing.TB, d *databases.Database, name, text string, predicate bool) string {
	tb.Helper()
	create, query := "CREATE INDEX "+name+" ON t (("+text+"))", ""
	if predicate {
		create = "CREATE INDEX " + name + " ON t (id) WHERE " + text
	}
	switch d.Dialect {
	case dialect.PostgreSQL:
		query = "SELECT coalesce(pg_get_expr(indpred, indrelid), pg_get_indexdef(indexrelid, 1, false)) FROM pg_index WHERE indexrelid = '" + name + "'::regclass"
	case dialect.MySQL:
		create = "ALTER TABLE t ADD COLUMN " + name + " varchar(300) AS (" + text + ") VIRTUAL, ADD INDEX (" + name + ")"
		query = "SELECT generation_expression FROM information_schema.columns WHERE table_schema = database() AND table_name = 't' AND column_name = '" + name + "'"
	case dialect.SQLite:
		query = "SELECT sql FROM sqlite_schema WHERE name = '" + name + "'"
	}
	d.Exec(tb, create)
	var got sql.NullString
	if err := d.DB.QueryRowContext(tb.Context(), query).Scan(&got); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	if d.Dialect == dialect.SQLite {
		got.String = strings.TrimSuffix(strings.TrimPrefix(got.String, "CREATE INDEX "+name+" ON t (("), "))")
		got.String = strings.TrimPrefix(got.String, "CREATE INDEX "+name+" ON t (id) WHERE ")
	}
	return got.String
}

// TestRoundTrip: what is rendered can be indexed, and what the database then
// says of the index is read as what was rendered.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		t.Helper()
		d.Exec(t, table(d.Dialect))
		for i, text := range []string{
			"email", `"Odd Name"`, "lower(email)", "upper(note)", "trim(note)", "lower(trim(email))", "upper(trim(\"Odd Name\"))", "lower(code)",
			"year(d)", "month(d)", "day(d)", "year(ts)", "month(ts)", "day(ts)", "hour(ts)", "date(ts)", "date(d)", "year(date(ts))",
			"coalesce(note, 'it''s')", "coalesce(email, '')", "coalesce(n, 0)", "coalesce(n, -1)", "coalesce(big, -3000000000)", "coalesce(big, 5)",
			"coalesce(lower(email), '日本')", "coalesce(year(d), 0)", "is_null(n)", "is_null(email)", "year(utc(tz))", "date(utc(tz))",
			"coalesce(year(utc(tz)), -1)", "trim(lower(note))", "coalesce(code, 'x')",
		} {
			want, err := expression.Parse(text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			rendered, err := want.Render(d.Dialect, types(d.Dialect))
			if d.Dialect == dialect.MySQL && (strings.Contains(text, "utc") || strings.Contains(text, "code")) {
				if err == nil {
					t.Errorf("%s is rendered for mysql: %s", text, rendered)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			back := stored(t, d, fmt.Sprintf("i%d", i), rendered, false)
			got, ok := expression.FromCatalog(d.Dialect, back)
			if !ok || !expression.Same(d.Dialect, got, want, types(d.Dialect)) {
				t.Errorf("%s is rendered %s and comes back %s, read as %s, %v", text, rendered, back, got, ok)
			}
		}
	})
}
