package gosql

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/types/typeutil"
)

func newEnv() *env {
	return &env{vars: map[*types.Var]value{}, lists: map[*types.Var][]value{}}
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

// bind gives a parameter the list that a call hands over.
func (p *program) bind(to *env, param *types.Var, x ast.Expr, from *env) {
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
