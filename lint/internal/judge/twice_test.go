package judge_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/lint/internal/judge"
	"github.com/semel-dev/semel/lint/internal/parse"
	"github.com/semel-dev/semel/lint/internal/schema"
)

// twice runs statements two times on a real database, and says whether the second run changed it.
type twice struct {
	d      dialect.Dialect
	conn   *sql.Conn
	tables []string
	timely bool   // the schema asks for the time
	whole  string // returns the contents of all tables, where it is set
}

// timely finds what may ask for the time.
var timely = regexp.MustCompile(`(?i)now|current_|strftime|julianday|unixepoch|datetime|\bdate\b|\btime`)

func newTwice(t *testing.T, d dialect.Dialect) *twice {
	t.Helper()
	var db *sql.DB
	if d == dialect.SQLite {
		db = databases.Connect(t, "sqlite", "file::memory:?_pragma=foreign_keys(1)")
	} else {
		one := databases.Open(t, d)
		if db = one.DB; d == dialect.MySQL {
			db = databases.Connect(t, "mysql", strings.TrimPrefix(one.DSN, "mysql:")+"?multiStatements=true")
		}
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &twice{d: d, conn: conn}
}

func (w *twice) exec(ctx context.Context, text string) error {
	_, err := w.conn.ExecContext(ctx, text)
	return err
}

// batch runs statements in one round trip.
func (w *twice) batch(t *testing.T, list []string) {
	t.Helper()
	text := strings.Join(list, ";")
	if w.d != dialect.PostgreSQL { // where it is one transaction anyway
		text = "begin;" + text + ";commit"
	}
	if err := w.exec(t.Context(), text); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// define runs the statements of a schema, and learns it.
func (w *twice) define(t *testing.T, ddl string) *schema.Schema {
	t.Helper()
	s := &schema.Schema{}
	w.timely = timely.MatchString(ddl)
	for _, p := range parse.Statements(w.d, ddl) {
		s.Apply(p.Statement)
		if err := w.exec(t.Context(), ddl[p.Start:p.End]); err != nil {
			t.Fatalf("%s: %v\n%s", w.d, err, ddl[p.Start:p.End])
		}
	}
	w.find(t)
	return s
}

// find notes the tables.
func (w *twice) find(t *testing.T) {
	t.Helper()
	query := map[dialect.Dialect]string{
		dialect.PostgreSQL: "select quote_ident(table_name) from information_schema.tables where table_schema=current_schema() and table_type='BASE TABLE'",
		dialect.MySQL:      "select table_name from information_schema.tables where table_schema=database() and table_type='BASE TABLE'",
		dialect.SQLite:     "select name from sqlite_master where type='table' and name not like 'sqlite_%'",
	}[w.d]
	w.tables = nil
	for _, line := range w.rows(t, query) {
		w.tables = append(w.tables, strings.TrimSuffix(line, "|"))
	}
}

func (w *twice) rows(t *testing.T, query string) []string {
	t.Helper()
	_, lines := w.result(t, query)
	return lines
}

func (w *twice) result(t *testing.T, query string) (names, lines []string) {
	t.Helper()
	rows, err := w.conn.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	names, lines = scan(t, rows)
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names, lines
}

// scan reads one result, in the order of its texts.
func scan(t *testing.T, rows *sql.Rows) (names, lines []string) {
	t.Helper()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, v := range values {
			if text, ok := v.([]byte); ok {
				v = string(text)
			}
			fmt.Fprintf(&b, "%v|", v)
		}
		lines = append(lines, b.String())
	}
	slices.Sort(lines)
	return names, lines
}

// state is the contents of all tables, on a server read in one round trip.
func (w *twice) state(t *testing.T) string {
	t.Helper()
	if w.whole != "" {
		return strings.Join(w.rows(t, w.whole), "\n")
	}
	var parts []string
	for _, table := range w.tables {
		if w.d == dialect.PostgreSQL {
			table = fmt.Sprintf("'%s: '||coalesce(string_agg(row_to_json(whole_row)::text, ' ' order by row_to_json(whole_row)::text), '') from %s whole_row", table, table)
		} else {
			table = "* from " + table
		}
		parts = append(parts, "select "+table)
	}
	var b strings.Builder
	switch w.d {
	case dialect.PostgreSQL:
		return strings.Join(w.rows(t, strings.Join(parts, " union all ")), "\n")
	case dialect.SQLite:
		for i, table := range w.tables {
			names, lines := w.result(t, parts[i])
			fmt.Fprintf(&b, "%s %v: %s\n", table, names, strings.Join(lines, " "))
		}
		return b.String()
	case dialect.MySQL:
	}
	rows, err := w.conn.QueryContext(t.Context(), strings.Join(parts, ";"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for i, table := range w.tables {
		if i > 0 && !rows.NextResultSet() {
			t.Fatalf("no rows of %s: %v", table, rows.Err())
		}
		names, lines := scan(t, rows)
		fmt.Fprintf(&b, "%s %v: %s\n", table, names, strings.Join(lines, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// run runs a statement twice, each time in a transaction of its own and at another time.
func (w *twice) run(t *testing.T, statement string) (before, once, again string, errs [2]error) {
	t.Helper()
	before = w.state(t)
	w.clock(t, 1_700_000_000)
	errs[0] = w.exec(t.Context(), statement)
	once = w.state(t)
	if w.clock(t, 1_800_000_000); w.d == dialect.SQLite && (w.timely || timely.MatchString(statement)) {
		w.tick(t)
	}
	errs[1] = w.exec(t.Context(), statement)
	return before, once, w.state(t), errs
}

// clock sets the time of a session where that is possible. That of PostgreSQL is another one in each transaction.
func (w *twice) clock(t *testing.T, to int) {
	t.Helper()
	if w.d != dialect.MySQL {
		return
	}
	if err := w.exec(t.Context(), fmt.Sprintf("SET timestamp = %d", to)); err != nil {
		t.Fatal(err)
	}
}

// tick waits until SQLite tells another time: it tells milliseconds.
func (w *twice) tick(t *testing.T) {
	t.Helper()
	now := func() string { return w.rows(t, "select strftime('%f', 'now')")[0] }
	for before := now(); now() == before; {
		time.Sleep(time.Millisecond / 4)
	}
}

func verdict(t *testing.T, d dialect.Dialect, s *schema.Schema, statement string) judge.Judgement {
	t.Helper()
	parsed := parse.Statements(d, statement)
	if len(parsed) != 1 {
		t.Fatalf("%d statements in %s", len(parsed), statement)
	}
	return judge.Statement(d, s, parsed[0].Statement)
}
