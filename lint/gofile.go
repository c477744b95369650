package lint

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"regexp"
	"strconv"
	"strings"
)

// defines matches the beginning of a text that defines something in a database.
var defines = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:CREATE|ALTER)\s`)

// definitions returns the statements that the constants and variables of a Go file outside of functions hold, as far as they
// define something: what a program runs to make its tables.
func definitions(name, source string) (string, error) {
	parsed, err := parser.ParseFile(gotoken.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		return "", err //nolint:wrapcheck // it has the place.
	}
	known := map[string]string{}
	var b strings.Builder
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for i, value := range spec.Values {
				text, ok := folded(value, known)
				if ok && i < len(spec.Names) {
					known[spec.Names[i].Name] = text
				}
				if ok && defines.MatchString(text) {
					b.WriteString(strings.TrimRight(text, "; \t\r\n") + "\n;\n") // a comment may be at its end
				}
			}
		}
		_, function := n.(*ast.FuncDecl)
		return !function
	})
	return b.String(), nil
}

// folded returns the text of a literal, of a constant above it, or of a sum of these.
func folded(x ast.Expr, known map[string]string) (string, bool) {
	switch x := ast.Unparen(x).(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(x.Value)
		return text, x.Kind == gotoken.STRING && err == nil
	case *ast.Ident:
		text, ok := known[x.Name]
		return text, ok
	case *ast.BinaryExpr:
		left, ok := folded(x.X, known)
		right, also := folded(x.Y, known)
		return left + right, ok && also && x.Op == gotoken.ADD
	}
	return "", false
}
