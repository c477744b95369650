package foreign_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check"
)

var update = flag.Bool("update", false, "write the table of docs/check.md")

// The page tells what is known to be broken.
func TestDocument(t *testing.T) {
	t.Parallel()
	const (
		name  = "../../../../docs/check.md"
		begin = "<!-- foreign: written by go test ./proof/integration/apps/foreign -run TestDocument -update -->\n"
		end   = "<!-- foreign: end -->"
	)
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("the page lacks the marks of the table")
	}
	want := before + begin + table(t) + end + after
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("%s is not up to date (run: go test ./proof/integration/apps/foreign -run TestDocument -update):\n%s", name, diff)
	}
}

// table has a line for each reason and the checks that fail for it, with the libraries of which it is true.
func table(tb testing.TB) string {
	tb.Helper()
	var all, lines []string
	libraries := map[string][]string{}
	for _, i := range implementations() {
		all = append(all, i.label()+" "+i.version)
		for _, line := range broken(i.facts(tb)) {
			if libraries[line] == nil {
				lines = append(lines, line)
			}
			libraries[line] = append(libraries[line], i.label())
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s.\n\n| fact | checks that fail | libraries |\n|---|---|---|\n", strings.Join(all, " · "))
	for _, line := range lines {
		in := strings.Join(libraries[line], " · ")
		if len(libraries[line]) == len(all) {
			in = "all"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", line, in)
	}
	return b.String() + "\n"
}

// broken returns the reasons for which checks fail, each with its checks: two cells.
func broken(facts []fact) (lines []string) {
	var reasons []string
	checks := map[string][]string{}
	for _, f := range facts {
		if f.verdict != check.Fail {
			continue
		}
		if checks[f.why] == nil {
			reasons = append(reasons, f.why)
		}
		checks[f.why] = append(checks[f.why], f.ids...)
	}
	for _, why := range reasons {
		slices.Sort(checks[why])
		lines = append(lines, why+" | "+strings.Join(checks[why], " "))
	}
	return lines
}
