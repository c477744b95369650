package gosql

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/types/typeutil"
)

// isBuilder reports whether a type collects a text: a strings.Builder or a bytes.Buffer, or a pointer to one.
func isBuilder(t types.Type) bool {
	if pointer, ok := t.(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return false
	}
	name := named.Obj().Pkg().Path() + "." + named.Obj().Name()
	return name == "strings.Builder" || name == "bytes.Buffer"
}

// builder returns the local builder that an expression names, or whose address it takes.
func (p *program) builder(x ast.Expr) *types.Var {
	if address, ok := ast.Unparen(x).(*ast.UnaryExpr); ok {
		x = address.X
	}
	if v := p.local(x); v != nil && isBuilder(v.Type()) {
		return v
	}
	return nil
}

// write returns the builder that a call adds to, and what it adds: the arguments of fmt.Fprintf, or one text.
func (p *program) write(call *ast.CallExpr) (*types.Var, []ast.Expr) {
	selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 || call.Ellipsis.IsValid() {
		return nil, nil
	}
	switch selector.Sel.Name {
	case "WriteString", "WriteByte", "WriteRune", "Write":
		return p.builder(selector.X), call.Args
	case "Fprintf", "Fprint", "Fprintln":
		if fn, ok := typeutil.Callee(p.pass.TypesInfo, call).(*types.Func); ok && fn.Pkg() != nil && fn.Pkg().Path() == "fmt" {
			return p.builder(call.Args[0]), call.Args[1:]
		}
	}
	return nil, nil
}

// readsBuilder returns the builder of which a call only reads.
func (p *program) readsBuilder(call *ast.CallExpr) *types.Var {
	selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	switch selector.Sel.Name {
	case "String", "Len", "Grow", "Cap":
		return p.builder(selector.X)
	}
	return nil
}

// written evaluates what a call adds to a builder.
func (p *program) written(call *ast.CallExpr, args []ast.Expr, env *env) value {
	selector, _ := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	switch {
	case selector.Sel.Name == "Fprintf" && len(args) > 0:
		return p.sprintf(args[0], args[1:], env)
	case selector.Sel.Name == "WriteString" || selector.Sel.Name == "Fprint" && len(args) == 1 && isText(p.pass.TypesInfo.TypeOf(args[0])):
		return p.eval(args[0], env)
	}
	return unknown(describe(call))
}

// built evaluates the method String of a builder.
func (p *program) built(call *ast.CallExpr, env *env) (value, bool) {
	v := p.readsBuilder(call)
	if v == nil {
		return value{}, false
	}
	return p.variable(v, env), true
}

// initial returns the texts that a variable holds when it is set to an expression.
func (p *program) initial(v *types.Var, x ast.Expr, env *env) value {
	switch {
	case isText(v.Type()):
		return p.eval(x, env)
	case isBuilder(v.Type()):
		if address, ok := ast.Unparen(x).(*ast.UnaryExpr); ok {
			x = address.X
		}
		if lit, ok := ast.Unparen(x).(*ast.CompositeLit); ok && len(lit.Elts) == 0 {
			return literal("")
		}
		if call, ok := ast.Unparen(x).(*ast.CallExpr); ok && describe(call.Fun) == "new" {
			return literal("")
		}
		return unknown(describe(x))
	case isWhole(v.Type()):
		return value{texts: []text{{{hole: number, why: v.Name()}}}}
	}
	return value{}
}

// first evaluates result i of an expression that has several.
func (p *program) first(x ast.Expr, i int, env *env) value {
	x = ast.Unparen(x)
	if index, ok := x.(*ast.IndexExpr); ok && i == 0 {
		return p.eval(index, env)
	}
	call, ok := x.(*ast.CallExpr)
	if !ok || i > 0 {
		return unknown(describe(x))
	}
	fn, ok := typeutil.Callee(p.pass.TypesInfo, call).(*types.Func)
	if !ok || fn.Pkg() == nil {
		return unknown(describe(x))
	}
	switch name := fn.Name(); {
	case fn.Pkg().Path() == "github.com/jmoiron/sqlx" && (name == "In" || name == "Named" || name == "BindNamed") && len(call.Args) > 0:
		return p.eval(call.Args[0], env).each(func(s string) string { return spread.ReplaceAllString(s, "$1, ?$2") })
	case fn.Pkg() == p.pass.Pkg:
		if v, ok := p.inline(fn.Origin(), call, env); ok {
			return v
		}
	}
	return unknown(describe(x))
}
