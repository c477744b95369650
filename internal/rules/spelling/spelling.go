// Package spelling suggests the known name that an unknown one was meant to be.
package spelling

import (
	"fmt"
	"strings"
)

// Nearest returns the name that is most like word, whatever their case, or ""
// when none is near enough.
func Nearest(word string, names []string) string {
	const most = 128 // longer words are not typing mistakes
	if len(word) < 2 || len(word) > most {
		return ""
	}
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, name := range names {
		if len(name) > most {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// Ask asks whether a name that [Nearest] found was meant; without one it returns
// the other advice.
func Ask(near, otherwise string) string {
	if near == "" {
		return otherwise
	}
	return fmt.Sprintf("did you mean %q?", near)
}

// distance is the number of letters to insert, remove or change between a and b,
// or of neighbours to swap.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
