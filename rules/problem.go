package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a rules file; lines and columns count from 1.
type Position struct{ Line, Column int }

// Problem is one thing that is wrong with a rules file.
type Problem struct {
	File     string
	Position Position
	Message  string // what is wrong
	Fix      string // what to do about it
}

// String writes the problem as file:line:column: message (fix).
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s (%s)", p.File, p.Position.Line, p.Position.Column, p.Message, p.Fix)
}

// Error is what [Parse] and [Load] return for a file with problems: all of
// them, in the order of the file, one per line.
type Error struct{ Problems []Problem }

// Error lists the problems, one per line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted puts the problems into the order of the file.
func sorted(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
	})
	return problems
}

// nearest returns the name that is most like word, or "" when none is near
// enough to be what was meant.
func nearest(word string, names []string) string {
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
