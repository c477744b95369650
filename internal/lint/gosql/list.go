package gosql

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/types/typeutil"
)

func newEnv() *env {
	return &env{vars: map[*types.Var]value{}, lists: map[*types.Var][]value{}, funcs: map[*types.Var]*ast.FuncLit{}}
}

// passes notes the lists that a call hands to strings.Join, which only reads them, and to functions of the package.
func (p *program) passes(call *ast.CallExpr) {
	fn, ok := typeutil.Callee(p.pass.TypesInfo, call).(*types.Func)
	if !ok || fn.Pkg() == nil || call.Ellipsis.IsValid() {
		return
	}
	for i, x := range call.Args {
		id, ok := ast.Unparen(x).(*ast.Ident)
		if !ok {
			continue
		}
		v := p.list(id)
		params := fn.Origin().Signature().Params()
		switch {
		case v == nil:
		case fn.FullName() == "strings.Join":
			p.listOf(v).reads++
		case fn.Pkg() == p.pass.Pkg && i < params.Len() && !fn.Signature().Variadic():
			p.listOf(v).passed = append(p.listOf(v).passed, passed{fn.Origin(), params.At(i)})
		}
	}
}

// readOnly reports whether nothing changes the elements of a list, or keeps it.
func (p *program) readOnly(v *types.Var, depth int) bool {
	l := p.lists[v]
	if l == nil {
		return true // it is not used
	}
	if depth > maxDepth || l.uses != l.reads+len(l.passed) {
		return false
	}
	return !slices.ContainsFunc(l.passed, func(to passed) bool { return p.decls[to.fn] == nil || !p.readOnly(to.param, depth+1) })
}

// bind gives a parameter the list or the function literal that a call hands over.
func (p *program) bind(to *env, param *types.Var, x ast.Expr, from *env) {
	if f, ok := ast.Unparen(x).(*ast.FuncLit); ok {
		to.funcs[param] = f
		return
	}
	if !isList(param.Type()) || !p.readOnly(param.Origin(), 0) {
		return
	}
	if list, ok := p.items(x, from); ok {
		to.lists[param] = list
	}
}

// items returns the elements of a list of texts.
func (p *program) items(x ast.Expr, env *env) (all []value, ok bool) {
	switch x := ast.Unparen(x).(type) {
	case *ast.CompositeLit:
		return p.elementsOf(x, env)
	case *ast.Ident:
		v, isVar := p.pass.TypesInfo.ObjectOf(x).(*types.Var)
		if !isVar {
			return nil, false
		}
		if env != nil {
			if list, bound := env.lists[v]; bound {
				return list, true
			}
		}
		if lit, known := p.elements(v); known && (ofPackage(v) || constants(p, lit)) {
			return p.elementsOf(lit, nil)
		}
	case *ast.CallExpr:
		return p.mapped(x, env)
	}
	return nil, false
}

func (p *program) elementsOf(lit *ast.CompositeLit, env *env) (all []value, ok bool) {
	if _, isMap := p.pass.TypesInfo.TypeOf(lit).Underlying().(*types.Map); isMap || len(lit.Elts) > maxTexts {
		return nil, false
	}
	for _, x := range lit.Elts {
		if _, keyed := x.(*ast.KeyValueExpr); keyed {
			return nil, false
		}
		all = append(all, p.eval(x, env))
	}
	return all, true
}

// constants reports whether the elements of a list are the same wherever it is used.
func constants(p *program, lit *ast.CompositeLit) bool {
	for _, x := range lit.Elts {
		if _, ok := p.constant(x); !ok {
			return false
		}
	}
	return true
}

// mapped evaluates a call of a function of the package that makes a list of the results for each element of another:
//
//	b := make([]string, len(a))
//	for i, v := range a {
//		b[i] = f(v)
//	}
//	return b
func (p *program) mapped(call *ast.CallExpr, outer *env) (all []value, ok bool) {
	fn, _ := typeutil.Callee(p.pass.TypesInfo, call).(*types.Func)
	if fn == nil || fn.Pkg() != p.pass.Pkg || call.Ellipsis.IsValid() || fn.Signature().Variadic() || p.depth >= maxDepth || p.budget <= 0 {
		return nil, false
	}
	decl := p.decls[fn.Origin()]
	if decl == nil || decl.Body == nil || len(decl.Body.List) != 3 {
		return nil, false
	}
	from, element, result := p.mapping(decl.Body.List)
	if from == nil {
		return nil, false
	}
	p.depth++
	p.budget--
	defer func() { p.depth-- }()
	own := newEnv()
	params := fn.Signature().Params()
	for i := range min(params.Len(), len(call.Args)) {
		p.bind(own, params.At(i), call.Args[i], outer)
		if isText(params.At(i).Type()) {
			own.vars[params.At(i)] = p.eval(call.Args[i], outer)
		}
	}
	list, ok := own.lists[from]
	for _, one := range list {
		own.vars[element] = one
		all = append(all, p.applied(result, own, outer))
	}
	return all, ok
}

// mapping reads the three statements of such a function: the list that it goes through, the element, and its result.
func (p *program) mapping(body []ast.Stmt) (from, element *types.Var, result ast.Expr) {
	made, isMade := body[0].(*ast.AssignStmt)
	loop, isLoop := body[1].(*ast.RangeStmt)
	last, isLast := body[2].(*ast.ReturnStmt)
	if !isMade || !isLoop || !isLast || made.Tok != token.DEFINE || len(made.Lhs) != 1 || len(last.Results) != 1 || len(loop.Body.List) != 1 {
		return nil, nil, nil
	}
	list, index := p.local(made.Lhs[0]), p.local(loop.Key)
	from, element = p.local(loop.X), p.local(loop.Value)
	set, ok := loop.Body.List[0].(*ast.AssignStmt)
	if !ok || list == nil || index == nil || from == nil || element == nil || p.local(last.Results[0]) != list || set.Tok != token.ASSIGN || len(set.Lhs) != 1 || len(set.Rhs) != 1 {
		return nil, nil, nil
	}
	size, sized := made.Rhs[0].(*ast.CallExpr)
	if !sized || describe(size.Fun) != "make" || len(size.Args) != 2 || describe(size.Args[1]) != "len("+from.Name()+")" {
		return nil, nil, nil
	}
	at, ok := set.Lhs[0].(*ast.IndexExpr)
	if !ok || p.local(at.X) != list || p.local(at.Index) != index {
		return nil, nil, nil
	}
	return from, element, set.Rhs[0]
}

// applied evaluates an expression that may call a function literal of the caller, which has one statement.
func (p *program) applied(x ast.Expr, own, outer *env) value {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return p.eval(x, own)
	}
	f := own.funcs[p.local(call.Fun)]
	if f == nil || len(call.Args) != 1 || len(f.Body.List) != 1 || len(f.Type.Params.List) != 1 || len(f.Type.Params.List[0].Names) != 1 {
		return p.eval(x, own)
	}
	returns, ok := f.Body.List[0].(*ast.ReturnStmt)
	param := p.local(f.Type.Params.List[0].Names[0])
	if !ok || len(returns.Results) != 1 || param == nil || !isText(param.Type()) {
		return unknown(describe(x))
	}
	within := newEnv()
	if outer != nil {
		maps.Copy(within.vars, outer.vars)
		within.lists, within.funcs = outer.lists, outer.funcs
	}
	within.vars[param] = p.eval(call.Args[0], own)
	return p.eval(returns.Results[0], within)
}
