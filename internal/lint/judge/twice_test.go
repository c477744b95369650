package judge_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/lint/judge"
	"github.com/semel-dev/semel/internal/lint/schema"
	"github.com/semel-dev/semel/internal/testserver/databases"
)

// twice runs statements two times on a real database, and says whether the second run changed it.
type twice struct {
	d      dialect.Dialect
	conn   *sql.Conn
	tables []string
}

func newTwice(t *testing.T, d dialect.Dialect) *twice {
	t.Helper()
	var db *sql.DB
	if d == dialect.SQLite {
		db = databases.Connect(t, "sqlite", "file::memory:?_pragma=foreign_keys(1)")
	} else {
		db = databases.Open(t, d).DB
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

// define runs the statements of a schema, and learns it.
func (w *twice) define(t *testing.T, ddl string) *schema.Schema {
	t.Helper()
	s := &schema.Schema{}
	for _, p := range parse(w.d, ddl) {
		s.Apply(p.Statement)
		if err := w.exec(t.Context(), ddl[p.Start:p.End]); err != nil {
			t.Fatalf("%s: %v\n%s", w.d, err, ddl[p.Start:p.End])
		}
	}
	query := map[dialect.Dialect]string{
		dialect.PostgreSQL: "select quote_ident(table_name) from information_schema.tables where table_schema=current_schema() and table_type='BASE TABLE'",
		dialect.MySQL:      "select table_name from information_schema.tables where table_schema=database() and table_type='BASE TABLE'",
		dialect.SQLite:     "select name from sqlite_master where type='table' and name not like 'sqlite_%'",
	}[w.d]
	w.tables = nil
	_, lines := w.rows(t, query)
	for _, line := range lines {
		w.tables = append(w.tables, strings.TrimSuffix(line, "|"))
	}
	return s
}

func (w *twice) rows(t *testing.T, query string) (names, lines []string) {
	t.Helper()
	rows, err := w.conn.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	names, err = rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
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
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return names, lines
}

// state is the contents of all tables.
func (w *twice) state(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, table := range w.tables {
		names, lines := w.rows(t, "select * from "+table)
		fmt.Fprintf(&b, "%s %v: %s\n", table, names, strings.Join(lines, " "))
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
	w.clock(t, 1_800_000_000)
	errs[1] = w.exec(t.Context(), statement)
	return before, once, w.state(t), errs
}

// clock sets the time of a session, where that is possible.
func (w *twice) clock(t *testing.T, to int) {
	t.Helper()
	if w.d != dialect.MySQL {
		return
	}
	if err := w.exec(t.Context(), fmt.Sprintf("SET timestamp = %d", to)); err != nil {
		t.Fatal(err)
	}
}

func verdict(t *testing.T, d dialect.Dialect, s *schema.Schema, statement string) judge.Judgement {
	t.Helper()
	parsed := parse(d, statement)
	if len(parsed) != 1 {
		t.Fatalf("%d statements in %s", len(parsed), statement)
	}
	return judge.Statement(d, s, parsed[0].Statement)
}
