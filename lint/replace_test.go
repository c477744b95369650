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

// The tables can be defined by a Go file: by constants, and by lists and texts that functions run.
func TestSchemaInGo(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"semel-lint.yaml": "version: 1\ndialect: sqlite\nschema: [tables.go, empty.go]\n",
		"empty.go":        "package p\n",
		"a.sql":           "INSERT INTO note (ref) VALUES (?);\nINSERT INTO log (line) VALUES (?);\nINSERT INTO other (ref) VALUES (?);\n",
	}
	const note, log, other = "CREATE TABLE note (ref TEXT PRIMARY KEY NOT NULL)", "CREATE TABLE log (line TEXT)", "CREATE TABLE other (ref TEXT NOT NULL)"
	const open, index = "func up(tx *sql.Tx, more string) error {\n", "CREATE UNIQUE INDEX one ON other (ref)"
	for code, want := range map[string]string{
		"const name = `note`\nvar (\n\tsays = `UPDATE nothing`\n\ttables = `-- notes\nCREATE TABLE ` + name + ` (ref TEXT PRIMARY KEY NOT NULL) -- the end`\n)\n" +
			"const more = `" + log + "`\nfunc text() string { return `DROP TABLE note; " + other + "` }\n": "unique-key no-unique-key unknown-table",
		"var steps = []func(*sql.Tx) error{\n\tfunc(tx *sql.Tx) error {\n\t\tsql := `" + note + "; " + log + "`\n\t\t_, err := tx.Exec(sql)\n\t\treturn err\n\t},\n" +
			"\tfunc(tx *sql.Tx) error {\n\t\tsql := `UPDATE log SET line = ''; " + other + "; " + index + "`\n\t\t_, err := tx.ExecContext(ctx, sql)\n\t\treturn err\n\t},\n}\n": "unique-key no-unique-key unique-key",
		open + "for _, sql := range []string{`" + note + "`, `" + log + "`, `" + other + "`, `" + index + "`, `DROP INDEX one`} {\n\t\ttx.Exec(sql)\n\t}\n}\n":                                          "unique-key no-unique-key no-unique-key",
		"const first = `" + note + "`\nfunc DownFirst(tx *sql.Tx) { tx.Exec(`DROP TABLE note`) }\nvar all = step{Up: `" + log + "`, Rollback: `DROP TABLE log`}\n":                                      "unique-key no-unique-key unknown-table",
		"const first = `" + note + "`\nvar downs = []string{`DROP TABLE note`}\nfunc init() {\n\tadd(func(tx *sql.Tx) { tx.Exec(`" + log + "`) }, func(tx *sql.Tx) { tx.Exec(`DROP TABLE log`) })\n}\n": "unique-key no-unique-key unknown-table",
		"const first = `" + note + "`\n" + open + "q := build()\n\tq += `; " + other + "`\n\ttx.Exec(q)\n}\n":                                                                                           "unknown-table unknown-table unknown-table",
		"const first = `" + note + "`\n" + open + "tx.Exec(`ALTER TABLE note ` + more)\n}\n":                                                                                                            "unknown-table unknown-table unknown-table",
		"const first = `" + note + "`\n" + open + "more = `DROP TABLE note`\nif tx == nil {\n\t\tmore = ``\n\t}\n\ttx.Exec(more)\n}\n":                                                                  "unknown-table unknown-table unknown-table",
		"const first = `" + note + "`\n" + open + "first := `" + log + "`\n\ttx.Exec(first)\n\ttx.Exec(more)\n\ttx.Exec(`DROP TABLE note`)\n}\n":                                                        "unknown-table no-unique-key unknown-table",
	} {
		texts["tables.go"] = "package p\n\n" + code
		got := []string{}
		for _, f := range judgeIn(t, texts) {
			got = append(got, f.Rule)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("got %q, want %q, of\n%s", got, want, code)
		}
	}
}
