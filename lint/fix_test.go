package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/lint"
)

// A fix, put where it says, makes the statement safe and leaves all else as it is.
func TestFix(t *testing.T) {
	t.Parallel()
	const tables = "CREATE TABLE note (ref varchar(40) NOT NULL PRIMARY KEY, n int NOT NULL, who varchar(40) NOT NULL);"
	for _, c := range []struct{ dialect, text, want string }{
		{"postgresql", "INSERT INTO note (ref, n, who) VALUES ($1, 5, $2)\n/* ä */ ON CONFLICT (ref) DO UPDATE\nSET who = 'ä, n = 1', -- n = 3\n\"n\" = greatest((7), 3) WHERE note.ref <> 'x';", "excluded.n WHERE"},
		{"postgresql", "SELECT 1; INSERT INTO note (ref, n, who) VALUES ($1, $2, $3) ON CONFLICT (ref) DO UPDATE SET who = excluded.who, n = 7 RETURNING n;", "n = excluded.n RETURNING"},
		{"mysql", "INSERT INTO note (ref, n, who) VALUES (?, 5, 'b') ON DUPLICATE KEY UPDATE `n` = 7, who = VALUES(who);", "`n` = VALUES(n), who"},
		{"sqlite", "INSERT INTO note (ref, n, who) VALUES (?, 5, 'b') ON CONFLICT DO UPDATE SET n = 7", "n = excluded.n"},
	} {
		folder := t.TempDir()
		run := func(text string) lint.Finding {
			path := filepath.Join(folder, "a.sql")
			for name, text := range map[string]string{path: text, filepath.Join(folder, "schema.sql"): tables} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			found, err := lint.Run(t.Context(), []string{path}, &lint.Options{Dialect: c.dialect, Schema: []string{filepath.Join(folder, "schema.sql")}})
			if err != nil {
				t.Fatal(err)
			}
			return found[len(found)-1]
		}
		text := c.text
		for range 2 { // one column at a time
			if f := run(text).Fix; f != nil {
				text = applied(text, f)
			}
		}
		if f := run(text); f.Verdict != lint.Safe || !strings.Contains(text, c.want) {
			t.Errorf("%s: got %s (%s), want it safe with %s", text, f.Verdict, f.Why, c.want)
		}
	}
}

// applied puts a fix into a text.
func applied(text string, f *lint.Fix) string {
	at := func(line, column int) int {
		lines := strings.SplitAfter(text, "\n")
		return len(strings.Join(lines[:line-1], "")) + len(string([]rune(lines[line-1])[:column-1]))
	}
	return text[:at(f.Line, f.Column)] + f.Text + text[at(f.EndLine, f.EndColumn):]
}

// Where a placeholder is filled in, or the update computes with the row, nothing is offered.
func TestNoFix(t *testing.T) {
	t.Parallel()
	found := judgeIn(t, map[string]string{
		"semel-lint.yaml": "version: 1\ndialect: postgresql\nschema: schema.sql\nreplace: {\"{seven}\": \"7\"}\n",
		"schema.sql":      "CREATE TABLE note (ref text NOT NULL PRIMARY KEY, n int NOT NULL);",
		"a.sql": "INSERT INTO note (ref, n) VALUES ($1, 5) ON CONFLICT (ref) DO UPDATE SET n = {seven};\n" +
			"INSERT INTO note (ref, n) VALUES ($1, 5) ON CONFLICT (ref) DO UPDATE SET n = note.n + 1;\n",
	})
	for _, f := range found {
		if f.Fix != nil || f.Verdict == lint.Safe {
			t.Errorf("%s: got %s and %+v", f.Text, f.Verdict, f.Fix)
		}
	}
}
