package mysqlstore_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
)

// plan says by which keys a statement finds its rows in which way, with
// arguments made up.
func plan(tb testing.TB, db *sql.DB, name, text string) string {
	tb.Helper()
	args := make([]any, strings.Count(text, "?"))
	for i := range args {
		args[i] = i + 1
		if i == 0 && strings.HasPrefix(name, "list") {
			args[i] = 1000 // fences below
		}
		if name == "find" || name == "tx_find" {
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
	noError(tb, err)
	var steps []string
	for rows.Next() {
		row := make([]any, len(columns))
		for i := range row {
			row[i] = new(sql.NullString)
		}
		noError(tb, rows.Scan(row...))
		step := map[string]string{}
		for i, column := range columns {
			step[column] = row[i].(*sql.NullString).String
		}
		if !strings.HasSuffix(step["table"], "tick") && !strings.HasPrefix(step["table"], "<derived") {
			steps = append(steps, fmt.Sprintf("%s %s %s", step["type"], step["key"], step["Extra"]))
		}
	}
	noError(tb, rows.Err())
	return strings.Join(steps, "; ")
}

// planned are the statements that look for rows, each with the key that it is to use.
func planned() map[string]string {
	return map[string]string{
		"find": "digest", "claimed": "PRIMARY", "renew": "PRIMARY", "settle": "PRIMARY", "release": "PRIMARY",
		"settle_many": "PRIMARY", "replace_absent": "PRIMARY", "replace_former": "PRIMARY", "tx_again": "PRIMARY",
		"tx_find": "digest", "tx_settle": "PRIMARY", "sweep_correct": "PRIMARY", "sweep_delete": "PRIMARY",
		"sweep_find": "sweep", "list": "PRIMARY", "list_count": "PRIMARY",
	}
}

// unplanned lists the statements that look for nothing in the table of records, or are parts of one.
func unplanned() []string {
	return []string{
		"claim", "claim_many", "claim_many_returning", "claim_returning", "claim_row", "claim_together", "columns",
		"migration_create", "migration_note", "migration_read", "server", "table_check", "tx_together", "tx_together_row",
	}
}

func TestPlansOfAllStatements(t *testing.T) {
	t.Parallel()
	claimtest.Statements(t, planned(), unplanned())
}

// Promise 8: a step reads the rows that it is about, however many rows there
// are and whatever the server knew of the table: that it was empty, or nothing.
// A batch of many steps must not read the whole table.
func TestPlansSurviveTheTableGrowing(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{
		"analyzed while empty": "ANALYZE TABLE s1_record",
		"never analyzed":       "DO 0",
		"analyzed with a few records": `INSERT INTO s1_record (digest, state, kept, attempt, owner, fingerprint,
			claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note)
			WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
			SELECT UNHEX(SHA2(CONCAT('few ', i), 256)), 'claimed', 0, 1, '', '', 1, 0, 1, 1, 1, '', '', '' FROM n;
			ANALYZE TABLE s1_record`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db, _ := ticking(t, fast, nil)
			execute(t, db, "ALTER TABLE s1_record STATS_AUTO_RECALC = 0")
			for statement := range strings.SplitSeq(before, ";") {
				execute(t, db, statement)
			}
			execute(t, db, `INSERT INTO s1_record (digest, state, kept, attempt, owner, fingerprint,
				claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note)
				WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
				SELECT UNHEX(SHA2(CONCAT(a.i, ' ', b.i), 256)), 'claimed', 0, 1, '', '', 1, 0, 1, 1 << 60, 1 << 60, '', '', ''
				FROM n a, n b WHERE b.i < 20`)
			for i := range 64 {
				wins(t, s, params(fmt.Sprint("k", i)))
			}
			for name, want := range planned() {
				for _, n := range []int{1, 16, 64} {
					text, err := s.Statement(name, n)
					noError(t, err)
					got := plan(t, db, name, text)
					if !strings.Contains(got, " "+want+" ") || strings.Contains(got, "ALL") || strings.HasPrefix(got, "index ") {
						t.Errorf("%s for %d: the plan is %q, want %s", name, n, got, want)
					}
				}
			}
		})
	}
}
