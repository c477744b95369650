// Package archtest states the rules of this repository that no compiler checks, and checks them.
//
// Its tests are the enforcement: they ask go list and git for the packages and files of the checkout and fail with
// one line per [Violation]. Each check is a plain function over a small value (packages, a [Tree]), so that its own
// test can hand it a tree that breaks the rule and see the rule catch it.
//
//   - floors.go: on which floor each package is, and which packages it may import;
//   - shape.go: how long Go files and functions may be, and what packages may not be called;
//   - text.go: what no file may say, and how long the README may be;
//   - size.go: how many packages, exported names and lines there may be, at most;
//   - citations.go: documentation names only tests, contract rules and files that are there;
//   - recipes.go: the recipes of CONTRIBUTING.md name only files and folders that exist;
//   - dependencies.go: every direct dependency is accounted for in docs/decisions, and nothing else is.
//
// A failure says what to do. Where the rule is wrong rather than the code, change the rule here and say why in
// docs/decisions.
package archtest

// Violation is one place that breaks one rule.
type Violation struct {
	// Where is an import path, or file:line.
	Where string
	// Rule says what is wrong and what to do about it.
	Rule string
}

// String is the line a failing test prints.
func (v Violation) String() string { return v.Where + ": " + v.Rule }
