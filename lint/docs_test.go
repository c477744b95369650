package lint_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/lint"
)

var update = flag.Bool("update", false, "write docs/lint.md")

const page = "../docs/lint.md"

// The page has the rules of the rulebook.
func TestDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const heading, next = "## The rules\n", "\n## "
	before, rest, ok := strings.Cut(string(text), heading)
	_, after, more := strings.Cut(rest, next)
	if !ok || !more {
		t.Fatalf("%s has no section of the rules with one after it", page)
	}
	want := before + heading + rulesSection() + next + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s is not up to date (run: go test ./lint -run TestDocs -update):\n%s", page, diff)
	}
}

// rulesSection is the section of the rules.
func rulesSection() string {
	var b strings.Builder
	b.WriteString("\n<!-- Written by: go test ./lint -run TestDocs -update -->\n\n`semel lint --explain RULE` prints a rule with its example in each database.\n\n" +
		"| rule | verdict | it means that | example | in | what makes it safe |\n|---|---|---|---|---|---|\n")
	for _, r := range lint.Rules() {
		example, in := "", "all"
		if len(r.Examples) > 0 {
			example = "`" + strings.ReplaceAll(r.Examples[0].Statement, "|", "\\|") + "`"
		}
		if n := len(r.Examples); n > 0 && n < len(dialect.All()) {
			in = strings.Join(texts.Of(r.Examples, func(e lint.Example) string { return e.Dialect }), ", ")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", r.ID, r.Verdict, r.Means, example, in, r.Cure)
	}
	b.WriteString("\nThe examples are judged by a test, with this schema in PostgreSQL, and the like of it in the others:\n\n```sql\n" + lint.SchemaOfExamples("postgresql") + "```\n")
	return b.String()
}

// The textbook examples get the verdicts that the page says, in every dialect.
func TestTextbook(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## The textbook examples\n")
	_, rest, _ = strings.Cut(rest, "```sql\n")
	ddl, rest, _ := strings.Cut(rest, "```")
	rest, _, _ = strings.Cut(rest, "\n## ")
	file := filepath.Join(t.TempDir(), "schema.sql")
	write(t, file, ddl)
	rows := regexp.MustCompile("(?m)^\\| `(.+?)` \\| [^|]+ \\| ([a-z ]+) \\|").FindAllStringSubmatch(rest, -1)
	const least = 13
	if len(rows) < least {
		t.Errorf("got %d examples, want %d at least", len(rows), least)
	}
	for _, d := range dialect.All() {
		s, err := lint.ReadSchema(t.Context(), &lint.Options{Dialect: d.String(), Schema: []string{file}})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			statement := row[1]
			if d != dialect.PostgreSQL {
				statement = regexp.MustCompile(`\$\d`).ReplaceAllString(statement, "?")
			}
			found := s.Statements("x.sql", statement)
			if len(found) != 1 || found[0].Verdict.String() != row[2] {
				t.Errorf("%s: %s\ngot %+v, want %s", d, statement, found, row[2])
			}
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
	for d, want := range map[string]string{"postgresql": "as PostgreSQL: ", "mariadb": "as MySQL or MariaDB: ", "sqlite": "as SQLite: "} {
		found, err := lint.Run(t.Context(), []string{filepath.Join(folder, "broken.sql")}, &lint.Options{Dialect: d})
		if err != nil || len(found) != 1 || !strings.HasPrefix(found[0].Why, "syntax error "+want) {
			t.Errorf("as %s: got %+v, %v", d, found, err)
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
