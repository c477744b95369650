package gocheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/gosql"
	"github.com/semel-dev/semel/lint/internal/judge"
)

// collector reads one package.
type collector struct {
	pass   *analysis.Pass
	sql    *gosql.Result
	guards []string
	known  *program // the packages that this one imports

	calls    map[*ast.CallExpr][]*gosql.Call
	byID     map[string]*function        // of this package and those it imports
	assigned map[types.Object][]ast.Expr // what the variables of the package get
	before   map[types.Object][]ast.Expr // what is put before the routes of a variable: r.Use(…)
	summary  *summary
	findings []located
}

func newCollector(pass *analysis.Pass, sql *gosql.Result, guards []string, known *program) *collector {
	c := &collector{
		pass: pass, sql: sql, guards: guards, known: known,
		calls: map[*ast.CallExpr][]*gosql.Call{}, byID: map[string]*function{}, assigned: map[types.Object][]ast.Expr{}, before: map[types.Object][]ast.Expr{},
		summary: &summary{Path: pass.Pkg.Path()},
	}
	for i := range sql.Calls {
		if call := &sql.Calls[i]; call.Expr != nil {
			c.calls[call.Expr] = append(c.calls[call.Expr], call)
		}
	}
	for _, s := range known.Packages {
		for _, f := range s.Functions {
			c.byID[f.ID] = f
		}
	}
	return c
}

// files returns those that are not tests.
func (c *collector) files() []*ast.File {
	var files []*ast.File
	for _, f := range c.pass.Files {
		if !strings.HasSuffix(c.pass.Fset.Position(f.Package).Filename, "_test.go") {
			files = append(files, f)
		}
	}
	return files
}

// functions adds every function with a body.
func (c *collector) functions() {
	for _, file := range c.files() {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					c.assign(left, n.Rhs, i)
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					c.assign(name, n.Values, i)
				}
			case *ast.CallExpr:
				c.parts(n)
			}
			return true
		})
	}
	for d, fn := range c.declarations() {
		f := c.scan(d.Body)
		f.ID, f.Name, f.At = fn.FullName(), nameOf(fn), lineOf(c.pass.Fset, d.Name.Pos())
		f.Guarded, f.Registers = f.Guarded || c.isGuard(fn), c.registers(d.Body)
		c.add(f)
		if n := c.posted(d.Type, d.Body); n != nil {
			n.ID, n.Name, n.At = fn.FullName()+whenPosted, f.Name, f.At
			c.add(n)
		}
	}
}

func (c *collector) add(f *function) {
	c.summary.Functions = append(c.summary.Functions, f)
	c.byID[f.ID] = f
}

// declarations yields the functions with a body, in the order of the source.
func (c *collector) declarations() func(func(*ast.FuncDecl, *types.Func) bool) {
	return func(yield func(*ast.FuncDecl, *types.Func) bool) {
		for _, file := range c.files() {
			for _, decl := range file.Decls {
				d, ok := decl.(*ast.FuncDecl)
				if !ok || d.Body == nil {
					continue
				}
				if fn, ok := c.pass.TypesInfo.Defs[d.Name].(*types.Func); ok && !yield(d, fn) {
					return
				}
			}
		}
	}
}

// assign notes what a variable gets.
func (c *collector) assign(left ast.Expr, values []ast.Expr, i int) {
	name, ok := left.(*ast.Ident)
	if !ok || len(values) == 0 {
		return
	}
	if i >= len(values) {
		i = 0
	}
	if object := c.pass.TypesInfo.ObjectOf(name); object != nil {
		c.assigned[object] = append(c.assigned[object], values[i])
	}
}

// parts notes what is put before routes, and where the router comes from that a function gets which registers routes:
// r.With(m).Route("/", func(r …) {…}).
func (c *collector) parts(call *ast.CallExpr) {
	if s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && s.Sel.Name == "Use" {
		if name, ok := ast.Unparen(s.X).(*ast.Ident); ok {
			object := c.pass.TypesInfo.ObjectOf(name)
			c.before[object] = append(c.before[object], call.Args...)
		}
	}
	if !isPart(call) {
		return
	}
	for _, x := range call.Args {
		literal, ok := x.(*ast.FuncLit)
		if !ok || len(literal.Type.Params.List) != 1 || len(literal.Type.Params.List[0].Names) != 1 {
			continue
		}
		c.assign(literal.Type.Params.List[0].Names[0], []ast.Expr{call.Fun}, 0)
	}
}

// nameOf is the name of a function as people write it: "(*Store).Create".
func nameOf(fn *types.Func) string {
	recv := fn.Signature().Recv()
	if recv == nil {
		return fn.Name()
	}
	of := types.TypeString(recv.Type(), func(*types.Package) string { return "" })
	if strings.HasPrefix(of, "*") {
		of = "(" + of + ")"
	}
	return of + "." + fn.Name()
}

// scan returns what the code below the nodes does, without a name.
func (c *collector) scan(nodes ...ast.Node) *function {
	f := &function{}
	var calls []*gosql.Call
	for _, n := range nodes {
		f.Guarded = f.Guarded || c.guarded(n)
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				calls = append(calls, c.calls[n]...)
			case *ast.Ident:
				if fn, ok := c.pass.TypesInfo.Uses[n].(*types.Func); ok {
					c.mention(f, fn, n.Pos())
				}
			}
			return true
		})
	}
	only := true
	for _, call := range calls {
		f.Writes = append(f.Writes, c.writes(call)...)
		for _, t := range call.Reads {
			only = only && (f.Reads == "" || f.Reads == t)
			f.Reads = t
		}
		only = only && len(call.Writes) == 0 && call.Unknown == ""
	}
	if !only {
		f.Reads = ""
	}
	return f
}

// mention adds an edge to a function, unless it leads out of what is known.
func (c *collector) mention(f *function, fn *types.Func, pos token.Pos) {
	fn = fn.Origin()
	line := c.pass.Fset.Position(pos).Line
	if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		if id, ok := c.contract(recv.Type()); ok {
			f.Calls = append(f.Calls, edge{To: fn.Name(), Interface: id, Line: line})
		}
		return
	}
	if fn.Pkg() == c.pass.Pkg || c.byID[fn.FullName()] != nil {
		f.Calls = append(f.Calls, edge{To: fn.FullName(), Line: line})
	}
}

var runsOnly = regexp.MustCompile(`^(Must|Named|Tx)*Exec`)

// writes returns the statements of a call that are not known to be safe.
func (c *collector) writes(call *gosql.Call) []write {
	var all []write
	at := lineOf(c.pass.Fset, call.Expr.Pos())
	for i := range call.Findings {
		f := &call.Findings[i]
		if !f.Open() || f.Verdict == lint.CannotTell && len(call.Writes) == 0 {
			continue
		}
		w := write{At: at, Verdict: f.Verdict, Rule: f.Rule, Text: short(f.Text)}
		if f.Rule == string(judge.NoUniqueKey) && len(call.Writes) == 1 {
			w.Table = call.Writes[0]
		}
		all = append(all, w)
	}
	if call.Unknown == "" || call.Wrapper || len(all) > 0 {
		return all
	}
	if _, answered := c.sql.Answer(call.Pos); !answered && runsOnly.MatchString(calledName(call.Expr)) {
		all = append(all, write{At: at, Verdict: lint.CannotTell, Rule: string(judge.Opaque), Text: "SQL that is not known here"})
	}
	return all
}

// calledName is the name of what is called, without its package or receiver.
func calledName(call *ast.CallExpr) string {
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// short is a statement on one line, of a length that a message bears.
func short(text string) string {
	const most = 60
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// contract notes an interface of the module and returns its name.
func (c *collector) contract(t types.Type) (id string, ok bool) {
	named, isNamed := types.Unalias(t).(*types.Named)
	if !isNamed || named.Obj().Pkg() == nil || named.TypeParams().Len() > 0 {
		return "", false
	}
	id = fmt.Sprintf("%s.%s", named.Obj().Pkg().Path(), named.Obj().Name())
	for _, known := range c.summary.Interfaces {
		if known.ID == id {
			return id, true
		}
	}
	of, isInterface := named.Underlying().(*types.Interface)
	if !isInterface || !isOurs(named.Obj().Pkg(), c) {
		return "", false
	}
	var methods []method
	for m := range of.Methods() {
		methods = append(methods, method{Name: m.Name(), Signature: signature(m)})
	}
	c.summary.Interfaces = append(c.summary.Interfaces, contract{ID: id, Methods: methods})
	return id, true
}

// isOurs reports whether a package belongs to what is looked at, and not to the standard library or another module.
func isOurs(pkg *types.Package, c *collector) bool {
	if pkg == c.pass.Pkg {
		return true
	}
	for _, s := range c.known.Packages {
		if s.Path == pkg.Path() {
			return true
		}
	}
	return false
}

// signature is that of a method, with full paths, so that those of different packages can be compared.
func signature(fn *types.Func) string {
	var b strings.Builder
	for _, tuple := range []*types.Tuple{fn.Signature().Params(), fn.Signature().Results()} {
		b.WriteByte('(')
		for v := range tuple.Variables() {
			b.WriteString(types.TypeString(v.Type(), nil))
			b.WriteByte(',')
		}
		b.WriteByte(')')
	}
	if fn.Signature().Variadic() {
		b.WriteString("...")
	}
	return b.String()
}
