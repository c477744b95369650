package pgstore_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

const (
	trapRows  = 50_000
	trapBatch = 32
	// trapBuffers bounds the pages of one statement: a batch reads about a dozen
	// for each step, a scan of the table or of an index thousands.
	trapBuffers = 1000
)

// trapArgs are arguments under which each statement finds rows of [fillClaims].
func trapArgs() map[string]string {
	list := func(each func(i int) string) string {
		items := make([]string, trapBatch)
		for i := range items {
			items[i] = `"` + each(i*7+1) + `"`
		}
		return "'{" + strings.Join(items, ",") + "}'"
	}
	same := func(text string) string { return list(func(int) string { return text }) }
	digest := func(i int) string { return fmt.Sprintf(`\\x%x`, sha256.Sum256(fmt.Append(nil, i))) }
	held, free := list(digest), list(func(i int) string { return digest(-i) })
	fences := list(func(i int) string { return fmt.Sprint(i) })
	one := strings.ReplaceAll("'"+digest(77)+"'", `\\`, `\`)
	none := strings.ReplaceAll("'"+digest(-77)+"'", `\\`, `\`)
	return map[string]string{
		"lookup":       one,
		"find":         one,
		"find_batch":   held,
		"claim":        none + `, '\x00', '\x00', 1, 1, '', ''`,
		"claim_again":  one + `, '\x00', '\x00', 1, 1, '', '', 77, true`,
		"claim_batch":  fmt.Sprintf("%s, %s, %s, %s, %s, %s, %s", free, same(`\\x00`), same(`\\x00`), same("1"), same("1"), same(""), same("")),
		"renew":        one + ", 77, 1",
		"settle":       one + `, 77, 'completed', true, '\x00', '', 1`,
		"settle_batch": fmt.Sprintf("%s, %s, %s, %s, %s, %s, %s", held, fences, same("completed"), same("t"), same(`\\x00`), same(""), same("1")),
		"await":        one,
		"sweep":        "32, 32",
		"list_count":   "1000, 0, 32",
		"list":         "1000, '', 'none', '{unknown}', false, 20, 968",
		"check_fences": "",
		"tx_clear":     one,
		"tx_draw":      none,

		"tx_draw_or_fail": none,
		"tx_finish":       one + `, 77, 'completed', true, '\x00', '', 1, NULL`,
		"tx_first":        none + `, '\x00', '\x00', 1, '', '', 1`,
	}
}

// unplanned lists the statements that look for nothing in the table of records.
func unplanned() []string {
	return []string{
		"check_rights", "check_server", "tx_began", "tx_brief", "tx_exec", "tx_exec_again", "tx_lock", "tx_lock_or_fail",
		"tx_patience", "tx_patience_end", "tx_record", "tx_wait", "version", "version_table",
	}
}

func TestPlansOfAllStatements(t *testing.T) {
	t.Parallel()
	claimtest.Statements(t, trapArgs(), unplanned())
}

// Promise 8: a statement costs what it touches, however large the table is and
// whatever the planner knew when it chose the plan: that the table was empty
// (VACUUM and ANALYZE of the empty table, which a night's sweep may leave), or
// nothing. The plan is kept while the table grows.
func TestPlansSurviveTheTableGrowing(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{
		"vacuumed and analyzed while empty": "VACUUM ANALYZE %s",
		"never analyzed":                    "SELECT '%s'",
		"analyzed with a few records":       fill("%[1]s", 1, 20) + "; ANALYZE %[1]s; DELETE FROM %[1]s",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pool(t, testserver.Postgres(t), 2)
			s := newStore(t, p, &pgstore.Options{Schema: testserver.PostgresSchema(t)})
			table := quoted(s.SchemaName()) + ".record"
			conns := map[string]*pgxpool.Conn{"force_generic_plan": nil, "auto": nil}
			for mode := range conns {
				conn, err := p.Acquire(t.Context())
				noError(t, err)
				defer conn.Release()
				conns[mode] = conn
				execOn(t, conn, "SET plan_cache_mode = "+mode)
			}
			execOn(t, conns["auto"], "ALTER TABLE "+table+" SET (autovacuum_enabled = false)")
			execOn(t, conns["auto"], fmt.Sprintf(before, table))
			for _, conn := range conns {
				planAll(t, conn, s)
			}
			execOn(t, conns["auto"], fillClaims(table, trapRows))
			execOn(t, conns["auto"], fmt.Sprintf("SELECT setval('%s.fence', %d)", quoted(s.SchemaName()), 2*trapRows))
			for mode, conn := range conns {
				for _, name := range slices.Sorted(maps.Keys(trapArgs())) {
					wantBounded(t, conn, mode+": "+name, "planned_"+name, trapArgs()[name])
				}
			}
		})
	}
}

// fillClaims is the SQL that makes live claims, of which the first 1000 are due
// for a sweep.
func fillClaims(table string, n int) string {
	return fmt.Sprintf(`INSERT INTO %s SELECT sha256(i::text::bytea), i, 'claimed', false, false, 1, '\x00', '\x00', 1, 0, %[3]d, %[3]d,
  CASE WHEN i <= 1000 THEN i ELSE %[3]d END, '', '', '', NULL FROM generate_series(1, %[2]d) i`, table, n, int64(math.MaxInt64/4))
}

// planAll prepares each statement and runs it until its plan is kept: a server
// looks at five plans made for their arguments first.
func planAll(t *testing.T, conn *pgxpool.Conn, s *pgstore.Store) {
	t.Helper()
	for name, args := range trapArgs() {
		execOn(t, conn, "PREPARE planned_"+name+" AS "+s.Statement(name))
		for range 7 {
			execOn(t, conn, "BEGIN")
			// A statement that ends in an error on purpose, such as tx_finish.sql
			// without its row, was planned.
			_, _ = conn.Exec(t.Context(), executeSQL("planned_"+name, args), pgx.QueryExecModeSimpleProtocol)
			execOn(t, conn, "ROLLBACK")
		}
	}
}

func executeSQL(prepared, args string) string {
	if args == "" {
		return "EXECUTE " + prepared
	}
	return "EXECUTE " + prepared + "(" + args + ")"
}

// planNode is a step of a plan that was run.
type planNode struct {
	Type        string     `json:"Node Type"`
	Table       string     `json:"Relation Name"`
	Index       string     `json:"Index Name"`
	Rows        float64    `json:"Actual Rows"`
	Loops       float64    `json:"Actual Loops"`
	Removed     float64    `json:"Rows Removed by Filter"`
	SharedHit   int        `json:"Shared Hit Blocks"`
	SharedReads int        `json:"Shared Read Blocks"`
	Plans       []planNode `json:"Plans"`
}

// reads reports whether the step touches the records, and how many of them.
func (n *planNode) reads() (rows float64, ok bool) {
	return (n.Rows + n.Removed) * n.Loops, strings.HasSuffix(n.Type, "Scan") && (n.Table == "record" || strings.HasPrefix(n.Index, "record"))
}

// wantBounded runs a prepared statement and looks at the plan that it had kept.
func wantBounded(t *testing.T, conn *pgxpool.Conn, name, prepared, args string) {
	t.Helper()
	execOn(t, conn, "BEGIN")
	defer execOn(t, conn, "ROLLBACK")
	var out []byte
	err := conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) "+executeSQL(prepared, args),
		pgx.QueryExecModeSimpleProtocol).Scan(&out)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(out, &plans); err != nil || len(plans) != 1 {
		t.Fatalf("%s: %d plans, error %v", name, len(plans), err)
	}
	wrong := misreads(&plans[0].Plan)
	if pages := plans[0].Plan.SharedHit + plans[0].Plan.SharedReads; pages > trapBuffers {
		wrong = append(wrong, fmt.Sprintf("it looks at %d pages, want at most %d", pages, trapBuffers))
	}
	if len(wrong) > 0 {
		t.Errorf("%s: %s:\n%s", name, strings.Join(wrong, "; "), out)
	}
}

// misreads says what in a plan costs more the larger the table is.
func misreads(n *planNode) (wrong []string) {
	if rows, ok := n.reads(); ok {
		if n.Type == "Seq Scan" {
			wrong = append(wrong, "it reads the whole table")
		}
		if rows > 4*trapBatch { // the entries of rows that were removed before are read again
			wrong = append(wrong, fmt.Sprintf("%s %s reads %.0f records", n.Type, n.Index, rows))
		}
	}
	for i := range n.Plans {
		wrong = append(wrong, misreads(&n.Plans[i])...)
	}
	return wrong
}

// fill is the SQL that makes completed records.
func fill(table string, from, to int) string {
	return fmt.Sprintf(`INSERT INTO %s SELECT sha256(i::text::bytea), i, 'completed', true, false, 1, '\x00', '\x00', i, i, i, i, i, '', '', '', '\x00'
FROM generate_series(%d, %d) i`, table, from, to)
}

func execOn(t *testing.T, conn *pgxpool.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
