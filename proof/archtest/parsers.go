package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// parsers are the modules that parse SQL. One of them registers a protobuf file that others register too, and a program
// that links both ends at its start.
func parsers() []string {
	return []string{"github.com/sqlc-dev/oliphant", "github.com/sqlc-dev/marino", "github.com/sqlc-dev/meyer"}
}

// CheckParsers returns every package outside of the linter, its commands and their benchmark that reaches a parser of SQL, or whose tests do.
func CheckParsers(packages []Package) []Violation {
	reach := make(map[string]string) // from the path of a package to the parser that it reaches
	parser := func(imported string) string {
		for _, p := range parsers() {
			if within(imported, p) {
				return p
			}
		}
		return reach[imported]
	}
	for _, p := range packages {
		if i := slices.IndexFunc(p.Deps, func(d string) bool { return parser(d) != "" }); i >= 0 {
			reach[p.ImportPath] = parser(p.Deps[i])
		}
	}
	var found []Violation
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, Module+"/")
		if slices.ContainsFunc([]string{"lint", "lint/internal", "cmd/semel", "lint/cmd/semelvet", "proof/bench"}, func(path string) bool { return within(name, path) }) {
			continue
		}
		const because = "only semel lint and its commands may, so that programs of others can link Semel (docs/decisions/0032)"
		if of := reach[p.ImportPath]; of != "" {
			found = append(found, Violation{Where: p.ImportPath, Rule: fmt.Sprintf("depends on %s: %s", of, because)})
			continue
		}
		tests := slices.Concat(p.TestImports, p.XTestImports)
		if i := slices.IndexFunc(tests, func(d string) bool { return parser(d) != "" }); i >= 0 {
			found = append(found, Violation{Where: p.ImportPath, Rule: fmt.Sprintf("depends on %s in its tests: %s", parser(tests[i]), because)})
		}
	}
	return found
}

// within reports whether a path is another one or below it.
func within(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }
