package pgstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// values are arguments for each statement that finds its rows by an index.
func values() map[string]string {
	return map[string]string{
		"lookup":       `'\x00'`,
		"find":         `'\x00'`,
		"find_batch":   `'{"\\x00","\\x01"}'`,
		"claim":        `'\x00', '\x00', '\x00', 1, 1, '', ''`,
		"claim_again":  `'\x00', '\x00', '\x00', 1, 1, '', '', 1, true`,
		"claim_batch":  `'{"\\x00","\\x01"}', '{"\\x00","\\x00"}', '{"\\x00","\\x00"}', '{1,1}', '{1,1}', '{"",""}', '{"",""}'`,
		"renew":        `'\x00', 1, 1`,
		"settle":       `'\x00', 1, 'completed', true, '\x00', '', 1`,
		"settle_batch": `'{"\\x00","\\x01"}', '{1,1}', '{completed,completed}', '{t,t}', '{"\\x00","\\x00"}', '{"",""}', '{1,1}'`,
		"await":        `'\x00'`,
		"sweep":        `500, 500`,
	}
}

// Statements are planned once and used for long, and the table may have been
// empty then: no plan reads the whole table, whatever its statistics say.
func TestPlans(t *testing.T) {
	t.Parallel()
	p := pool(t, testserver.Postgres(t), 1)
	s := newStore(t, p, &pgstore.Options{Schema: testserver.PostgresSchema(t)})
	table := quoted(s.SchemaName()) + ".record"
	conn, err := p.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, before := range []struct{ name, sql string }{
		{"new", "SELECT 1"},
		{"vacuumed while empty", "VACUUM ANALYZE " + table},
		{"with a few records", fill(table, 1, 20)},
		{"analyzed with a few", "VACUUM ANALYZE " + table},
		{"emptied", "DELETE FROM " + table},
		{"vacuumed after it was emptied", "VACUUM ANALYZE " + table},
		{"with many records", fill(table, 1, 20000)},
		{"analyzed with many", "VACUUM ANALYZE " + table},
	} {
		execOn(t, conn, before.sql)
		for name, args := range values() {
			if plan := genericPlan(t, conn, s.Statement(name), args); strings.Contains(plan, "Seq Scan on record") {
				t.Errorf("%s: %s.sql reads the whole table:\n%s", before.name, name, plan)
			}
		}
	}
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

// genericPlan is the plan that a prepared statement keeps.
func genericPlan(t *testing.T, conn *pgxpool.Conn, sql, args string) string {
	t.Helper()
	execOn(t, conn, "SET plan_cache_mode = force_generic_plan")
	execOn(t, conn, "PREPARE planned AS "+sql)
	defer execOn(t, conn, "DEALLOCATE planned")
	rows, err := conn.Query(t.Context(), "EXPLAIN EXECUTE planned("+args+")", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(lines, "\n")
}
