// Package spelling finds what somebody meant who wrote a name that is not known.
package spelling

import "strings"

// Nearest returns the name that is most like word, or "" when none is near
// enough to be what was meant.
func Nearest(word string, names []string) string {
	const most = 40 // longer words are no typing mistakes of ours
	if len(word) > most {
		return ""
	}
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, name := range names {
		if d := distance(strings.ToLower(word), name); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove or change between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
