package sqlite_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlc-dev/meyer/lexer"

	"github.com/semel-dev/semel/internal/lint/sqlite"
	"github.com/semel-dev/semel/internal/lint/tree"
)

func FuzzParse(f *testing.F) {
	for _, text := range statements(f, "testdata/*.golden") {
		f.Add(text)
	}
	f.Add("SELECT 1; SELECT \x00 2;")
	f.Add("\ufeffSELECT '\xff' AS \xfe")
	f.Fuzz(check)
}

// TestParseMutated parses the statements of testdata with tokens left out, doubled and exchanged.
func TestParseMutated(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, text := range statements(t, "testdata/*.golden") {
		tokens := lexer.Lex(text)
		for range 50 {
			words := make([]string, 0, len(tokens))
			for _, token := range tokens {
				words = append(words, text[token.Pos:token.End])
			}
			i, j := random.IntN(len(words)), random.IntN(len(words))
			switch random.IntN(3) {
			case 0:
				words[i] = ""
			case 1:
				words[i] += " " + words[j]
			case 2:
				words[i], words[j] = words[j], words[i]
			}
			check(t, strings.Join(words, " "))
		}
	}
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
	if _, err := sqlite.Expression(text); err != nil && strings.Contains(err.Error(), "runtime error") {
		t.Fatalf("%q: %v", text, err)
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
