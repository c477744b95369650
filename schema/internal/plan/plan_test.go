package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/internal/plan"
	"github.com/semel-dev/semel/schema/verify"
)

// schema makes the tables of the rich file. %[1]s is a type for times without a
// zone.
func schema(d dialect.Dialect) []string {
	times := map[dialect.Dialect]string{dialect.PostgreSQL: "timestamp", dialect.MySQL: "datetime", dialect.SQLite: "timestamp"}[d]
	return []string{
		`CREATE TABLE invoices (id integer PRIMARY KEY, tenant_id integer NOT NULL, number varchar(40) NOT NULL, issued_on date NOT NULL,
			status varchar(20), archived boolean, deleted_at ` + times + `, merged_into integer, note varchar(80))`,
		`CREATE TABLE users (id integer PRIMARY KEY, tenant_id integer, email varchar(120) NOT NULL)`,
		`CREATE TABLE imports (id integer PRIMARY KEY, source varchar(20), external_id varchar(60), parent_id integer)`,
		`CREATE TABLE seats (id integer PRIMARY KEY, show_id integer, place varchar(10))`,
	}
}

const rich = `version: 1
unique:
  - name: invoice_number
    says: One invoice number per tenant per year.
    table: invoices
    scope: [tenant_id]
    fields: [number, year(issued_on)]
    except: [deleted_at is set, merged_into is set, "status = 'cancelled'", archived is true]
  - name: user_email
    says: One user per e-mail address in a tenant.
    table: users
    scope: [tenant_id]
    fields: [lower(trim(email))]
    nulls: same
  - name: import_record
    says: One record per source and external id.
    table: imports
    scope: [source]
    fields: [external_id]
    nulls: distinct
  - name: import_child
    says: One external id below a parent, none counting as one.
    table: imports
    scope: [parent_id]
    fields: [external_id]
    nulls: same
`

func parse(t *testing.T, text string) *rules.File {
	t.Helper()
	file, err := rules.Parse("semel.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// apply runs the statements of a plan, one after the other on one connection.
func apply(t *testing.T, d *databases.Database, p *plan.Plan) {
	t.Helper()
	if refused := p.Refused(); len(refused) > 0 {
		t.Fatalf("refused: %+v", *refused[0].Refused)
	}
	for i := range p.Steps {
		run(t, d, p.Steps[i].Up)
	}
}

func run(t *testing.T, d *databases.Database, statements []plan.Statement) {
	t.Helper()
	conn, err := d.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range statements {
		if _, err := conn.ExecContext(t.Context(), s.SQL); err != nil {
			t.Fatalf("%s: %v\n%s", d.Dialect, err, s.SQL)
		}
	}
}

func mustMake(t *testing.T, d *databases.Database, file *rules.File, o *plan.Options) *plan.Plan {
	t.Helper()
	p, err := plan.Make(t.Context(), d.DB, d.Dialect, file, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// try tells for rows whether the database takes them, and takes them back.
func try(t *testing.T, d *databases.Database, table, columns string, rows ...string) (taken []bool) {
	t.Helper()
	tx, err := d.DB.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for i, row := range rows {
		exec := func(statement string) error {
			_, err := tx.ExecContext(t.Context(), statement)
			return err
		}
		noError(t, exec("SAVEPOINT row"))
		err := exec(fmt.Sprintf("INSERT INTO %s (id, %s) VALUES (%d, %s)", table, columns, 1000+i, row))
		if err != nil {
			if !isDuplicate(err) {
				t.Fatalf("%s: %v", row, err)
			}
			noError(t, exec("ROLLBACK TO SAVEPOINT row"))
		}
		taken = append(taken, err == nil)
	}
	return taken
}

func isDuplicate(err error) bool {
	text := err.Error()
	return strings.Contains(text, "23505") || strings.Contains(text, "1062") || strings.Contains(text, "UNIQUE constraint failed")
}

// After a plan, every rule of the file holds, and no more than that; the next
// plan is empty.
func TestPlanEnforces(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		d.Exec(t, schema(d.Dialect)...)
		enforces(t, d, nil)
	})
}

// An older PostgreSQL cannot say NULLS NOT DISTINCT; the pairs that replace it
// work in a newer one as well.
func TestPlanForOlderPostgreSQL(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.PostgreSQL)
	d.Exec(t, schema(d.Dialect)...)
	p := enforces(t, d, &plan.Options{Version: 14})
	if text := fmt.Sprint(p.Steps); strings.Contains(text, "NULLS NOT DISTINCT") {
		t.Errorf("PostgreSQL 14 does not know NULLS NOT DISTINCT: %s", text)
	}
}

func enforces(t *testing.T, d *databases.Database, o *plan.Options) *plan.Plan {
	t.Helper()
	file := parse(t, rich)
	p := mustMake(t, d, file, o)
	if len(p.Steps) != 4 || p.Enforced != 0 {
		t.Fatalf("%d steps and %d enforced, want 4 and 0", len(p.Steps), p.Enforced)
	}
	apply(t, d, p)
	for _, c := range []struct {
		table, columns string
		rows           []string
		want           []bool
	}{
		{
			"invoices", "tenant_id, number, issued_on, status, archived, deleted_at, merged_into",
			[]string{
				"1, 'A-1', '2026-05-04', 'sent', NULL, NULL, NULL",
				"1, 'A-1', '2026-12-31', NULL, false, NULL, NULL", // the same year
				"1, 'A-1', '2025-12-31', NULL, false, NULL, NULL",
				"2, 'A-1', '2026-05-04', NULL, false, NULL, NULL",
				"1, 'a-1', '2026-05-04', NULL, false, NULL, NULL", // another letter
				"1, 'A-1', '2026-05-04', 'cancelled', NULL, NULL, NULL",
				"1, 'A-1', '2026-05-04', NULL, true, NULL, NULL",
				"1, 'A-1', '2026-05-04', NULL, NULL, '2026-05-05 00:00:00', NULL",
				"1, 'A-1', '2026-05-04', NULL, NULL, NULL, 7",
			},
			[]bool{true, false, true, true, true, true, true, true, true},
		},
		{
			"users", "tenant_id, email",
			[]string{"1, 'zoe@example.com'", "1, ' Zoe@Example.com '", "2, 'zoe@example.com'", "NULL, 'zoe@example.com'", "NULL, 'ZOE@example.com'", "0, 'zoe@example.com'"},
			[]bool{true, false, true, true, false, true},
		},
		{
			"imports", "source, external_id, parent_id",
			[]string{"'crm', '1', 1", "'crm', '1', 2", "'erp', '1', 3", "NULL, '1', 4", "NULL, '1', 5", "'pos', NULL, 6", "'pos', NULL, 7"},
			[]bool{true, false, true, true, true, true, true},
		},
		{
			"imports", "parent_id, external_id",
			[]string{"1, 'x'", "1, 'x'", "NULL, 'x'", "NULL, 'x'", "0, 'x'", "1, NULL", "1, NULL", "1, ''", "NULL, NULL", "NULL, NULL", "0, ''"},
			[]bool{true, false, true, false, true, true, false, true, true, false, true},
		},
	} {
		if diff := cmp.Diff(c.want, try(t, d, c.table, c.columns, c.rows...)); diff != "" {
			t.Errorf("%s: rows that the database takes (-want +got):\n%s", c.table, diff)
		}
	}
	if again := mustMake(t, d, file, o); len(again.Steps) != 0 || again.Enforced != 4 {
		t.Errorf("the second plan has %d steps: %+v", len(again.Steps), again.Steps)
	}
	report, err := verify.Verify(t.Context(), d.DB, d.Dialect, file, nil)
	if err != nil || !report.Clean() {
		t.Errorf("verify does not find what plan made: %v, %+v", err, report)
	}
	for i := range p.Steps {
		run(t, d, p.Steps[i].Down)
	}
	if undone := mustMake(t, d, file, o); len(undone.Steps) != 4 {
		t.Errorf("after the undo %d rules want a step, want 4", len(undone.Steps))
	}
	return p
}
