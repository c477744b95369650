package yamlfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

// Position is a place in a file; lines and columns count from 1.
type Position struct{ Line, Column int }

// Problem is one thing that is wrong with a file.
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

// Error holds all problems of a file, in the order of the file. [Reader.Err]
// returns it.
type Error struct{ Problems []Problem }

// Error lists the problems, one per line.
func (e *Error) Error() string {
	return strings.Join(texts.Of(e.Problems, Problem.String), "\n")
}

// sorted puts the problems into the order of the file.
func sorted(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
	})
	return problems
}
