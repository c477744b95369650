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

// Error holds all problems of a file, in the order of the file. [Parse] and [Load]
// return it.
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
