package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/internal/plan"
)

// Nothing is planned for a rule that rows break already; the plan points at
// them, and at nothing else of them than their primary keys.
func TestDuplicatesAreRefused(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		d.Exec(t, schema(d.Dialect)...)
		d.Exec(t,
			`INSERT INTO users (id, tenant_id, email) VALUES (1, 7, 'zoe@example.com'), (2, 7, 'ZOE@example.com '), (3, 8, 'zoe@example.com'),
				(4, NULL, 'bo@example.com'), (5, NULL, 'Bo@example.com'), (6, 0, 'bo@example.com')`,
			`INSERT INTO imports (id, source, external_id, parent_id) VALUES (1, 'crm', NULL, 1), (2, 'crm', NULL, 2), (3, NULL, '1', 3), (4, NULL, '1', 4)`,
			`INSERT INTO invoices (id, tenant_id, number, issued_on, status) VALUES (1, 1, 'A', '2026-01-01', 'cancelled'), (2, 1, 'A', '2026-02-02', NULL)`)
		p := mustMake(t, d, parse(t, rich), nil)
		refused := p.Refused()
		if len(p.Steps) != 4 || len(refused) != 1 || refused[0].Rule != "user_email" || len(refused[0].Up)+len(refused[0].Down) != 0 {
			t.Fatalf("refused: %+v, want user_email only, without statements", refused)
		}
		found := refused[0].Refused.Duplicates
		want := &plan.Duplicates{Groups: 2, Rows: 4, Key: []string{"id"}, Samples: [][][]string{{{"4"}, {"5"}}, {{"1"}, {"2"}}}, Select: found.Select}
		if found.Samples[0][0][0] == "1" { // where NULL is sorted differs
			want.Samples[0], want.Samples[1] = want.Samples[1], want.Samples[0]
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("duplicates (-want +got):\n%s", diff)
		}
		rows, err := d.DB.QueryContext(t.Context(), found.Select)
		if err != nil {
			t.Fatalf("%v\n%s", err, found.Select)
		}
		defer rows.Close()
		n := 0
		for rows.Next() {
			n++
		}
		if n != 4 || rows.Err() != nil {
			t.Errorf("the SELECT shows %d rows, %v, want 4", n, rows.Err())
		}
	})
}

// What cannot be is refused with what to do instead.
func TestRefusals(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.PostgreSQL)
	d.Exec(t, schema(d.Dialect)...)
	d.Exec(t, "INSERT INTO seats (id, show_id, place) VALUES (1, NULL, 'A1')",
		"CREATE VIEW people AS SELECT * FROM users",
		"CREATE TABLE events (id integer, happened_on date) PARTITION BY RANGE (happened_on)",
		"CREATE TABLE meters (id integer, read_at timestamptz)")
	rule := func(table, scope, fields, more string) string {
		return "version: 1\nunique:\n  - name: r\n    says: One.\n    table: " + table + "\n    scope: " + scope + "\n    fields: " + fields + "\n" + more
	}
	for name, c := range map[string]struct{ file, why, fix string }{
		"table":     {rule("invoice", "[tenant_id]", "[number]", ""), "no table invoice", `did you mean "invoices"?`},
		"column":    {rule("invoices", "[tenantid]", "[number]", ""), "no column tenantid", `did you mean "tenant_id"?`},
		"exception": {rule("invoices", "[tenant_id]", "[number]", "    except: [deletd_at is set]\n"), "no column deletd_at", `did you mean "deleted_at"?`},
		"view":      {rule("people", "[tenant_id]", "[email]", ""), "is a view", "name the table"},
		"partition": {rule("events", "global", "[id]", ""), "partitioned by happened_on", "add the column"},
		"zone":      {rule("meters", "[id]", "[year(read_at)]", ""), "zone", "year(utc(read_at))"},
		"nulls":     {rule("seats", "[show_id]", "[place]", "    nulls: forbidden\n"), "1 rows of seats have no show_id", "give them a value"},
		"raw":       {rule("users", "[tenant_id]", `[{mysql: "lower(email)", columns: [email]}]`, ""), "not written for postgresql", "add postgresql:"},
	} {
		refused := mustMake(t, d, parse(t, c.file), nil).Refused()
		if len(refused) != 1 || !strings.Contains(refused[0].Refused.Why, c.why) || !strings.Contains(refused[0].Refused.Fix, c.fix) || refused[0].Line != 3 {
			t.Errorf("%s: %+v, want %q and %q", name, refused, c.why, c.fix)
			for _, r := range refused {
				t.Errorf("%s: %+v", name, *r.Refused)
			}
		}
	}
}
