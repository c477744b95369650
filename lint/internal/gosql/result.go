package gosql

import (
	"go/ast"
	"go/token"

	"github.com/semel-dev/semel/lint"
)

// Result holds what a package hands to databases.
type Result struct {
	Calls []Call // in the order of the source
	// Err says why not every call was judged.
	Err error

	answers *safeComments
}

// Call is one place that hands SQL to a database.
type Call struct {
	// Expr is the call. It is nil where a text is stored in a field that another function hands on.
	Expr *ast.CallExpr
	Pos  token.Pos // of the text
	// Findings holds one verdict for each statement of each text that the call may hand on.
	Findings []lint.Finding
	// Unknown says why not every text is known. A text that shows no write has no finding for that.
	Unknown string
	// Wrapper says that the text is a parameter of the function around the call: its callers are judged.
	Wrapper bool
	// Reads and Writes are the tables of all statements, in lower case.
	Reads, Writes []string
}

// Findings returns those of all calls, and one for each comment //semel:safe that answers nothing.
func (r *Result) Findings() []lint.Finding {
	var all []lint.Finding
	for i := range r.Calls {
		all = append(all, r.Calls[i].Findings...)
	}
	return append(all, r.answers.unused()...)
}

// Answer returns the reason of a comment //semel:safe on the line of a position or on the line above it.
func (r *Result) Answer(pos token.Pos) (reason string, ok bool) { return r.answers.at(pos) }
