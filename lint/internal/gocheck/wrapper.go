package gocheck

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// wrappers notes the functions that make handlers, outside of the nodes that are covered: any of them may be around the
// whole router. What a function returns that makes handlers counts where that function is used.
func (c *collector) wrappers(file *ast.File, covered []ast.Node) {
	for _, decl := range file.Decls {
		of := c.maker(decl)
		ast.Inspect(decl, func(n ast.Node) bool {
			if slices.Contains(covered, n) {
				return false
			}
			if s, ok := n.(*ast.ReturnStmt); ok && of != nil {
				for _, x := range s.Results {
					of.Wraps = append(of.Wraps, c.wrapping(x, trail{})...)
				}
				return false
			}
			if name, ok := n.(*ast.Ident); ok {
				c.summary.Wrappers = append(c.summary.Wrappers, c.wrapper(name)...)
			}
			return true
		})
	}
}

// maker returns the function that a declaration is, if it makes handlers.
func (c *collector) maker(decl ast.Decl) *function {
	d, ok := decl.(*ast.FuncDecl)
	if !ok {
		return nil
	}
	fn, ok := c.pass.TypesInfo.Defs[d.Name].(*types.Func)
	if !ok || !makesHandler(fn) {
		return nil
	}
	return c.byID[fn.FullName()]
}

// wrapper returns the function that makes handlers that a name means, "" for a guard.
func (c *collector) wrapper(name *ast.Ident) []string {
	fn, ok := c.pass.TypesInfo.Uses[name].(*types.Func)
	switch {
	case !ok || !makesHandler(fn):
		return nil
	case c.isGuard(fn):
		return []string{""}
	case c.byID[fn.Origin().FullName()] != nil:
		return []string{fn.Origin().FullName()}
	}
	return nil
}

// wrapping returns what may guard the handler that a function returns.
func (c *collector) wrapping(x ast.Expr, followed trail) (names []string) {
	if c.guarded(x) {
		return []string{""}
	}
	ast.Inspect(x, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		names = append(names, c.wrapper(name)...)
		v, ok := c.pass.TypesInfo.Uses[name].(*types.Var)
		if !ok || !isHandlerOrRouter(v.Type()) || !followed.follow(v) {
			return true
		}
		for _, value := range slices.Concat(c.before[v], c.assigned[v]) {
			names = append(names, c.wrapping(value, followed)...)
		}
		return true
	})
	return names
}

// parents returns the node around each node.
func parents(root ast.Node) map[ast.Node]ast.Node {
	around := map[ast.Node]ast.Node{}
	var stack []ast.Node
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if len(stack) > 0 {
			around[n] = stack[len(stack)-1]
		}
		stack = append(stack, n)
		return true
	})
	return around
}

// middleware returns the arguments of a call that puts them before a part of the routes, all of which are registered here.
func (c *collector) middleware(file *ast.File, call *ast.CallExpr, around map[ast.Node]ast.Node) (covered []ast.Node) {
	s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	switch {
	case isPart(call):
		ok = c.stays(file, call, around)
	case calledName(call) == "Use":
		switch of := ast.Unparen(s.X).(type) {
		case *ast.CallExpr: // r.Group("/").Use(guard)
			ok = isPart(of) && c.stays(file, call, around)
		case *ast.Ident:
			v, isVar := c.pass.TypesInfo.Uses[of].(*types.Var)
			ok = isVar && c.isLocal(file, v)
		default:
			ok = false
		}
	default:
		return nil
	}
	for _, x := range call.Args {
		if _, routes := x.(*ast.FuncLit); ok && !routes {
			covered = append(covered, x)
		}
	}
	return covered
}

// stays reports whether the router that a call returns is used here only: for a chain of calls, or by a variable.
func (c *collector) stays(file *ast.File, call *ast.CallExpr, around map[ast.Node]ast.Node) bool {
	switch of := around[call].(type) {
	case *ast.ExprStmt:
		return true
	case *ast.SelectorExpr:
		next, ok := around[of].(*ast.CallExpr)
		return ok && next.Fun == of && c.stays(file, next, around)
	case *ast.AssignStmt:
		name, ok := of.Lhs[0].(*ast.Ident)
		return ok && len(of.Lhs) == 1 && !c.escapes(file, c.pass.TypesInfo.ObjectOf(name))
	}
	return false
}

// isPart reports whether a call makes a router of a part of the routes.
func isPart(call *ast.CallExpr) bool {
	return slices.Contains([]string{"Group", "Route", "With", "Subrouter"}, calledName(call))
}

// isLocal reports whether a variable is a router of a part of the routes, and is handed to no other function.
func (c *collector) isLocal(file *ast.File, v *types.Var) bool {
	part := slices.ContainsFunc(c.assigned[v], func(x ast.Expr) bool {
		call, ok := ast.Unparen(x).(*ast.CallExpr)
		return ok && isPart(call)
	})
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isPart(call) {
			part = part || slices.ContainsFunc(call.Args, func(x ast.Expr) bool {
				literal, ok := x.(*ast.FuncLit)
				return ok && declares(literal, v.Pos())
			})
		}
		return !part
	})
	return part && !c.escapes(file, v)
}

// escapes reports whether a variable is handed to a function, stored or returned.
func (c *collector) escapes(file *ast.File, v types.Object) bool {
	found := false
	is := func(x ast.Expr) bool {
		name, ok := ast.Unparen(x).(*ast.Ident)
		return ok && c.pass.TypesInfo.Uses[name] == v
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = found || slices.ContainsFunc(n.Args, is)
		case *ast.AssignStmt:
			found = found || slices.ContainsFunc(n.Rhs, is)
		case *ast.ReturnStmt:
			found = found || slices.ContainsFunc(n.Results, is)
		case *ast.KeyValueExpr:
			found = found || is(n.Value)
		}
		return !found
	})
	return found
}

// declares reports whether a position is among the parameters of a function.
func declares(f *ast.FuncLit, pos token.Pos) bool { return f.Type.Pos() <= pos && pos < f.Type.End() }
