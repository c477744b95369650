package mysql_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/lint/mysql"
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

// TestMutants parses statements with tokens that are lost, doubled, or exchanged with those of others.
func TestMutants(t *testing.T) {
	t.Parallel()
	var all [][]string
	for _, file := range []string{"corpus", "truth", "comments", "writes", "schema", "triggers"} {
		for _, block := range blocksOf(t, "testdata/"+file+".txt") {
			all = append(all, strings.SplitAfter(block, " "))
		}
	}
	r := rand.New(rand.NewPCG(1, 2)) // the same mutants in each run
	for range 20000 {
		tokens := append([]string(nil), all[r.IntN(len(all))]...)
		for range 1 + r.IntN(3) {
			i := r.IntN(len(tokens))
			switch other := all[r.IntN(len(all))]; r.IntN(3) {
			case 0:
				tokens[i] = ""
			case 1:
				tokens[i] += tokens[i]
			case 2:
				tokens[i] = other[r.IntN(len(other))]
			}
		}
		checkPlaces(t, strings.Join(tokens, ""))
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
