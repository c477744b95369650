package verify_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/verify"
)

const numberRule = `version: 1
unique:
  - name: invoice_number
    says: One invoice number per tenant.
    table: invoices
    scope: [tenant_id]
    fields: [number]
`

func ExampleVerify() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, `CREATE TABLE invoices (id INTEGER PRIMARY KEY, tenant_id INTEGER NOT NULL, number TEXT NOT NULL);
		CREATE UNIQUE INDEX invoice_number ON invoices (number)`); err != nil {
		fmt.Println(err)
		return
	}
	file, err := rules.Parse("semel.yaml", []byte(numberRule))
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := verify.Verify(ctx, db, dialect.SQLite, file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range report.Findings {
		fmt.Println(f.Code, f.Line, f.Message)
	}
	fmt.Println(report.Clean(), report.Errors())
	// Output:
	// wider 3 invoice_number is on (number) without tenant_id, and refuses rows that the rule allows
	// false 1
}

func ExampleLoadSQL() {
	_, err := verify.LoadSQL("testdata/none/*.sql")
	fmt.Println(err)
	// Output:
	// verify: no file matches "testdata/none/*.sql" (quote it, so that the shell leaves it alone)
}

func ExampleReport_Table() {
	report := verify.Report{Findings: []verify.Finding{{
		Code: "weak_column", Severity: verify.Warning, Rule: "customer", Table: "customers", File: "semel.yaml", Line: 3,
		Message: "names repeat", Fix: "name a number",
	}}}
	head, rows := report.Table()
	fmt.Println(strings.Join(head, " | "))
	fmt.Println(strings.Join(rows[0], " | "))
	// Output:
	// where | rule | table | found | what it is | what to do
	// semel.yaml:3 | customer | customers | weak_column (warning) | names repeat | name a number
}

func parse(t *testing.T, text string) *rules.File {
	t.Helper()
	file, err := rules.Parse("semel.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func run(t *testing.T, db *databases.Database, options *verify.Options) *verify.Report {
	t.Helper()
	report, err := verify.Verify(t.Context(), db.DB, db.Dialect, parse(t, numberRule), options)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func codes(report *verify.Report) []verify.Code {
	var all []verify.Code
	for i := range report.Findings {
		all = append(all, report.Findings[i].Code)
	}
	return all
}

// invoices is a table with three sets of duplicates in seven rows.
func invoices(t *testing.T, db *databases.Database) {
	t.Helper()
	id := map[dialect.Dialect]string{
		dialect.PostgreSQL: "bigint PRIMARY KEY", dialect.MySQL: "bigint PRIMARY KEY", dialect.SQLite: "INTEGER PRIMARY KEY",
	}[db.Dialect]
	db.Exec(t, "CREATE TABLE invoices (id "+id+", tenant_id bigint NOT NULL, number varchar(20) NOT NULL)",
		"INSERT INTO invoices VALUES (1, 1, 'a'), (2, 1, 'a'), (3, 1, 'b'), (4, 1, 'b'), (5, 1, 'b'), (6, 2, 'a'), (7, 2, 'a')")
}

// TestProgress: a caller that waits learns how far the search is.
func TestProgress(t *testing.T) {
	t.Parallel()
	db := databases.Open(t, dialect.SQLite)
	invoices(t, db)
	var told []string
	run(t, db, &verify.Options{Progress: func(done, all int, rule string) { told = append(told, fmt.Sprint(done, "/", all, " ", rule)) }})
	if diff := cmp.Diff([]string{"0/1 invoice_number", "1/1 "}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestDuplicatesAreCounted(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, db *databases.Database) {
		invoices(t, db)
		report := run(t, db, nil)
		if diff := cmp.Diff([]verify.Code{"missing_index", "duplicates"}, codes(report)); diff != "" {
			t.Fatalf("codes (-want +got):\n%s", diff)
		}
		want := &verify.Groups{Count: 3, Rows: 7, Sample: [][2]string{{"1", "2"}, {"3", "5"}, {"6", "7"}}}
		got := report.Findings[1].Duplicates
		sortSample(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("groups (-want +got):\n%s", diff)
		}
		// The query in the fix shows just those.
		_, statement, _ := strings.Cut(report.Findings[1].Fix, ": ")
		rows, err := db.DB.QueryContext(t.Context(), statement)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		defer rows.Close()
		count := 0
		for rows.Next() {
			count++
		}
		if err := rows.Err(); err != nil || count != 3 {
			t.Errorf("%s: %d rows, %v, want 3", statement, count, err)
		}
	})
}

func sortSample(g *verify.Groups) {
	for i := range g.Sample {
		for j := range i {
			if g.Sample[i][0] < g.Sample[j][0] {
				g.Sample[i], g.Sample[j] = g.Sample[j], g.Sample[i]
			}
		}
	}
}

// No more rows are searched than allowed, and the report says so.
func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, db *databases.Database) {
		invoices(t, db)
		if diff := cmp.Diff([]verify.Code{"missing_index", "unsearched"}, codes(run(t, db, &verify.Options{MaxRows: 1}))); diff != "" {
			t.Errorf("codes with one row (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]verify.Code{"missing_index"}, codes(run(t, db, &verify.Options{MaxRows: -1}))); diff != "" {
			t.Errorf("codes without rows (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]verify.Code{"missing_index", "unsearched"}, codes(run(t, db, &verify.Options{Timeout: time.Nanosecond}))); diff != "" {
			t.Errorf("codes without time (-want +got):\n%s", diff)
		}
	})
}

// A primary key that is a text can be personal, and is not shown.
func TestSampleHasNoTexts(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, db *databases.Database) {
		db.Exec(t, "CREATE TABLE invoices (email varchar(40) PRIMARY KEY, tenant_id bigint NOT NULL, number varchar(20) NOT NULL)",
			"INSERT INTO invoices VALUES ('ada@example.com', 1, 'secret'), ('bob@example.com', 1, 'secret')")
		text, err := json.Marshal(run(t, db, nil))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "example.com") || strings.Contains(string(text), "secret") || !strings.Contains(string(text), `"code":"duplicates"`) {
			t.Errorf("report: %s", text)
		}
	})
}

// Verify changes nothing, not even where it is let.
func TestVerifyOnlyReads(t *testing.T) {
	t.Parallel()
	db := databases.Open(t, dialect.PostgreSQL)
	invoices(t, db)
	db.Exec(t, "CREATE FUNCTION spoil() RETURNS text LANGUAGE plpgsql AS $$ BEGIN DELETE FROM invoices; RETURN ''; END $$")
	config := strings.ReplaceAll(numberRule, "[number]", `[{columns: [number], postgresql: "number || spoil()"}]`)
	_, err := verify.Verify(t.Context(), db.DB, db.Dialect, parse(t, config), nil)
	if err == nil || !strings.Contains(err.Error(), "read-only transaction") {
		t.Errorf("got %v, want that the transaction is read-only", err)
	}
}

// A user without rights learns which to get, and the password stays out of it.
func TestVerifyWithoutRights(t *testing.T) {
	t.Parallel()
	db := databases.Open(t, dialect.PostgreSQL)
	invoices(t, db)
	var name string
	if err := db.DB.QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	role := name + "_poor"
	db.Exec(t, "CREATE ROLE "+role+" LOGIN PASSWORD 'swordfish'")
	t.Cleanup(func() { _, _ = db.DB.ExecContext(context.WithoutCancel(t.Context()), "DROP ROLE "+role) })
	poor, err := sql.Open("pgx", strings.Replace(db.DSN, "postgres@", role+":swordfish@", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer poor.Close()
	_, err = verify.Verify(t.Context(), poor, db.Dialect, parse(t, numberRule), nil)
	if err == nil || !strings.Contains(err.Error(), "GRANT SELECT") || strings.Contains(err.Error(), "swordfish") {
		t.Errorf("got %v, want what to grant", err)
	}
}

func TestVerifyWithoutRightsMySQL(t *testing.T) {
	t.Parallel()
	db := databases.Open(t, dialect.MySQL)
	invoices(t, db)
	config, err := mysql.ParseDSN(strings.TrimPrefix(db.DSN, "mysql:"))
	if err != nil {
		t.Fatal(err)
	}
	user := "v" + config.DBName[len(config.DBName)-12:]
	db.Exec(t, "CREATE USER "+user, "GRANT INSERT ON `"+config.DBName+"`.* TO "+user)
	t.Cleanup(func() { _, _ = db.DB.ExecContext(context.WithoutCancel(t.Context()), "DROP USER "+user) })
	config.User, config.Passwd = user, ""
	poor, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer poor.Close()
	_, err = verify.Verify(t.Context(), poor, db.Dialect, parse(t, numberRule), nil)
	if err == nil || !strings.Contains(err.Error(), "GRANT SELECT") {
		t.Errorf("got %v, want what to grant", err)
	}
}

// A database that is not there is an error, and no report.
func TestVerifyUnreachable(t *testing.T) {
	t.Parallel()
	db := databases.Open(t, dialect.SQLite)
	if err := db.DB.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := verify.Verify(t.Context(), db.DB, db.Dialect, parse(t, numberRule), nil); err == nil {
		t.Errorf("got %+v, want an error", report)
	}
	if _, err := verify.Verify(t.Context(), db.DB, db.Dialect, nil, nil); err == nil {
		t.Error("a missing file was accepted")
	}
}

// SQL that cannot be read is reported with its line; the rest is judged.
func TestUnreadSQL(t *testing.T) {
	t.Parallel()
	for d, want := range map[dialect.Dialect][]string{
		dialect.PostgreSQL: {"2 a template", "3 SQL that is put together", "6 SQL that is put together", "8 a quote that does not end"},
		dialect.MySQL:      {"2 a template", "3 SQL that is put together", "7 a comment that some servers run"},
		dialect.SQLite:     {"2 a template", "3 SQL that is put together", "6 SQL that is put together", "8 a quote that does not end"},
	} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			db := databases.Open(t, d)
			invoices(t, db)
			text := "SELECT 1;\nINSERT INTO {{ .Table }} VALUES (1);\nEXECUTE 'INSERT INTO x';\n" +
				"CREATE TABLE z (a int); \n\n/* */ EXECUTE format(1) ;\n/*!40101 SET x */ INSERT INTO invoices VALUES (1);\nSELECT 'a"
			if d == dialect.MySQL {
				text = strings.Replace(text, "EXECUTE format(1)", "SELECT 1", 1)
			}
			report := run(t, db, &verify.Options{SQL: []verify.SQLFile{{Name: "q.sql", Text: text}}})
			var got []string
			for _, u := range report.Unread {
				why, _, _ := strings.Cut(u.Why, " when")
				why, _, _ = strings.Cut(why, ",")
				why, _, _ = strings.Cut(why, " (")
				got = append(got, fmt.Sprint(u.Line, " ", why))
			}
			if diff := cmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
				t.Errorf("unread (-want +got):\n%s", diff)
			}
			if report.Clean() {
				t.Error("what is unread is called clean")
			}
		})
	}
}
