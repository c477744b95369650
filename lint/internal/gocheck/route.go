package gocheck

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// registration is a call that may register a handler.
type registration struct {
	call     *ast.CallExpr // all of it
	handlers []ast.Expr
	what     string // "POST /orders"
	asks     bool   // the pattern names no method: the handler must ask for it
}

// routes adds the handlers that are registered for POST, PUT and PATCH, and the guards that may be around all of them.
func (c *collector) routes() {
	for _, file := range c.files() {
		seen := map[*ast.CallExpr]bool{}
		var covered []ast.Node
		around := parents(file)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || seen[call] {
				return true
			}
			r, ok := c.registration(call)
			if !ok {
				covered = append(covered, c.middleware(file, call, around)...)
				c.services(call)
				return true
			}
			for inner := call; inner != nil; inner = receiverCall(inner) { // r.HandleFunc(…).Methods("POST") is one
				seen[inner] = true
			}
			if c.route(r) {
				covered = append(covered, call)
			}
			return true
		})
		c.wrappers(file, covered)
	}
}

var routing = regexp.MustCompile(`^(?i)(handle|handler|handlefunc|handlerfunc|get|head|post|put|patch|delete|options|any|all|method|methodfunc|mount|add)$`)

// registers reports whether a function registers handlers, for any method.
func (c *collector) registers(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || found || len(call.Args) < 2 || !routing.MatchString(calledName(call)) {
			return !found
		}
		path, ok := c.text(call.Args[0])
		found = ok && (path == "" || strings.Contains(path, "/")) && slices.ContainsFunc(call.Args[1:], func(x ast.Expr) bool {
			t := c.pass.TypesInfo.TypeOf(x)
			return t != nil && isHandler(t)
		})
		return !found
	})
	return found
}

// receiverCall is the call whose result has the method that is called.
func receiverCall(call *ast.CallExpr) *ast.CallExpr {
	s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	inner, _ := ast.Unparen(s.X).(*ast.CallExpr)
	return inner
}

// registration recognises the shapes of net/http, chi, gin, echo, fiber, gorilla and those like them: the name says the
// method, or an argument does, and a later one is a handler.
func (c *collector) registration(call *ast.CallExpr) (registration, bool) {
	r := registration{call: call}
	name := calledName(call)
	args := call.Args
	switch {
	case name == "Methods" && slices.ContainsFunc(args, c.namesUnsafe):
		return c.chained(call)
	case isUnsafe(strings.ToUpper(name)) && len(args) > 1:
		path, ok := c.text(args[0])
		if !ok || path != "" && path[0] != '/' {
			return r, false
		}
		r.what, r.handlers = strings.ToUpper(name)+" "+path, args[1:]
	case slices.Contains([]string{"Method", "MethodFunc", "Handle", "Handler", "HandlerFunc", "Add", "AddRoute"}, name) && len(args) > 2 && c.namesUnsafe(args[0]):
		method, _ := c.text(args[0])
		path, ok := c.text(args[1])
		if !ok {
			return r, false
		}
		r.what, r.handlers = method+" "+path, args[2:]
	case (name == "Handle" || name == "HandleFunc") && len(args) == 2:
		pattern, ok := c.text(args[0])
		if !ok {
			return r, false
		}
		method, path, named := strings.Cut(pattern, " ")
		if named && !isUnsafe(method) {
			return r, false
		}
		r.what, r.handlers, r.asks = pattern, args[1:], !named
		if named {
			r.what = method + " " + strings.TrimSpace(path)
		}
	default:
		return r, false
	}
	return r, slices.ContainsFunc(r.handlers, func(x ast.Expr) bool {
		t := c.pass.TypesInfo.TypeOf(x)
		return t != nil && isHandler(t)
	})
}

// chained recognises the routes of gorilla: r.HandleFunc("/orders", h).Methods("POST").
func (c *collector) chained(call *ast.CallExpr) (registration, bool) {
	r := registration{call: call}
	for _, x := range call.Args {
		if s, ok := c.text(x); ok && isUnsafe(s) && r.what == "" {
			r.what = s
		}
	}
	for inner := receiverCall(call); inner != nil; inner = receiverCall(inner) {
		switch calledName(inner) {
		case "Handle", "HandleFunc", "Path":
			if path, ok := c.text(inner.Args[0]); ok {
				r.what += " " + path
			}
			r.handlers = append(r.handlers, inner.Args[1:]...)
		case "Handler", "HandlerFunc":
			r.handlers = append(r.handlers, inner.Args...)
		}
	}
	return r, len(r.handlers) > 0
}

// route adds a registration. It reports whether a guard that it holds is only for this handler.
func (c *collector) route(r registration) (covered bool) {
	f := &function{}
	for _, h := range r.handlers {
		f.adopt(c.handler(h, r.asks, trail{}))
	}
	covered = !slices.ContainsFunc(r.handlers, c.holdsRouter)
	if r.asks && f.Writes == nil && f.Calls == nil {
		return covered
	}
	f.Guarded = c.around(r.call, trail{})
	c.addRoute(&route{What: r.what, Handler: f}, r.call)
	return covered
}

func (c *collector) addRoute(r *route, at *ast.CallExpr) {
	r.At, r.Text, r.pos = lineOf(c.pass.Fset, at.Pos()), short(types.ExprString(at)), at.Pos()
	r.Handler.At = r.At
	c.summary.Routes = append(c.summary.Routes, r)
}

// answers takes the comments at the routes into account.
func (c *collector) answers() {
	for _, r := range c.summary.Routes {
		r.Answer, r.Answered = c.sql.Answer(r.pos)
	}
}

// trail holds the variables whose values were followed.
type trail map[types.Object]bool

// follow reports whether a variable is met for the first time.
func (t trail) follow(v types.Object) bool {
	if t[v] {
		return false
	}
	t[v] = true
	return true
}

// handler returns what a handler does: its own code, and the functions that it mentions.
func (c *collector) handler(x ast.Expr, asks bool, followed trail) *function {
	f := c.scan(x)
	if asks {
		f.Writes, f.Calls = nil, posts(f.Calls)
	}
	ast.Inspect(x, func(n ast.Node) bool {
		if literal, ok := n.(*ast.FuncLit); ok {
			if part := c.posted(literal.Type, literal.Body); asks && part != nil {
				f.adopt(part)
			}
			return false
		}
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		f.adopt(c.served(e, asks))
		if name, ok := e.(*ast.Ident); ok && c.isFunction(name) && followed.follow(c.pass.TypesInfo.Uses[name]) {
			for _, value := range c.assigned[c.pass.TypesInfo.Uses[name]] {
				f.adopt(c.handler(value, asks, followed))
			}
		}
		return true
	})
	return f
}

// adopt adds what another function does.
func (f *function) adopt(g *function) {
	f.Writes, f.Calls = append(f.Writes, g.Writes...), append(f.Calls, g.Calls...)
}

// served returns what a value does that serves requests by a method.
func (c *collector) served(x ast.Expr, asks bool) *function {
	f := &function{}
	t := c.pass.TypesInfo.TypeOf(x)
	if t == nil || types.IsInterface(t) {
		return f
	}
	if fn := servesHTTP(t); fn != nil {
		c.mention(f, fn, x.Pos())
	}
	if asks {
		f.Calls = posts(f.Calls)
	}
	return f
}

// isFunction reports whether a name is a variable that holds a handler of any kind, which its values tell.
func (c *collector) isFunction(name *ast.Ident) bool {
	v, ok := c.pass.TypesInfo.Uses[name].(*types.Var)
	if !ok {
		return false
	}
	_, isFunc := v.Type().Underlying().(*types.Signature)
	return isFunc || types.IsInterface(v.Type()) && servesHTTP(v.Type()) != nil
}

// posts are the same functions as handlers of POST.
func posts(calls []edge) []edge {
	var posted []edge
	for _, e := range calls {
		if e.Interface == "" {
			e.To += whenPosted
			posted = append(posted, e)
		}
	}
	return posted
}

// around reports whether a guard is in an expression, or in what its variables were given.
func (c *collector) around(x ast.Node, followed trail) bool {
	if c.guarded(x) {
		return true
	}
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		if !ok || found {
			return !found
		}
		object := c.pass.TypesInfo.Uses[name]
		if v, isVar := object.(*types.Var); isVar && isHandlerOrRouter(v.Type()) && followed.follow(v) {
			next := func(x ast.Expr) bool { return c.around(x, followed) }
			found = slices.ContainsFunc(c.before[v], next) || slices.ContainsFunc(c.assigned[object], next)
		}
		if fn, isFunc := object.(*types.Func); isFunc { // one of the program's own
			f := c.byID[fn.Origin().FullName()]
			found = found || f != nil && f.Guarded
		}
		return !found
	})
	return found
}

// isHandlerOrRouter reports whether a variable of a type can hold a guard: a handler, a middleware, or a router with some.
func isHandlerOrRouter(t types.Type) bool {
	if isHandler(t) {
		return true
	}
	for _, name := range []string{"Use", "With", "Group", "POST", "Post"} {
		if object, _, _ := types.LookupFieldOrMethod(t, true, nil, name); object != nil {
			return true
		}
	}
	return false
}

// holdsRouter reports whether a handler is, or wraps, a router whose routes are registered elsewhere.
func (c *collector) holdsRouter(x ast.Expr) bool {
	x = ast.Unparen(x)
	t := c.pass.TypesInfo.TypeOf(x)
	if t == nil || !isHandler(t) {
		return false
	}
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return servesHTTP(t) != nil && hasRoutes(t)
	}
	wraps := false
	for _, of := range call.Args {
		if inner := c.pass.TypesInfo.TypeOf(of); inner != nil && isHandler(inner) {
			wraps = true
			if c.holdsRouter(of) {
				return true
			}
		}
	}
	if wraps || servesHTTP(t) == nil || !hasRoutes(t) {
		return false
	}
	if fn, ok := c.callee(call); ok && fn.Pkg() != nil && isOurs(fn.Pkg(), c) {
		f := c.byID[fn.Origin().FullName()]
		return f != nil && f.Registers
	}
	return true
}

// hasRoutes reports whether handlers can be registered with a type, or whether it may be anything that serves.
func hasRoutes(t types.Type) bool {
	for _, name := range []string{"Handle", "HandleFunc", "Post", "POST"} {
		if object, _, _ := types.LookupFieldOrMethod(t, true, nil, name); object != nil {
			return true
		}
	}
	return types.IsInterface(t)
}

func (c *collector) callee(call *ast.CallExpr) (*types.Func, bool) {
	var name *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		name = f
	case *ast.SelectorExpr:
		name = f.Sel
	case *ast.IndexExpr:
		if s, ok := f.X.(*ast.SelectorExpr); ok {
			name = s.Sel
		}
	}
	if name == nil {
		return nil, false
	}
	fn, ok := c.pass.TypesInfo.Uses[name].(*types.Func)
	return fn, ok
}
