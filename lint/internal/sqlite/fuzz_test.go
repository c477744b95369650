package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/lint/internal/sqlite"
	"github.com/semel-dev/semel/lint/internal/tree"
)

func FuzzParse(f *testing.F) {
	for _, text := range statements(f, "testdata/*.golden") {
		f.Add(text)
	}
	f.Add("SELECT 1; SELECT \x00 2;")
	f.Add("\ufeffSELECT '\xff' AS \xfe")
	f.Fuzz(check)
}

func check(t *testing.T, text string) {
	t.Helper()
	end := 0
	for _, p := range sqlite.Parse(text) {
		if p.Start < end || p.End <= p.Start || p.End > len(text) {
			t.Fatalf("%q: statement at %d to %d, after one that ends at %d", text, p.Start, p.End, end)
		}
		end = p.End
		if p.Statement == nil {
			t.Fatalf("%q: no statement", text)
		}
		if o, ok := p.Statement.(*tree.Opaque); ok && (o.Why == "" || strings.HasPrefix(o.Why, "the parser panicked")) {
			t.Fatalf("%q: %q", text, o.Why)
		}
	}
}

// statements returns the statements of golden files.
func statements(tb testing.TB, pattern string) []string {
	tb.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		tb.Fatalf("%s: %v, %v", pattern, files, err)
	}
	var all []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "> "); ok {
				all = append(all, strings.ReplaceAll(text, `\n`, "\n"))
			}
		}
	}
	return all
}
