package vet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/vet"
)

// stub is a module of others, of which a folder of testdata has the signatures.
type stub struct {
	path, folder string
	files        []string
}

// module writes a module with these files and what it needs of others, and returns its folder.
func module(t *testing.T, files map[string]string, needs ...stub) string {
	t.Helper()
	folder := t.TempDir()
	files["go.mod"] = "module example.com/m\n\ngo 1.26\n"
	for i, s := range needs {
		own := fmt.Sprintf("needs%d/", i)
		files["go.mod"] += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => ./%s\n", s.path, s.path, own)
		files[own+"go.mod"] = "module " + s.path + "\n\ngo 1.26\n"
		for _, name := range s.files {
			text, err := os.ReadFile(filepath.Join("../../lint/internal", s.folder, name))
			if err != nil {
				t.Fatal(err)
			}
			files[own+name] = string(text)
		}
	}
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const header = "package m\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n\t\"fmt\"\n)\n\n"

// The examples of docs/lint.md get the verdicts that it says.
func TestDocs(t *testing.T) {
	t.Parallel()
	ddl, code := example(t, "## Go sources")
	folder := module(t, map[string]string{"m.go": header + code, "schema/schema.sql": ddl})
	judged(t, folder, header+code, 7, &lint.Options{Dialect: "postgresql", Schema: []string{filepath.Join(folder, "schema")}})
}

// So do those of GORM, in every dialect.
func TestDocsORM(t *testing.T) {
	t.Parallel()
	_, code := example(t, "### GORM")
	code = "package m\n\nimport (\n\t\"time\"\n\n\t\"gorm.io/gorm\"\n\t\"gorm.io/gorm/clause\"\n)\n\n" + code
	folder := module(t, map[string]string{"m.go": code}, stub{"gorm.io/gorm", "gosql/testdata/src/gorm.io/gorm", []string{"gorm.go", "clause/clause.go"}})
	for _, dialect := range []string{"postgresql", "mysql", "sqlite"} {
		judged(t, folder, code, 12, &lint.Options{Dialect: dialect, Models: true})
	}
}

// example returns the schema of docs/lint.md, and the first program below a heading.
func example(t *testing.T, heading string) (ddl, code string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "schema in PostgreSQL, and the like of it in the others:\n\n```sql\n")
	ddl, _, _ = strings.Cut(rest, "```")
	_, rest, _ = strings.Cut(string(page), heading+"\n")
	_, rest, _ = strings.Cut(rest, "```go\n")
	code, _, _ = strings.Cut(rest, "```")
	return ddl, code
}

// judged fails unless the statements of m.go have the verdicts of the comments behind them, of which there are some.
func judged(t *testing.T, folder, code string, least int, o *lint.Options) {
	t.Helper()
	found, err := vet.Run(t.Context(), []string{filepath.Join(folder, "m.go")}, o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]string{}
	for _, f := range found {
		got[f.Line] = fmt.Sprintf("%s: %s", f.Verdict, f.Rule)
		if f.Answer != "" {
			got[f.Line] += ", answered"
		}
	}
	wanted := 0
	for i, line := range strings.Split(code, "\n") {
		if m := regexp.MustCompile(`// ((?:safe|safe apart from a timestamp|not safe|cannot tell): .*)$`).FindStringSubmatch(line); m != nil {
			wanted++
			if got[i+1] != m[1] {
				t.Errorf("%s, %s: got %q", o.Dialect, strings.TrimSpace(line), got[i+1])
			}
		}
	}
	if wanted < least {
		t.Errorf("%d examples were found", wanted)
	}
}

// A package that does not compile, and one that imports it, are findings; so is every statement of the others. Files of SQL are
// judged next to them, tests are not.
func TestRun(t *testing.T) {
	t.Parallel()
	use := "package %s\n\nimport \"database/sql\"\n\nfunc f(db *sql.DB) { db.Exec(\"UPDATE t SET n = n + 1\") }\n"
	folder := module(t, map[string]string{
		"broken/a.go": "package broken\n\nfunc F() int { return \"\" }\n",
		"user/a.go":   "package user\n\nimport (\n\t\"database/sql\"\n\t\"example.com/m/broken\"\n)\n\nfunc f(db *sql.DB) { db.Exec(\"DELETE FROM t\"); broken.F() }\n",
		"good/a.go":   fmt.Sprintf(use, "good"), "good/b.sql": "UPDATE t SET n = n + 1;\n", "good/a_test.go": fmt.Sprintf(use, "good_test"),
		"other/go.mod": "module example.com/other\n\ngo 1.26\n", "other/a.go": fmt.Sprintf(use, "other"),
	})
	found, err := vet.Run(t.Context(), []string{folder}, &lint.Options{Dialect: "sqlite"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		name, err := filepath.Rel(folder, filepath.FromSlash(f.File))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s:%d %s %s", filepath.ToSlash(name), f.Line, f.Verdict, f.Rule))
	}
	want := []string{
		"good/b.sql:1 not safe relative-value", "broken/a.go:3 cannot tell does-not-compile", "good/a.go:5 not safe relative-value",
		"user/a.go:1 cannot tell does-not-compile", "other/a.go:5 not safe relative-value",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, path := range []string{filepath.Join(folder, "absent"), t.TempDir()} {
		if found, err := vet.Run(t.Context(), []string{path}, nil); err == nil {
			t.Errorf("%s: got %v, want an error", path, found)
		}
	}
}

// The rules about programs find what docs/lint.md says, and nothing else; a guard that is named answers for a route.
func TestProgram(t *testing.T) {
	t.Parallel()
	ddl, code := example(t, "### What runs them twice")
	code = "package main\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n\t\"errors\"\n\t\"net/http\"\n\n\t\"github.com/hashicorp/go-retryablehttp\"\n\t\"github.com/semel-dev/semel/semelhttp\"\n)\n\nvar db *sql.DB\n\n" + code
	const src = "gocheck/testdata/src/github.com/"
	folder := module(t, map[string]string{"main.go": code, "schema/schema.sql": ddl},
		stub{"github.com/hashicorp/go-retryablehttp", src + "hashicorp/go-retryablehttp", []string{"client.go"}},
		stub{"github.com/semel-dev/semel", src + "semel-dev/semel", []string{"semel.go", "semelhttp/http.go"}})
	rules := []string{"check-then-insert", "read-modify-write", "retry-loop", "unguarded-handler", "interceptor-order"}
	var wanted []string
	for i, line := range strings.Split(code, "\n") {
		if m := regexp.MustCompile(`// not safe: (.*)$`).FindStringSubmatch(line); m != nil {
			wanted = append(wanted, fmt.Sprintf("%d %s", i+1, m[1]))
		}
	}
	configured := filepath.Join(folder, "semel-lint.yaml")
	if err := os.WriteFile(configured, []byte("version: 1\nguards: [example.com/m.order]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		guards []string
		config string
	}{{}, {guards: []string{"example.com/m.order"}}, {config: configured}} {
		o := &lint.Options{Dialect: "postgresql", Schema: []string{filepath.Join(folder, "schema")}, Guards: c.guards, Config: c.config}
		found, err := vet.Run(t.Context(), []string{filepath.Join(folder, "main.go")}, o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			if slices.Contains(rules, f.Rule) {
				got = append(got, fmt.Sprintf("%d %s", f.Line, f.Rule))
			}
		}
		if len(c.guards) > 0 || c.config != "" { // order is one, so neither its INSERT nor the route counts
			wanted = slices.DeleteFunc(wanted, func(s string) bool {
				return strings.HasSuffix(s, "check-then-insert") || strings.HasSuffix(s, "unguarded-handler")
			})
		}
		if len(wanted) == 0 || !slices.Equal(got, wanted) {
			t.Errorf("with guards %v, configuration %q: got %v, want %v", c.guards, c.config, got, wanted)
		}
	}
}

// A schema that cannot be read is an error of the analyzer that reports, which go vet prints, and not of one behind it.
func TestNoSchema(t *testing.T) {
	t.Parallel()
	folder := module(t, map[string]string{"a.go": "package m\n\nimport \"database/sql\"\n\nfunc f(db *sql.DB) { db.Exec(\"DELETE FROM t\") }\n"})
	pkgs, err := packages.Load(&packages.Config{Context: t.Context(), Mode: packages.LoadSyntax, Dir: folder}, ".")
	if err != nil {
		t.Fatal(err)
	}
	o := &lint.Options{Schema: []string{filepath.Join(folder, "absent.sql")}}
	graph, err := checker.Analyze(vet.Analyzers(o), pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Roots[0].Err; err == nil || !strings.Contains(err.Error(), "absent.sql") {
		t.Errorf("got %v", err)
	}
	if found, err := vet.Run(t.Context(), []string{folder}, o); err == nil || !strings.Contains(err.Error(), "absent.sql") {
		t.Errorf("got %v, %v", found, err)
	}
}

// Without a schema, one diagnostic of a package says what to pass; with one, each statement on a table that is not in it has its own.
func TestNoSchemaIsOneDiagnostic(t *testing.T) {
	t.Parallel()
	text := "package m\n\nimport \"database/sql\"\n\nfunc f(db *sql.DB) {\n"
	for _, table := range []string{"orders", "lines", "users", "items", "orders"} {
		text += "\tdb.Exec(\"UPDATE " + table + " SET n = 5\")\n"
	}
	folder := module(t, map[string]string{
		"a.go": text + "\tdb.Exec(\"UPDATE log SET n = n + 1\")\n}\n", "schema.sql": "CREATE TABLE log (n INTEGER NOT NULL);\n", "empty.yaml": "version: 1\n",
		"semel-lint.yaml": "version: 1\nschema: [schema.sql]\n",
	})
	for _, c := range []struct {
		options lint.Options
		want    []string
	}{
		{lint.Options{}, []string{"[relative-value]", "tables of 5 statements in this package (items, lines, orders and 1 more); pass"}},
		{lint.Options{Config: filepath.Join(folder, "empty.yaml")}, []string{"[relative-value]", "tables of 5 statements"}},
		{lint.Options{Config: filepath.Join(folder, "semel-lint.yaml")}, []string{"orders", "lines", "users", "items", "orders", "[relative-value]"}},
		{lint.Options{Schema: []string{filepath.Join(folder, "schema.sql")}}, []string{"orders", "lines", "users", "items", "orders", "[relative-value]"}},
	} {
		c.options.Dialect = "sqlite"
		pkgs, err := packages.Load(&packages.Config{Context: t.Context(), Mode: packages.LoadSyntax, Dir: folder}, ".")
		if err != nil {
			t.Fatal(err)
		}
		graph, err := checker.Analyze(vet.Analyzers(&c.options), pkgs, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range graph.Roots[0].Diagnostics {
			got = append(got, d.Message)
		}
		if len(got) != len(c.want) || graph.Roots[0].Err != nil {
			t.Errorf("got %q, %v", got, graph.Roots[0].Err)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("got %q, want %q in it", got[i], want)
			}
		}
	}
}

// The configuration names a guard that is a method as Go does.
func TestGuardMethod(t *testing.T) {
	t.Parallel()
	folder := module(t, map[string]string{"main.go": `package main

import (
	"database/sql"
	"net/http"
)

type server struct{ db *sql.DB }

func (s *server) once(do func()) { do() }

func (s *server) add(w http.ResponseWriter, r *http.Request) {
	s.once(func() { s.db.Exec("UPDATE t SET n = n + 1") })
}

func main() { http.HandleFunc("POST /add", (&server{}).add) }
`})
	for _, name := range []string{"once", "other"} {
		path := filepath.Join(folder, "semel-lint.yaml")
		if err := os.WriteFile(path, []byte("version: 1\nguards: [(*example.com/m.server)."+name+"]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := vet.Run(t.Context(), []string{folder}, &lint.Options{Config: path})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(found, func(f lint.Finding) bool { return f.Rule == "unguarded-handler" }); got != (name == "other") {
			t.Errorf("%s: got %v", name, found)
		}
	}
}
