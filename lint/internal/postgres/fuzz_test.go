package postgres_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/lint/internal/postgres"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// FuzzParse checks that no text makes the translator panic, and that statements lie in the text in order.
func FuzzParse(f *testing.F) {
	for _, text := range examples(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		check(t, text)
		_, _ = postgres.Expression(text)
	})
}

// examples returns the statements of the golden files.
func examples(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		tb.Fatal("no golden files", err)
	}
	var all []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if statement, ok := strings.CutPrefix(line, "> "); ok {
				all = append(all, strings.TrimSpace(statement))
			}
		}
	}
	return all
}

// check parses a text. Statements lie in it in order, and none makes the translator panic.
func check(t *testing.T, text string) {
	t.Helper()
	last := 0
	for _, p := range postgres.Parse(text) {
		if p.Start < last || p.End < p.Start || p.End > len(text) || p.Statement == nil {
			t.Fatalf("%q: statement at %d-%d after %d in %d bytes: %v", text, p.Start, p.End, last, len(text), p.Statement)
		}
		last = p.End
		if o, ok := p.Statement.(*tree.Opaque); ok && (o.Why == "" || strings.HasPrefix(o.Why, "cannot be translated")) {
			t.Fatalf("%q: %s", text, o.Why)
		}
	}
}
