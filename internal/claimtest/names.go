package claimtest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Proof lets a door do a work twice, in two forms that differ in one word of the table, and returns how often it ran, and how many of
// the two were refused, or kept for an operator.
type Proof func(t *testing.T) (ran, refused int)

// Names proves the row of a door in docs/names.md: it needs a proof for each word of the row, and no other.
func Names(t *testing.T, door string, proofs map[string]Proof) {
	t.Helper()
	row, found := NamesTable(t)[door]
	if !found {
		t.Fatalf("docs/names.md has no row %q", door)
	}
	var words []string
	for column, verdict := range []string{"another wish", "the same wish", "refused"} {
		for _, word := range row[column] {
			words = append(words, word)
			prove := proofs[word]
			if prove == nil {
				t.Errorf("docs/names.md: %s: nothing proves %q", door, word)
				continue
			}
			t.Run(verdict+", "+word, func(t *testing.T) {
				ran, refused := prove(t)
				if !verified(column, ran, refused) {
					t.Errorf("docs/names.md: %s: %q makes %s, but the work ran %d times, and %d were refused", door, word, verdict, ran, refused)
				}
			})
		}
	}
	for word := range maps.Keys(proofs) {
		if !slices.Contains(words, word) {
			t.Errorf("docs/names.md: %s: the row lacks %q", door, word)
		}
	}
}

// verified reports whether the two works ended as the column says.
func verified(column, ran, refused int) bool {
	switch column {
	case 0:
		return ran == 2 && refused == 0
	case 2:
		return ran <= 1 && refused == 1
	}
	return ran == 1 && refused == 0
}

// NamesTable reads the first table of docs/names.md: the words of three columns for each door.
func NamesTable(tb testing.TB) map[string][3][]string {
	tb.Helper()
	dir, err := os.Getwd()
	NoError(tb, err)
	var page []byte
	for {
		if page, err = os.ReadFile(filepath.Join(dir, "docs", "names.md")); err == nil || dir == filepath.Dir(dir) { //nolint:gosec // a page of this tree.
			break
		}
		dir = filepath.Dir(dir)
	}
	NoError(tb, err)
	_, table, _ := strings.Cut(string(page), "\n|---|")
	_, table, _ = strings.Cut(table, "\n")
	rows := map[string][3][]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 {
			break
		}
		var row [3][]string
		for i := range row {
			if cell := strings.TrimSpace(cells[i+2]); cell != "" {
				row[i] = strings.Split(cell, ", ")
			}
		}
		rows[strings.TrimSpace(cells[1])] = row
	}
	return rows
}
