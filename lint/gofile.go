package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	// defines matches the beginning of a text that defines something in a database; changes also matches DROP.
	defines = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:CREATE|ALTER)\s`)
	changes = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:CREATE|ALTER|DROP)\s`)
	// mentions matches a text that may do so anywhere.
	mentions = regexp.MustCompile(`(?i)\b(?:CREATE|ALTER|DROP|RENAME)\s+\w`)
	runs     = regexp.MustCompile(`^(?:Must)?Exec`)                        // methods that execute a statement
	undoes   = regexp.MustCompile(`(?:^d|D)owns?(?:$|[^a-z])|[Rr]ollback`) // names of down migrations
)

// definitions returns the DDL of a Go file: that of package-level constants and variables, then that of string lists and Exec calls,
// in source order. It skips down migrations. doubt names a definition whose text is not constant.
func definitions(name, source string) (text, doubt string, err error) {
	d := &definer{files: gotoken.NewFileSet(), given: map[string]bool{}, known: map[string]fixed{}}
	parsed, err := parser.ParseFile(d.files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return "", "", err //nolint:wrapcheck // it has the place.
	}
	for _, decl := range parsed.Decls {
		ast.Inspect(decl, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				d.declare(spec)
			}
			switch n.(type) {
			case *ast.FuncDecl, *ast.FuncLit:
				return false
			}
			return true
		})
	}
	ast.Inspect(parsed, d.visit)
	return d.text.String(), d.doubt, nil
}

// definer collects the DDL of a file.
type definer struct {
	files *gotoken.FileSet
	text  strings.Builder
	doubt string
	given map[string]bool // definitions by those
	back  *ast.FuncLit    // the down function of a call that registers up and down
	known map[string]fixed
}

// fixed is the constant text of a name.
type fixed struct {
	text   string
	local  bool // declared in the function
	varies bool // assigned more than once
}

// visit collects DDL from functions and lists.
func (d *definer) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Body != nil && !undoes.MatchString(n.Name.Name) {
			d.function(n.Type, n.Body)
		}
		return false
	case *ast.FuncLit:
		if n != d.back {
			d.function(n.Type, n.Body)
		}
		return false
	case *ast.ValueSpec:
		return !slices.ContainsFunc(n.Names, func(name *ast.Ident) bool { return undoes.MatchString(name.Name) })
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && undoes.MatchString(key.Name) {
			return false
		}
		d.element(n.Value)
	case *ast.CompositeLit:
		for _, x := range n.Elts {
			d.element(x)
		}
	case *ast.CallExpr:
		d.call(n)
		if len(n.Args) > 1 {
			_, up := n.Args[len(n.Args)-2].(*ast.FuncLit)
			if down, ok := n.Args[len(n.Args)-1].(*ast.FuncLit); up && ok {
				d.back = down
			}
		}
	case *ast.AssignStmt:
		d.assign(n)
	}
	return true
}

func (d *definer) assign(n *ast.AssignStmt) {
	for i, left := range n.Lhs {
		if name, ok := left.(*ast.Ident); ok && len(n.Rhs) == len(n.Lhs) {
			d.set(name.Name, n.Rhs[i])
			if n.Tok != gotoken.ASSIGN && n.Tok != gotoken.DEFINE { // += on a text that may be unknown
				d.known[name.Name] = fixed{text: d.shown(n.Rhs[i]), local: true, varies: true}
			}
		}
	}
}

// function reads a function, whose parameters are not known.
func (d *definer) function(signature *ast.FuncType, body *ast.BlockStmt) {
	around := d.known
	d.known = maps.Clone(around)
	for _, field := range signature.Params.List {
		for _, name := range field.Names {
			delete(d.known, name.Name)
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for i, name := range spec.Names {
				if i < len(spec.Values) {
					d.set(name.Name, spec.Values[i])
				}
			}
		}
		return d.visit(n)
	})
	d.known = around
}

// declare reads constants and variables outside of functions.
func (d *definer) declare(spec *ast.ValueSpec) {
	for i, value := range spec.Values {
		text, ok := d.folded(value)
		if ok && i < len(spec.Names) {
			d.known[spec.Names[i].Name] = fixed{text: text}
		}
		if ok && defines.MatchString(text) {
			d.given[text] = true
			d.write(text)
		}
	}
}

// set records an assignment to a variable of a function.
func (d *definer) set(name string, value ast.Expr) {
	text, ok := d.folded(value)
	old, set := d.known[name]
	if set && old.local {
		d.known[name] = fixed{text: old.text + "\n" + text, local: true, varies: true}
	} else if ok || set {
		d.known[name] = fixed{text: text, local: true, varies: !ok}
	}
}

// call collects the statement of an Exec call.
func (d *definer) call(call *ast.CallExpr) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !runs.MatchString(method.Sel.Name) {
		return
	}
	for _, x := range call.Args[:min(2, len(call.Args))] { // a context may come first
		if text, ok := d.folded(x); ok {
			if mentions.MatchString(text) && !d.given[text] {
				d.write(text)
			}
			return
		}
		ast.Inspect(x, func(n ast.Node) bool {
			if part, ok := n.(ast.Expr); ok && mentions.MatchString(d.shown(part)) {
				d.doubt = fmt.Sprintf("the definition in line %d is put together at run time", d.files.Position(x.Pos()).Line)
			}
			return true
		})
	}
}

// shown returns the constant parts of a text.
func (d *definer) shown(x ast.Expr) string {
	text, _ := d.folded(x)
	return text
}

// element collects an element of a list.
func (d *definer) element(x ast.Expr) {
	if text, ok := d.folded(x); ok && changes.MatchString(text) && !d.given[text] {
		d.write(text)
	}
}

func (d *definer) write(text string) {
	d.text.WriteString(strings.TrimRight(text, "; \t\r\n") + "\n;\n") // a comment may be at its end
}

// folded returns the text of a literal, of a name that is known, or of a sum of these.
func (d *definer) folded(x ast.Expr) (string, bool) {
	switch x := ast.Unparen(x).(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(x.Value)
		return text, x.Kind == gotoken.STRING && err == nil
	case *ast.Ident:
		one, ok := d.known[x.Name]
		return one.text, ok && !one.varies
	case *ast.BinaryExpr:
		left, ok := d.folded(x.X)
		right, also := d.folded(x.Y)
		return left + right, ok && also && x.Op == gotoken.ADD
	}
	return "", false
}
