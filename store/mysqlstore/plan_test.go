package mysqlstore_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
)

// plan says by which keys a statement finds its rows in which way, with
// arguments made up.
func plan(tb testing.TB, db *sql.DB, name, text string) string {
	tb.Helper()
	args := make([]any, strings.Count(text, "?"))
	for i := range args {
		args[i] = i + 1
		if name == "find" {
			d := params(fmt.Sprint("k", i)).Digest
			args[i] = d[:]
		}
	}
	rows, err := db.QueryContext(tb.Context(), "EXPLAIN "+text, args...)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		tb.Fatal(err)
	}
	var steps []string
	for rows.Next() {
		row := make([]any, len(columns))
		for i := range row {
			row[i] = new(sql.NullString)
		}
		if err := rows.Scan(row...); err != nil {
			tb.Fatal(err)
		}
		step := map[string]string{}
		for i, column := range columns {
			step[column] = row[i].(*sql.NullString).String
		}
		if !strings.HasSuffix(step["table"], "tick") {
			steps = append(steps, fmt.Sprintf("%s %s %s", step["type"], step["key"], step["Extra"]))
		}
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return strings.Join(steps, "; ")
}

// Claims stay flat: a step finds its rows by the fence or by one index, reads
// no more than it needs, and sorts nothing.
func TestPlans(t *testing.T) {
	t.Parallel()
	s, db, _ := ticking(t, fast, nil)
	for i := range 200 {
		wins(t, s, params(fmt.Sprint("k", i)))
	}
	execute(t, db, "ANALYZE TABLE s1_record")
	for name, want := range map[string]string{
		"find": "digest", "claimed": "PRIMARY", "renew": "PRIMARY", "settle": "PRIMARY", "release": "PRIMARY",
		"replace_absent": "PRIMARY", "replace_former": "PRIMARY", "list": "PRIMARY", "sweep_find": "sweep",
	} {
		text, err := s.Statement(name, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := plan(t, db, name, text)
		if !strings.Contains(got, " "+want+" ") || strings.Contains(got, "ALL") || strings.Contains(got, "filesort") {
			t.Errorf("%s: the plan is %q, want %s alone", name, got, want)
		}
	}
}
