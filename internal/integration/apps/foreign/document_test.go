package foreign_test

import (
	"flag"
	"fmt"
	"os"
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
		begin = "<!-- foreign: written by go test ./internal/integration/apps/foreign -run TestDocument -update -->\n"
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
		t.Errorf("%s is not up to date (run: go test ./internal/integration/apps/foreign -run TestDocument -update):\n%s", name, diff)
	}
}

func table(tb testing.TB) string {
	tb.Helper()
	var b strings.Builder
	b.WriteString("\n| library | checks that fail | because |\n|---|---|---|\n")
	for _, i := range implementations() {
		label := fmt.Sprintf("%s %s", i.label(), i.version)
		for _, f := range i.facts(tb) {
			if f.verdict == check.Fail {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", label, strings.Join(f.ids, " "), f.why)
				label = ""
			}
		}
	}
	return b.String() + "\n"
}
