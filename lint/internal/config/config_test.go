package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/config"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The parts of a configuration of sqlc count for their queries and for the Go files that it writes; other keys are its own.
func TestSQLC(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(path string) string { return filepath.Join(folder, path) }
	f, err := config.Load(write(t, in("sqlc.yaml"), `version: 2
plugins: [{name: x, env: []}]
sql:
  - &first
    engine: mysql
    schema: [a.sql, "more/*.sql"]
    queries: q/a
    gen: {go: {out: internal/a, emit: true}}
  - engine: oracle
    queries: q/o
  - engine: sqlite
    queries: [q/b/one.sql, ../elsewhere]
    gen: {json: {out: j}}
`))
	if err != nil {
		t.Fatal(err)
	}
	mysql := config.Settings{Dialect: "mysql", Schema: []string{in("a.sql"), in("more/*.sql")}}
	for path, want := range map[string]config.Settings{
		"q/a/one.sql": mysql, "internal/a/one.sql.go": mysql, "q/b/one.sql": {Dialect: "sqlite"},
		"q/o/one.sql": {}, "x/q/a/one.sql": {}, "internal/b/one.go": {},
	} {
		if got := f.Of(f.Override(in(path))); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", path, got, want)
		}
	}
	own, err := config.Load(write(t, in(config.Name), "version: 1\nfail_on: cannot-tell\n"))
	if err != nil || own.FailOn != "cannot-tell" || !reflect.DeepEqual(own.Of(own.Override(in("q/a/one.sql"))), mysql) {
		t.Errorf("next to another file: got %+v, error %v", own, err)
	}
	own, err = config.Load(write(t, in(config.Name), "version: 1\ndialect: sqlite\n"))
	if err != nil || own.Of(own.Override(in("q/a/one.sql"))).Dialect != "sqlite" {
		t.Errorf("next to a file with a dialect: got %+v, error %v", own, err)
	}
	if found, err := config.Find(write(t, in("q/a/b.sql"), "") + "/.."); err != nil || filepath.Base(found) != config.Name {
		t.Errorf("got %s, error %v", found, err)
	}
}

// Every field is read, paths are relative to the file, and the first override that matches counts.
func TestLoad(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	f, err := config.Load(write(t, filepath.Join(folder, config.Name), `version: 1
dialect: postgresql
schema: [db/migrations, /abs/extra.sql]
baseline: db/known.txt
fail_on: cannot-tell
exclude: [generated, "*_test.sql", "old/**/draft?.sql"]
guards: [shop.Once, (*shop.Server).once]
paths:
  - match: store/mysql
    dialect: mariadb
    schema: store/mysql/schema.sql
  - match: ["store/**/*.sql", "./tools/"]
    dialect: sqlite
`))
	if err != nil {
		t.Fatal(err)
	}
	in := func(path string) string { return filepath.Join(folder, path) }
	common := []string{in("db/migrations"), "/abs/extra.sql"}
	if f.Baseline != in("db/known.txt") || f.FailOn != "cannot-tell" || !reflect.DeepEqual(f.Guards, []string{"shop.Once", "(*shop.Server).once"}) {
		t.Errorf("got %+v", f)
	}
	for path, want := range map[string]config.Settings{
		"queries/a.sql":          {Dialect: "postgresql", Schema: common},
		"store/mysql/deep/a.sql": {Dialect: "mariadb", Schema: []string{in("store/mysql/schema.sql")}},
		"store/mysqlish.sql":     {Dialect: "sqlite", Schema: common},
		"store/lite/a.sql":       {Dialect: "sqlite", Schema: common},
		"store/lite/a.go":        {Dialect: "postgresql", Schema: common},
		"tools/x/a.go":           {Dialect: "sqlite", Schema: common},
		"../" + filepath.Base(folder) + "-other/store/a.sql": {Dialect: "postgresql", Schema: common},
	} {
		if got := f.Of(f.Override(in(path))); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", path, got, want)
		}
	}
	for path, want := range map[string]bool{
		"generated/a.sql": true, "x/generated/b/a.sql": true, "x/generatedly/a.sql": false, "a_test.sql": true, "x/a_test.sql": true, "a_test.sql.txt": false,
		"old/draft1.sql": true, "old/x/y/draft2.sql": true, "old/draft12.sql": false, "older/draft1.sql": false,
	} {
		if got := f.Excludes(in(path)); got != want {
			t.Errorf("Excludes(%s): got %v, want %v", path, got, want)
		}
	}
}

// What is wrong is an error with its line, its column and what to do about it.
func TestWrong(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for text, want := range map[string]string{
		"":                                                  "1:1: the file is empty (start with: version: 1)",
		"dialect: sqlite":                                   "1:1: the file does not say its version",
		"version: 2":                                        "1:10: version is the number 2, and this semel reads version 1",
		"version: 1\ndialekt: sqlite":                       `2:1: unknown key "dialekt" in the file (did you mean "dialect"?)`,
		"version: 1\ndialect: oracle":                       `2:10: dialect is "oracle" (write one of:`,
		"version: 1\nfail_on: unsafe":                       `2:10: fail_on is "unsafe"`,
		"version: 1\nexclude: [../x]":                       `2:10: exclude "../x" cannot be used: it has to be relative`,
		"version: 1\nschema: 3":                             "2:9: schema must be a list",
		"version: 1\npaths:\n  - dialect: sqlite":           "3:5: an element of paths has no match",
		"version: 1\npaths:\n  - match: x":                  "3:5: an element of paths changes nothing",
		"version: 1\npaths:\n  - match: x\n    scheme: y":   `4:5: unknown key "scheme" in an element of paths (did you mean "schema"?)`,
		"version: 1\nreplace: [a]":                          "2:10: replace must be a mapping, not a list",
		"version: 1\nreplace: {a: 3}":                       "2:14: replace \"a\" must be a mapping, not the number 3",
		"version: 1\nreplace: {a: b, a: c}":                 `2:17: key "a" is listed twice in replace, first on line 2`,
		"version: 1\nreplace: {a: {oracle: b}}":             `2:15: dialect is "oracle"`,
		"version: 1\nreplace: {a: {mysql: 3}}":              "2:22: a replacement must be text, not the number 3",
		"version: 1\nreplace: {a: {file: absent.sql}}":      `2:21: file "absent.sql" cannot be read`,
		"version: 1\nbaseline: a\nbaseline: b":              `3:1: key "baseline" is listed twice`,
		"version: 1\npaths: [":                              "(fix the YAML)",
		"version: 1\nguards: \xff":                          "the file is not UTF-8 text",
		"version: 1\nexclude: [" + strings.Repeat("[", 100): "nested deeper",
	} {
		_, err := config.Load(write(t, filepath.Join(folder, config.Name), text))
		if err == nil || !strings.Contains(err.Error(), config.Name+":") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if _, err := config.Load(filepath.Join(folder, "absent.yaml")); err == nil {
		t.Error("a missing file was accepted")
	}
}

// The configuration of the nearest folder counts, and none from outside the repository.
func TestFind(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	outer := write(t, filepath.Join(root, config.Name), "version: 1")
	write(t, filepath.Join(root, "repo", ".git", "HEAD"), "")
	write(t, filepath.Join(root, "repo", "a", "b", "x.sql"), "")
	write(t, filepath.Join(root, "free", "x.sql"), "")
	find := func(folder, want string) {
		t.Helper()
		if got, err := config.Find(filepath.Join(root, folder)); err != nil || got != want {
			t.Errorf("Find(%s): got %q, %v, want %q", folder, got, err, want)
		}
	}
	find("free", outer)
	find("repo/a/b", "")
	find("repo", "")
	inner := write(t, filepath.Join(root, "repo", config.Name), "version: 1")
	find("repo/a/b", inner)
	find("repo", inner)
}

// Replacements are those of the override and of the file, each once; one whose text is in no file is idle.
func TestReplace(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "store", "part.sql"), "-- a part\nVALUES (?)\n")
	write(t, filepath.Join(folder, "store", "a.sql"), "INSERT INTO {{t}} {{part}}")
	write(t, filepath.Join(folder, "store", "a_test.go"), "package store // {{tested}}")
	write(t, filepath.Join(folder, "schema.sql"), "CREATE TABLE {{t}} (n int); -- {{common}}")
	f, err := config.Load(write(t, filepath.Join(folder, config.Name), `version: 1
replace: {"{{common}}": x, "{{t}}": other}
paths:
  - match: store
    schema: schema.sql
    replace:
      "{{t}}": {postgresql: a, mariadb: ""}
      "{{part}}": {file: store/part.sql}
      "{{tested}}": x
`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range f.Of(f.Override(filepath.Join(folder, "store", "a.sql"))).Replace {
		for _, d := range dialect.All() {
			if with, ok := r.In(d); ok {
				got[r.Text+" "+d.String()] = with
			}
		}
	}
	want := map[string]string{"{{t}} postgresql": "a", "{{t}} mysql": ""}
	for _, d := range dialect.All() {
		want["{{common}} "+d.String()], want["{{part}} "+d.String()], want["{{tested}} "+d.String()] = "x", "VALUES (?)", "x"
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	idle, err := f.Idle()
	if err != nil || len(idle) != 1 || !strings.HasSuffix(idle[0], config.Name+":9: {{tested}}") {
		t.Errorf("got %q, %v", idle, err)
	}
}
