package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/semel-dev/semel/lint"
)

// judgeIn judges a.sql in a folder with a configuration.
func judgeIn(t *testing.T, files map[string]string) []lint.Finding {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := lint.Run(t.Context(), []string{filepath.Join(folder, "a.sql")}, &lint.Options{Config: filepath.Join(folder, "semel-lint.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A statement is judged in every dialect of its schema with its placeholders filled in, and shown as it is written.
func TestReplacements(t *testing.T) {
	t.Parallel()
	found := judgeIn(t, map[string]string{
		"semel-lint.yaml": `version: 1
schema: [t_postgres.sql, t_mysql.sql]
replace:
  "{{t}}": item
  "{{1}}": {postgresql: $1, mysql: "?"}
  "{{where}}": "WHERE id =\n{{1}}"
`,
		"t_postgres.sql": `CREATE TABLE {{t}} (id int PRIMARY KEY, n int, at timestamptz);`,
		"t_mysql.sql":    "CREATE TABLE `{{t}}` (id int PRIMARY KEY, n int, at datetime) ENGINE=InnoDB;",
		"a.sql": `UPDATE {{t}} SET n = 5 {{where}};
DELETE FROM {{t}} {{where}}; /* {{where}} */ UPDATE {{t}}
SET n = n + 1 {{where}};
UPDATE {{other}} SET n = 5;
`,
	})
	got := []string{}
	for _, f := range found {
		got = append(got, fmt.Sprintf("%d:%d %s %s %s", f.Line, f.Column, f.Verdict, f.Text, strings.Join(f.Dialects, "+")))
	}
	want := []string{
		"1:1 safe UPDATE {{t}} SET n = 5 {{where}} postgresql+mysql",
		"2:1 safe DELETE FROM {{t}} {{where}} postgresql+mysql",
		"2:46 not safe UPDATE {{t}} postgresql+mysql",
		"4:1 cannot tell UPDATE {{other}} SET n = 5 postgresql+mysql",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if want := "UPDATE item SET n = 5 WHERE id =\n$1"; found[0].SQL != want {
		t.Errorf("got %q, want %q", found[0].SQL, want)
	}
	if !strings.Contains(found[3].Guard, "{{other}}") {
		t.Errorf("got %q, want a word about {{other}}", found[3].Guard)
	}
}

// Replacements that grow without end leave the text as it is.
func TestEndlessReplacements(t *testing.T) {
	t.Parallel()
	found := judgeIn(t, map[string]string{
		"semel-lint.yaml": "version: 1\nreplace:\n  \"{a}\": \"" + strings.Repeat("{b}", 1000) + "\"\n  \"{b}\": \"" + strings.Repeat("{a}", 1000) + "\"\n",
		"a.sql":           "UPDATE {a} SET n = 1;",
	})
	if len(found) == 0 || found[0].Verdict != lint.CannotTell {
		t.Errorf("got %v", found)
	}
}

// The tables can be defined by the constants of a Go file; what its functions hold is not read.
func TestSchemaInGo(t *testing.T) {
	t.Parallel()
	found := judgeIn(t, map[string]string{
		"semel-lint.yaml": "version: 1\ndialect: sqlite\nschema: [tables.go, empty.go]\n",
		"tables.go": "package p\n\nconst name = `note`\n\nvar (\n\tsays = `UPDATE nothing`\n\ttables = `-- notes\nCREATE TABLE ` + name + ` (ref TEXT PRIMARY KEY NOT NULL) -- the end`\n)\n\n" +
			"const more = \"CREATE TABLE log (line TEXT)\"\n\nfunc down() string { return `DROP TABLE note; CREATE TABLE other (ref TEXT PRIMARY KEY NOT NULL)` }\n",
		"empty.go": "package p\n",
		"a.sql":    "INSERT INTO note (ref) VALUES (?);\nINSERT INTO log (line) VALUES (?);\nINSERT INTO other (ref) VALUES (?);\n",
	})
	got := []string{}
	for _, f := range found {
		got = append(got, f.Rule)
	}
	if want := []string{"unique-key", "no-unique-key", "unknown-table"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
