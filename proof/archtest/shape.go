package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

const (
	maxFileLines     = 500
	maxFunctionLines = 70
	maxMainLines     = 25 // func main only hands over to run
)

// vagueNames are package names that say nothing about what is inside.
func vagueNames() []string {
	return []string{"util", "utils", "common", "helper", "helpers", "types", "models", "misc", "shared"}
}

// CheckShape returns every Go file or function that is too long and every package with a vague name. Tests may be
// long, and so may generated files.
func CheckShape(tree Tree) ([]Violation, error) {
	var found []Violation
	for _, name := range tree.names(func(name string) bool { return strings.HasSuffix(name, ".go") && !inTestdata(name) }) {
		text := tree.files[name]
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse the source tree: %w", err)
		}
		if slices.Contains(vagueNames(), strings.TrimSuffix(file.Name.Name, "_test")) {
			found = append(found, Violation{
				Where: fset.Position(file.Name.Pos()).String(),
				Rule:  "package " + file.Name.Name + " says nothing: name it by the noun it holds, or move each piece to where it is used",
			})
		}
		if strings.HasSuffix(name, "_test.go") || ast.IsGenerated(file) {
			continue
		}
		if lines := bytes.Count(text, []byte("\n")); lines > maxFileLines {
			found = append(found, Violation{
				Where: name,
				Rule:  fmt.Sprintf("has %d lines, at most %d: split it by meaning", lines, maxFileLines),
			})
		}
		found = append(found, longFunctions(fset, file)...)
	}
	return found, nil
}

// longFunctions measures each function from its func to its closing brace.
func longFunctions(fset *token.FileSet, file *ast.File) []Violation {
	var found []Violation
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		limit := maxFunctionLines
		if file.Name.Name == "main" && function.Recv == nil && function.Name.Name == "main" {
			limit = maxMainLines
		}
		start := fset.Position(function.Pos())
		if lines := fset.Position(function.End()).Line - start.Line + 1; lines > limit {
			found = append(found, Violation{
				Where: fmt.Sprintf("%s:%d", start.Filename, start.Line),
				Rule:  fmt.Sprintf("%s has %d lines, at most %d: keep the branches, move the leaves out", function.Name.Name, lines, limit),
			})
		}
	}
	return found
}
