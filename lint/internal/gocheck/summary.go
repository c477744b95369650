package gocheck

import (
	"cmp"
	"go/token"
	"path/filepath"
	"slices"

	"github.com/semel-dev/semel/lint"
)

// program is a fact about a package: what it and all packages that it imports do. It holds slices, not maps, so that its
// encoding is always the same.
type program struct{ Packages []*summary }

// AFact implements [analysis.Fact].
func (*program) AFact() {}

// String implements [fmt.Stringer].
func (*program) String() string { return "program" }

// summary holds what is known of one package.
type summary struct {
	Path      string
	Functions []*function
	Routes    []*route
	// Types are the types that may be behind an interface.
	Types      []implementation
	Interfaces []contract
	// Wrappers are the functions that make handlers or middleware and are used elsewhere than at a route; they may wrap all
	// routes. An empty name is a guard itself.
	Wrappers []string
	// Unkeyed are retries around a transport that makes keys; an intent in the context makes them right.
	Unkeyed []located
	// Intents reports whether the package puts keys into contexts.
	Intents bool
	// Declared are the gRPC methods whose descriptor has an idempotency level, as "Service/Method".
	Declared []string
}

// function holds the writes in the body of a function, and the functions that it mentions.
type function struct {
	ID, Name string
	At       sourceLine
	Writes   []write
	Calls    []edge
	// Guarded reports that the function passes a guard: what it does counts as done once.
	Guarded bool
	// Wraps are the makers of handlers whose results a maker of handlers returns; "" is a guard.
	Wraps []string
	// Registers reports whether the function registers handlers.
	Registers bool
	// Reads is the table that the function reads, if it is only one and nothing is written.
	Reads string
}

// write is a statement that may not be safe to run twice.
type write struct {
	At      sourceLine
	Verdict lint.Verdict
	Rule    string
	Text    string
	Table   string // of an INSERT without a unique key
}

// edge is a mention of a function, or of a method of an interface.
type edge struct {
	To        string // a function, or the name of the method
	Interface string // empty for a function
	Line      int
}

// route is one registration of a handler.
type route struct {
	What    string // "POST /orders", or a gRPC method
	At      sourceLine
	Handler *function
	Text    string
	Answer  string
	// Answered reports whether a comment semel:safe is at the registration.
	Answered bool
	// Method is the gRPC method, as in [summary.Declared].
	Method string

	pos token.Pos // in the package that registers; not part of the fact
}

// located is a finding that waits for package main.
type located struct {
	Finding lint.Finding

	pos token.Pos
}

// implementation is a concrete type with its methods.
type implementation struct {
	ID      string
	Methods []method
}

type method struct{ Name, Signature, Function string }

// contract is an interface.
type contract struct {
	ID      string
	Methods []method
}

// sourceLine is a position that survives the package.
type sourceLine struct {
	File         string
	Line, Column int
}

func lineOf(fset *token.FileSet, pos token.Pos) sourceLine {
	at := fset.Position(pos)
	return sourceLine{File: filepath.ToSlash(at.Filename), Line: at.Line, Column: at.Column}
}

// merge adds the packages that q knows.
func (p *program) merge(q *program) {
	for _, s := range q.Packages {
		at, found := slices.BinarySearchFunc(p.Packages, s.Path, func(s *summary, path string) int { return cmp.Compare(s.Path, path) })
		if !found {
			p.Packages = slices.Insert(p.Packages, at, s)
		}
	}
}
