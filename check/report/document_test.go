package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check"
)

// TestDocument: the page has every profile and every check, as in the code.
func TestDocument(t *testing.T) {
	t.Parallel()
	name := filepath.Join("..", "..", "docs", "check.md")
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := between(t, string(raw), "profiles", profileRows())
	want = between(t, want, "checks", checkTable())
	if *update {
		noError(t, os.WriteFile(name, []byte(want), 0o644))
		return
	}
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("%s is not up to date (run: go test ./check/report -run TestDocument -update):\n%s", name, diff)
	}
}

// between replaces the text between the two marks of that name.
func between(t *testing.T, page, name, text string) string {
	t.Helper()
	before, rest, ok := strings.Cut(page, "<!-- "+name+": written by go test ./check/report -run TestDocument -update -->\n")
	_, after, closed := strings.Cut(rest, "<!-- "+name+": end -->")
	if !ok || !closed {
		t.Fatalf("the page lacks the marks of %s", name)
	}
	return before + "<!-- " + name + ": written by go test ./check/report -run TestDocument -update -->\n" + text + "<!-- " + name + ": end -->" + after
}

func profileRows() string {
	var b strings.Builder
	b.WriteString("\n| profile | expects |\n|---|---|\n")
	for _, p := range check.Profiles() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", p.Name, p.Says)
	}
	return b.String() + "\n"
}

func checkTable() string {
	var b strings.Builder
	var group string
	for _, one := range check.Catalog() {
		if one.Group != group {
			group = one.Group
			fmt.Fprintf(&b, "\n### %s\n\n| id | level | counts | what is checked | from |\n|---|---|---|---|---|\n", strings.ToUpper(group[:1])+group[1:])
		}
		counts := ""
		if one.NeedsCount {
			counts = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", one.ID, one.Level, counts, cell(one.Says), cell(one.Source))
	}
	return b.String() + "\n"
}

// cell escapes text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(text)
}
