package mysql_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/lint/internal/mysql"
)

// FuzzParse checks that no text makes the translator panic, and that the statements are in the text,
// one after the other.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"corpus", "truth", "comments", "writes", "schema", "triggers"} {
		for _, block := range blocksOf(f, "testdata/"+file+".txt") {
			f.Add(block)
		}
	}
	f.Fuzz(func(t *testing.T, text string) { checkPlaces(t, text) })
}

func checkPlaces(t *testing.T, text string) {
	t.Helper()
	end := 0
	for _, p := range mysql.Parse(text) {
		if p.Start < end || p.End <= p.Start || p.End > len(text) || p.Statement == nil {
			t.Fatalf("%q: a statement from %d to %d after %d", text, p.Start, p.End, end)
		}
		end = p.End
		dump(p.Statement)
	}
}

func blocksOf(tb testing.TB, file string) []string {
	tb.Helper()
	all := blocks(tb, file)
	for i, block := range all {
		all[i], _, _ = strings.Cut(block, arrow)
	}
	return all
}
