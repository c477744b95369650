package draft_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/internal/draft"
	"github.com/semel-dev/semel/schema/internal/plan"
	"github.com/semel-dev/semel/schema/verify"
)

var noError = claimtest.NoError

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
		noError(t, err)
		guessed := slices.DeleteFunc(slices.Clone(report.Findings), func(f verify.Finding) bool { return f.Code != "missing_index" })
		if len(report.Findings) != made.Guesses || len(guessed) != made.Guesses {
			t.Errorf("verify: %+v, want that %d guesses have no index, and nothing else", report, made.Guesses)
		}
		planned, err := plan.Make(t.Context(), d.DB, d.Dialect, file, nil)
		if err != nil || len(planned.Steps) != made.Guesses {
			t.Errorf("plan: %v, %+v, want a step for each of %d guesses", err, planned, made.Guesses)
		}
		if len(file.Unique) != made.Rules || made.Rules <= made.Guesses {
			t.Errorf("%d rules, and the draft says %d, %d of them guesses", len(file.Unique), made.Rules, made.Guesses)
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

// The way from init over verify to plan, in a database that has duplicates and enforces nothing: the draft loads and counts
// them, verify and plan name them, and when they are gone the plan's statements make verify content.
func TestWayFromInitToPlan(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		d.Exec(t, `CREATE TABLE customers (id integer PRIMARY KEY, tenant_id integer NOT NULL, email varchar(60) NOT NULL, code varchar(20))`,
			`CREATE TABLE countries (code varchar(2) PRIMARY KEY, name varchar(20))`, `CREATE TABLE regions (code varchar(9) PRIMARY KEY, name varchar(20))`,
			`INSERT INTO customers VALUES (1, 1, 'ann@example.org', 'A'), (2, 1, 'ann@example.org', 'B'), (3, 2, 'ann@example.org', NULL)`)
		made, err := draft.Make(t.Context(), d.DB, d.Dialect)
		noError(t, err)
		if made.Rules != 4 || made.Guesses != 2 || made.Comments != 0 || !strings.Contains(
			strings.ReplaceAll(string(made.Text), "\n  # ", " "), "customers has 1 group of rows that are the same by the rule, 2 rows in all, such as those with id 1 and 2: merge") {
			t.Errorf("%+v, want two rules, two guesses and one group of duplicates, by its keys:\n%s", made, made.Text)
		}
		file, err := rules.Parse("semel.yaml", made.Text)
		noError(t, err)
		findings := func() (codes []string) {
			report, err := verify.Verify(t.Context(), d.DB, d.Dialect, file, nil)
			noError(t, err)
			for _, f := range report.Findings {
				codes = append(codes, f.Rule+" "+string(f.Code))
			}
			slices.Sort(codes)
			return codes
		}
		if diff := cmp.Diff([]string{"customers_code missing_index", "customers_email duplicates", "customers_email missing_index"}, findings()); diff != "" {
			t.Errorf("verify (-want +got):\n%s", diff)
		}
		planned, err := plan.Make(t.Context(), d.DB, d.Dialect, file, nil)
		noError(t, err)
		if refused := planned.Refused(); len(refused) != 1 || refused[0].Refused.Duplicates == nil || refused[0].Refused.Duplicates.Groups != 1 {
			t.Errorf("plan: %+v, want one rule refused for one group of duplicates", planned)
		}
		d.Exec(t, "DELETE FROM customers WHERE id = 2")
		planned, err = plan.Make(t.Context(), d.DB, d.Dialect, file, nil)
		noError(t, err)
		for _, step := range planned.Steps {
			for _, statement := range step.Up {
				d.Exec(t, statement.SQL)
			}
		}
		if left := findings(); left != nil {
			t.Errorf("after the plan verify finds %v", left)
		}
	})
}

// A rule that another one kept out of the file comes back when that one turns out to be none.
func TestDraftTriesAgain(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.PostgreSQL)
	d.Exec(t, `CREATE TABLE notes (slug text NOT NULL, CONSTRAINT first UNIQUE (slug) DEFERRABLE)`, `CREATE UNIQUE INDEX second ON notes (slug)`)
	made, err := draft.Make(t.Context(), d.DB, d.Dialect)
	noError(t, err)
	if made.Rules != 1 || !strings.Contains(string(made.Text), "\n  - name: second\n") {
		t.Errorf("the draft has no rule for the second index:\n%s", made.Text)
	}
}

// MySQL has a PRIMARY in every table, whose texts compare as the collation does. An engine without transactions is a
// remark, and ends no rule.
func TestDraftOfMySQLKeys(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.MySQL)
	d.Exec(t, `CREATE TABLE tags (code varchar(20) PRIMARY KEY) ENGINE=MyISAM`, `CREATE TABLE places (code varchar(20) PRIMARY KEY)`)
	made, err := draft.Make(t.Context(), d.DB, d.Dialect)
	noError(t, err)
	if made.Rules != 2 || made.Comments != 0 {
		t.Errorf("%d rules, %d comments, want 2 and none:\n%s", made.Rules, made.Comments, made.Text)
	}
	for _, want := range []string{"\n  - name: tags_code\n", "\n  - name: places_code\n", "  # tags has the engine MyISAM", "fields: [collated(code)]"} {
		if !strings.Contains(string(made.Text), want) {
			t.Errorf("the draft has no %q:\n%s", want, made.Text)
		}
	}
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
