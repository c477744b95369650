package lint_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/lint/judge"
	"github.com/semel-dev/semel/lint"
)

// Every rule has an example in docs/lint.md, with the verdict that it gets.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "in PostgreSQL:\n\n```sql\n")
	ddl, _, _ := strings.Cut(rest, "```")
	folder := t.TempDir()
	schema, statement := filepath.Join(folder, "schema.sql"), filepath.Join(folder, "statement.sql")
	write(t, schema, ddl)
	var seen []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ([a-z ]+) \\| `(.+?)` \\|").FindAllStringSubmatch(rest, -1) {
		write(t, statement, m[3])
		found, err := lint.Run(t.Context(), []string{statement}, &lint.Options{Dialect: "postgresql", Schema: []string{schema}})
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", m[3], found, err)
		}
		if got := found[0]; got.Rule != m[1] || got.Verdict.String() != m[2] {
			t.Errorf("%s: got %s, %s (%s), want %s, %s", m[3], got.Rule, got.Verdict, got.Why, m[1], m[2])
		}
		seen = append(seen, m[1])
	}
	for _, rule := range judge.Rules() {
		if !slices.Contains(seen, string(rule)) {
			t.Errorf("rule %s has no example", rule)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Bad input is a finding or an error, and never safe.
func TestBadInput(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"binary": "\x00\x01", "latin": "UPDATE t SET n = '\xe9'", "large": strings.Repeat(" ", 9<<20), "broken": "UPDATE t SET", "quote": "UPDATE t SET n = 'x",
		"deep": "DELETE FROM t WHERE " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000), "unknown": "FROBNICATE t",
	} {
		path := filepath.Join(folder, name+".sql")
		write(t, path, text)
		for _, d := range []string{"", "postgresql", "mysql", "sqlite"} {
			found, err := lint.Run(t.Context(), []string{path}, &lint.Options{Dialect: d})
			if err != nil || len(found) == 0 {
				t.Errorf("%s in %q: %v, %v", name, d, found, err)
			}
			for _, f := range found {
				if f.Verdict != lint.CannotTell || f.Why == "" {
					t.Errorf("%s in %q: got %s, %s", name, d, f.Verdict, f.Why)
				}
			}
		}
	}
	if _, err := lint.Run(t.Context(), []string{filepath.Join(folder, "absent.sql")}, nil); err == nil {
		t.Error("a missing file was accepted")
	}
	if _, err := lint.Run(t.Context(), []string{t.TempDir()}, nil); err == nil {
		t.Error("a folder without statements was accepted")
	}
	if _, err := lint.Run(t.Context(), nil, &lint.Options{Dialect: "oracle"}); err == nil {
		t.Error("an unknown dialect was accepted")
	}
}
