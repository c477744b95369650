package draft_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/draft"
	"github.com/semel-dev/semel/internal/rules/plan"
	"github.com/semel-dev/semel/internal/rules/verify"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/rules"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}

func postgresSchema() []string {
	return []string{
		`CREATE TABLE tenants (id bigserial PRIMARY KEY, name text, slug text UNIQUE)`,
		`CREATE TABLE invoices (id bigserial PRIMARY KEY, tenant_id bigint NOT NULL REFERENCES tenants, number text NOT NULL, issued_on date NOT NULL,
			status text, archived boolean, deleted_at timestamptz, merged_into bigint, reference text)`,
		`CREATE UNIQUE INDEX invoices_number ON invoices (tenant_id, number, (extract(year FROM issued_on)))
			WHERE deleted_at IS NULL AND merged_into IS NULL AND status IS DISTINCT FROM 'cancelled' AND archived IS NOT TRUE`,
		`CREATE TABLE invoice_lines (invoice_id bigint REFERENCES invoices, line_no integer, PRIMARY KEY (invoice_id, line_no))`,
		`CREATE TABLE users (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), tenant_id bigint, email text NOT NULL, phone_number text)`,
		`CREATE UNIQUE INDEX "Users Email" ON users (lower(btrim(email)))`,
		`CREATE TABLE imports (import_source text, external_id text, part integer, UNIQUE NULLS NOT DISTINCT (import_source, external_id, part))`,
		`CREATE TABLE jobs (id serial PRIMARY KEY, name text, state text, queue text, starts_at timestamptz)`,
		`CREATE UNIQUE INDEX jobs_active ON jobs (queue) WHERE state = 'active'`,
		`CREATE UNIQUE INDEX jobs_start ON jobs (queue, (date_trunc('hour', starts_at AT TIME ZONE 'UTC')))`,
		`CREATE TABLE persons (id serial PRIMARY KEY, name text UNIQUE)`,
		`CREATE TABLE events (tenant_id integer NOT NULL, code text NOT NULL) PARTITION BY LIST (tenant_id)`,
		`CREATE TABLE events_1 PARTITION OF events FOR VALUES IN (1)`,
		`CREATE UNIQUE INDEX events_code ON events (tenant_id, code)`,
		`CREATE TABLE schema_migrations (version text UNIQUE)`,
		`CREATE TABLE "Order" ("User" bigint NOT NULL, "select" text NOT NULL, UNIQUE ("User", "select"))`,
	}
}

func mysqlSchema() []string {
	return []string{
		`CREATE TABLE tenants (id bigint AUTO_INCREMENT PRIMARY KEY, name varchar(80), slug varchar(80) COLLATE utf8mb4_bin, UNIQUE (slug))`,
		`CREATE TABLE invoices (id bigint AUTO_INCREMENT PRIMARY KEY, tenant_id bigint NOT NULL REFERENCES tenants (id), number varchar(40) COLLATE utf8mb4_bin NOT NULL,
			issued_on date NOT NULL, deleted_at datetime, reference varchar(40),
			issued_year int AS (year(issued_on)) VIRTUAL, live tinyint AS (CASE WHEN deleted_at IS NULL THEN 1 END) VIRTUAL,
			UNIQUE INDEX invoices_number (tenant_id, number, issued_year, live))`,
		`CREATE TABLE users (id bigint AUTO_INCREMENT PRIMARY KEY, tenant_id bigint, email varchar(120) NOT NULL, login varchar(40) COLLATE utf8mb4_bin,
			folded varchar(120) COLLATE utf8mb4_bin AS (lower(trim(email))) VIRTUAL, tenant bigint AS (coalesce(tenant_id, 0)) VIRTUAL,
			UNIQUE users_email (tenant, folded), UNIQUE users_login (login(10)))`,
		`CREATE TABLE currencies (code char(3) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY)`,
		`CREATE TABLE parts (day date NOT NULL, code varchar(20) COLLATE utf8mb4_bin NOT NULL, UNIQUE parts_code (code, day))
			PARTITION BY RANGE (year(day)) (PARTITION p0 VALUES LESS THAN (2026), PARTITION p1 VALUES LESS THAN MAXVALUE)`,
		`CREATE TABLE loose (id bigint AUTO_INCREMENT PRIMARY KEY, code varchar(40) COLLATE utf8mb4_general_ci UNIQUE)`,
	}
}

func sqliteSchema() []string {
	return []string{
		`CREATE TABLE tenants (id integer PRIMARY KEY, name text, slug text UNIQUE)`,
		`CREATE TABLE invoices (id integer PRIMARY KEY, tenant_id integer NOT NULL REFERENCES tenants, number text NOT NULL, issued_on text NOT NULL, deleted_at text, reference text)`,
		`CREATE UNIQUE INDEX invoices_number ON invoices (tenant_id, number, CAST(strftime('%Y', issued_on) AS INTEGER)) WHERE deleted_at IS NULL`,
		`CREATE TABLE users (id integer PRIMARY KEY, tenant_id integer, email text NOT NULL, login text COLLATE NOCASE)`,
		`CREATE TABLE shelves (slug text UNIQUE COLLATE NOCASE)`,
		`CREATE UNIQUE INDEX users_email ON users (coalesce(tenant_id, 0), (tenant_id IS NULL), lower(trim(email)))`,
		`CREATE UNIQUE INDEX users_login ON users (login)`,
		`CREATE TABLE pairs (left_key text, right_key text, PRIMARY KEY (left_key, right_key)) WITHOUT ROWID`,
	}
}

// A draft says what the database enforces, loads, and verifies without a
// finding. The texts are golden: SEMEL_UPDATE_GOLDEN=1 writes them anew.
func TestDraftVerifies(t *testing.T) {
	t.Parallel()
	schemas := map[dialect.Dialect][]string{dialect.PostgreSQL: postgresSchema(), dialect.MySQL: mysqlSchema(), dialect.SQLite: sqliteSchema()}
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		d.Exec(t, schemas[d.Dialect]...)
		made, err := draft.Make(t.Context(), d.DB, d.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		file, err := rules.Parse("semel.yaml", made.Text)
		if err != nil {
			t.Fatalf("%v\n%s", err, made.Text)
		}
		report, err := verify.Verify(t.Context(), d.DB, d.Dialect, file, nil)
		if err != nil || len(report.Findings) > 0 {
			t.Errorf("verify: %v, %+v", err, report)
		}
		planned, err := plan.Make(t.Context(), d.DB, d.Dialect, file, nil)
		if err != nil || len(planned.Steps) > 0 {
			t.Errorf("plan: %v, %+v, want nothing to do", err, planned)
		}
		if len(file.Unique) != made.Rules || made.Rules == 0 {
			t.Errorf("%d rules, and the draft says %d", len(file.Unique), made.Rules)
		}
		path := filepath.Join("testdata", d.Dialect.String()+".yaml")
		if os.Getenv("SEMEL_UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, made.Text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(made.Text)); diff != "" {
			t.Errorf("the draft (-want +got):\n%s", diff)
		}
	})
}

// Of two indexes that enforce the same, one makes a rule, and the draft says
// that there is another.
func TestDraftOfSameIndexTwice(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.SQLite)
	d.Exec(t, `CREATE TABLE users (tenant_id integer NOT NULL, email text NOT NULL)`,
		`CREATE UNIQUE INDEX first ON users (tenant_id, lower(email))`,
		`CREATE UNIQUE INDEX second ON users (tenant_id, email COLLATE NOCASE)`)
	made, err := draft.Make(t.Context(), d.DB, d.Dialect)
	if err != nil || made.Rules != 1 {
		t.Fatalf("%+v, %v, want one rule", made, err)
	}
	for _, want := range []string{"\n  # second enforces the same as first: drop one of them\n  - name: first\n", "rule \"second\" says what rule \"first\" says"} {
		if !strings.Contains(string(made.Text), want) {
			t.Errorf("the draft does not have %q:\n%s", want, made.Text)
		}
	}
}

// An empty database gives a file that loads.
func TestDraftOfNothing(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.SQLite)
	made, err := draft.Make(t.Context(), d.DB, d.Dialect)
	if err != nil || made.Rules != 0 {
		t.Fatalf("%d rules, %v, want none", made.Rules, err)
	}
	if _, err := rules.Parse("semel.yaml", made.Text); err != nil {
		t.Errorf("%v\n%s", err, made.Text)
	}
}
