package verify_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/sqltext"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/verify"
)

// fixture is a schema with rules, and what is found for each dialect that it is
// for. A file has rules.yaml; schema.sql for all dialects, or postgresql.sql,
// mysql.sql and sqlite.sql; queries.sql; and want, or want.mysql and so on, with
// a code on each line.
type fixture struct {
	name, about string
	files       map[string]string
}

// fixtures reads a folder, in the order of names.
func fixtures(tb testing.TB, folder string) []fixture {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(names) == 0 {
		tb.Fatalf("no fixtures in %s: %v", folder, err)
	}
	var all []fixture
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		f := fixture{strings.TrimSuffix(filepath.Base(name), ".txtar"), strings.TrimSpace(string(archive.Comment)), map[string]string{}}
		for _, file := range archive.Files {
			f.files[file.Name] = string(file.Data)
		}
		all = append(all, f)
	}
	return all
}

// schema is the text for a dialect, or "" when the fixture is not for it.
func (f *fixture) schema(d dialect.Dialect) string {
	text, ok := f.files[d.String()+".sql"]
	if !ok {
		text = f.files["schema.sql"]
	}
	words := map[dialect.Dialect][]string{
		dialect.PostgreSQL: {"{serial}", "bigserial PRIMARY KEY", "{text}", "text", "{loose}", "citext", "{time}", "timestamp"},
		dialect.MySQL: {
			"{serial}", "bigint PRIMARY KEY AUTO_INCREMENT", "{text}", "varchar(60) COLLATE utf8mb4_bin",
			"{loose}", "varchar(60) COLLATE utf8mb4_general_ci", "{time}", "datetime",
		},
		dialect.SQLite: {"{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{text}", "TEXT", "{loose}", "TEXT COLLATE NOCASE", "{time}", "TEXT"},
	}
	if d == dialect.PostgreSQL && strings.Contains(text, "{loose}") {
		text = "CREATE EXTENSION citext;\n" + text
	}
	return strings.NewReplacer(words[d]...).Replace(text)
}

// want are the codes for a dialect, sorted.
func (f *fixture) want(d dialect.Dialect) []string {
	text, ok := f.files["want."+d.String()]
	if !ok {
		text = f.files["want"]
	}
	return slices.Sorted(slices.Values(strings.Fields(text)))
}

// rules reads the rules of the fixture.
func (f *fixture) rules(tb testing.TB) *rules.File {
	tb.Helper()
	file, err := rules.Parse("semel.yaml", []byte(f.files["rules.yaml"]))
	if err != nil {
		tb.Fatalf("%s: %v", f.name, err)
	}
	return file
}

// pool holds a few databases of PostgreSQL, which takes long to make one: a test
// takes one, and leaves it empty.
type pool chan *databases.Database

func openPool(t *testing.T) pool {
	t.Helper()
	const size = 4
	p := make(pool, size)
	for range size {
		p <- databases.Open(t, dialect.PostgreSQL)
	}
	return p
}

func (p pool) open(t *testing.T, d dialect.Dialect) *databases.Database {
	t.Helper()
	if d != dialect.PostgreSQL {
		return databases.Open(t, d)
	}
	db := <-p
	t.Cleanup(func() {
		_, err := db.DB.ExecContext(context.WithoutCancel(t.Context()),
			"DROP FOREIGN DATA WRAPPER IF EXISTS w CASCADE; DROP SCHEMA IF EXISTS billing CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public")
		if err != nil {
			t.Error(err)
		}
		p <- db
	})
	return db
}

// run makes the schema and verifies the rules.
func (f *fixture) run(t *testing.T, db *databases.Database) *verify.Report {
	t.Helper()
	d := db.Dialect
	text := f.schema(d)
	tokens, err := sqltext.Scan(d, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range sqltext.Split(tokens, ";") {
		if len(statement) > 0 {
			db.Exec(t, sqltext.Source(text, statement))
		}
	}
	var options verify.Options
	if queries, ok := f.files["queries.sql"]; ok {
		options.SQL = []verify.SQLFile{{Name: "queries.sql", Text: queries}}
	}
	report, err := verify.Verify(t.Context(), db.DB, d, f.rules(t), &options)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Every defect of every wrong schema is found, and nothing else is; right
// schemas have no findings at all.
func TestFixtures(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	for _, folder := range []string{"wrong", "right"} {
		for _, f := range fixtures(t, folder) {
			for _, d := range dialect.All() {
				if f.schema(d) == "" {
					continue
				}
				t.Run(folder+"/"+f.name+"/"+d.String(), func(t *testing.T) {
					t.Parallel()
					report := f.run(t, pool.open(t, d))
					var got []string
					for i := range report.Findings {
						got = append(got, string(report.Findings[i].Code))
						checkFinding(t, &report.Findings[i])
					}
					slices.Sort(got)
					if diff := cmp.Diff(f.want(d), got); diff != "" || (folder == "wrong") != (len(got) > 0) {
						t.Errorf("codes (-want +got):\n%s", diff)
						for i := range report.Findings {
							t.Log(report.Findings[i].String())
						}
					}
					if len(report.Unread) > 0 {
						t.Errorf("unread: %+v", report.Unread)
					}
				})
			}
		}
	}
}

// checkFinding checks what every finding must have.
func checkFinding(t *testing.T, f *verify.Finding) {
	t.Helper()
	if f.Rule == "" || f.Table == "" || f.Line < 1 || f.File == "" || f.Message == "" || f.Fix == "" || f.Severity == "" {
		t.Errorf("the finding is not complete: %+v", f)
	}
	for _, value := range []string{"A-1", "a1", "example.com"} {
		if strings.Contains(f.Message+f.Fix, value) {
			t.Errorf("the finding has a value of a row: %s", f.String())
		}
	}
}

// Each dialect has the thirty wrong schemas that were asked for, and each code
// has a schema that shows it.
func TestFixturesAreMany(t *testing.T) {
	t.Parallel()
	shown := make(map[string]bool)
	for _, d := range dialect.All() {
		count := 0
		for _, f := range fixtures(t, "wrong") {
			if f.schema(d) == "" {
				continue
			}
			count++
			for _, code := range f.want(d) {
				shown[code] = true
			}
		}
		if count < 30 {
			t.Errorf("%s has %d wrong schemas, want 30", d, count)
		}
	}
	for _, about := range verify.Codes() {
		if !shown[string(about.Code)] && about.Code != "unsearched" { // which needs options
			t.Errorf("no wrong schema shows %s", about.Code)
		}
	}
}
