package gocheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint"
)

// retries looks at every function for loops and libraries that repeat a write after any error.
func (c *collector) retries() {
	g := newGraph(&program{Packages: append(slices.Clone(c.known.Packages), c.summary)})
	g.types = nil // another package may have one more type that implements an interface
	for d, fn := range c.declarations() {
		if f := c.byID[fn.FullName()]; f == nil || f.Guarded {
			continue
		}
		ast.Inspect(d.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt:
				(&loop{collector: c, graph: g, around: n, body: n.Body}).check()
			case *ast.RangeStmt:
				if t := c.pass.TypesInfo.TypeOf(n.X); t != nil && isNumber(t) {
					(&loop{collector: c, graph: g, around: n, body: n.Body}).check()
				}
			case *ast.CallExpr:
				c.repeated(g, n)
			}
			return true
		})
	}
}

func isNumber(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

// loop is one that may be a retry.
type loop struct {
	*collector

	graph  *graph
	around ast.Stmt
	body   *ast.BlockStmt
}

// check reports the first write of the loop that is repeated after any error, and not repeated after none.
func (l *loop) check() {
	transactions := l.transactions()
	for n, s := range l.body.List {
		assign, behind := attempt(s, l.body.List[n+1:])
		if assign == nil {
			continue
		}
		failed := l.errorOf(assign)
		if failed == nil || !l.blind(failed) || !exits(l.pass.TypesInfo, failed, behind) {
			continue
		}
		if call, w, ok := l.repeats(assign, transactions); ok {
			l.reportRetry(call, w, "the loop at "+lineOf(l.pass.Fset, l.around.Pos()).String())
			return
		}
	}
}

// attempt returns the assignment of a statement, and the statements that decide what follows.
func attempt(s ast.Stmt, rest []ast.Stmt) (assign *ast.AssignStmt, behind []ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s, rest
	case *ast.IfStmt:
		if a, ok := s.Init.(*ast.AssignStmt); ok {
			return a, append([]ast.Stmt{s}, rest...)
		}
	}
	return nil, nil
}

// errorOf returns the variable of type error that an assignment sets.
func (c *collector) errorOf(s *ast.AssignStmt) types.Object {
	for _, left := range s.Lhs {
		if name, ok := ast.Unparen(left).(*ast.Ident); ok {
			if object := c.pass.TypesInfo.ObjectOf(name); object != nil && isError(object.Type()) {
				return object
			}
		}
	}
	return nil
}

// exits reports whether the loop ends without an error, and goes on with one: if err == nil { return }, or
// if err != nil { continue } with a return behind it.
func exits(info *types.Info, failed types.Object, behind []ast.Stmt) bool {
	if len(behind) == 0 {
		return false
	}
	s, ok := behind[0].(*ast.IfStmt)
	if !ok {
		return false
	}
	op, ok := nilCompare(info, s.Cond, failed)
	if !ok {
		return false
	}
	rest := &ast.BlockStmt{List: behind[1:]}
	otherwise, _ := s.Else.(*ast.BlockStmt)
	if op == token.EQL {
		return ends(s.Body) && !ends(rest) && (otherwise == nil || !ends(otherwise))
	}
	if otherwise != nil {
		return ends(otherwise) && !ends(s.Body) && !ends(rest)
	}
	last, ok := lastOf(s.Body).(*ast.BranchStmt)
	return ok && last.Tok == token.CONTINUE && ends(rest) && noMore(rest)
}

// noMore reports whether nothing but the end of the loop follows: a second write that fails is not what is retried.
func noMore(rest *ast.BlockStmt) bool { return len(rest.List) == 1 }

func lastOf(b *ast.BlockStmt) ast.Stmt {
	if len(b.List) == 0 {
		return nil
	}
	return b.List[len(b.List)-1]
}

// ends reports whether a block leaves the loop.
func ends(b *ast.BlockStmt) bool {
	switch s := lastOf(b).(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok == token.BREAK || s.Tok == token.GOTO
	}
	return false
}

// nilCompare recognises err == nil and err != nil.
func nilCompare(info *types.Info, x ast.Expr, failed types.Object) (token.Token, bool) {
	b, ok := ast.Unparen(x).(*ast.BinaryExpr)
	if !ok || !info.Types[b.Y].IsNil() {
		return 0, false
	}
	name, ok := ast.Unparen(b.X).(*ast.Ident)
	return b.Op, ok && info.Uses[name] == failed && (b.Op == token.EQL || b.Op == token.NEQ)
}

var endOfContext = regexp.MustCompile(`context\.(Canceled|DeadlineExceeded)`)

// blind reports whether no condition of the loop asks which error it was; that the context has ended does not count.
func (l *loop) blind(failed types.Object) bool {
	blind := true
	condition := func(x ast.Expr) {
		if x == nil || endOfContext.MatchString(types.ExprString(x)) {
			return
		}
		if _, ok := nilCompare(l.pass.TypesInfo, x, failed); ok {
			return
		}
		blind = blind && !l.mentions(x, failed)
	}
	ast.Inspect(l.around, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			condition(n.Cond)
		case *ast.ForStmt:
			condition(n.Cond)
		case *ast.SwitchStmt:
			condition(n.Tag)
		case *ast.CaseClause:
			for _, x := range n.List {
				condition(x)
			}
		case *ast.TypeSwitchStmt:
			blind = false
		case *ast.AssignStmt: // retryable := isRetryable(err)
			for _, x := range n.Rhs {
				if t := l.pass.TypesInfo.TypeOf(x); t != nil && !isError(t) && l.mentions(x, failed) {
					blind = false
				}
			}
		}
		return true
	})
	return blind
}

func (c *collector) mentions(n ast.Node, object types.Object) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && c.pass.TypesInfo.ObjectOf(name) == object {
			found = true
		}
		return !found
	})
	return found
}

// transactions are the variables that the loop begins a transaction with.
func (l *loop) transactions() map[types.Object]bool {
	begun := map[types.Object]bool{}
	ast.Inspect(l.body, func(n ast.Node) bool {
		if s, ok := n.(*ast.AssignStmt); ok && len(s.Rhs) == 1 {
			call, isCall := ast.Unparen(s.Rhs[0]).(*ast.CallExpr)
			name, isName := s.Lhs[0].(*ast.Ident)
			if isCall && isName && strings.HasPrefix(strings.ToLower(calledName(call)), "begin") {
				begun[l.pass.TypesInfo.ObjectOf(name)] = true
			}
		}
		return true
	})
	return begun
}

// repeats returns the write that an assignment makes, which is not the same after a second time. Writes in a transaction of the
// loop are taken back when they fail, but the error of a commit says nothing.
func (l *loop) repeats(s *ast.AssignStmt, transactions map[types.Object]bool) (at *ast.CallExpr, w write, ok bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		call, isCall := n.(*ast.CallExpr)
		if !isCall || ok {
			return !ok
		}
		if calledName(call) == "Commit" && l.uses(call, transactions) {
			at = call
			w, ok = l.worst(l.body)
			return false
		}
		one, found := l.worstCall(call) // a write in such a transaction varies with it
		if found && !l.varies(call) {
			at, w, ok = call, one, true
		}
		return !ok
	})
	return at, w, ok
}

// uses reports whether a call is made on one of the variables, or gets one.
func (l *loop) uses(call *ast.CallExpr, variables map[types.Object]bool) bool {
	for v := range variables {
		if l.mentions(call, v) {
			return true
		}
	}
	return false
}

// varies reports whether a call gets something that the loop sets: each turn may be about something else.
func (l *loop) varies(call *ast.CallExpr) bool {
	found := false
	ast.Inspect(call, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		if !ok || found {
			return !found
		}
		v, ok := l.pass.TypesInfo.Uses[name].(*types.Var)
		found = ok && !isContext(v.Type()) && l.sets(v, call)
		return !found
	})
	return found
}

// sets reports whether the loop gives a variable a value outside of a call, of which it may be a parameter or local.
func (l *loop) sets(v *types.Var, call *ast.CallExpr) bool {
	if call.Pos() <= v.Pos() && v.Pos() < call.End() {
		return false
	}
	if l.around.Pos() <= v.Pos() && v.Pos() < l.around.End() {
		return true
	}
	found := false
	ast.Inspect(l.around, func(n ast.Node) bool {
		if s, ok := n.(*ast.AssignStmt); ok && (call.Pos() < s.Pos() || s.End() < call.End()) {
			found = found || slices.ContainsFunc(s.Lhs, func(x ast.Expr) bool { return l.mentions(x, v) })
		}
		return !found
	})
	return found
}

func isContext(t types.Type) bool {
	return strings.HasSuffix(types.TypeString(t, nil), "context.Context")
}

// worst returns the write below a node that is not safe.
func (l *loop) worst(n ast.Node) (w write, ok bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, isCall := n.(*ast.CallExpr); isCall && !ok {
			w, ok = l.worstCall(call)
		}
		return !ok
	})
	return w, ok
}

func (l *loop) worstCall(call *ast.CallExpr) (w write, ok bool) {
	return l.unsafe(l.graph, call)
}

// unsafe returns the write of a call that is not safe, in the call or in the function that is called.
func (c *collector) unsafe(g *graph, call *ast.CallExpr) (w write, ok bool) {
	for _, one := range c.calls[call] {
		for _, w := range c.writes(one) {
			if w.Verdict == lint.NotSafe {
				return w, true
			}
		}
	}
	fn, isFunc := c.callee(call)
	if !isFunc {
		return write{}, false
	}
	return g.unsafe(fn.Origin().FullName())
}

// unsafe returns the write that a function reaches and that is not safe.
func (g *graph) unsafe(id string) (w write, ok bool) {
	f := g.functions[id]
	if f == nil || f.Guarded {
		return write{}, false
	}
	_, w, _ = g.reach(f)
	return w, w.Verdict == lint.NotSafe
}

func (c *collector) reportRetry(call *ast.CallExpr, w write, by string) {
	at := lineOf(c.pass.Fset, call.Pos())
	why := fmt.Sprintf("%s repeats this after any error, even when the write went through and only its answer was lost; %s (%s) is not safe to run twice (%s)", by, w.Text, w.At, w.Rule)
	if calledName(call) == "Commit" {
		why = fmt.Sprintf("%s begins again after any error of the commit, even when it went through and only its answer was lost; %s (%s) is not safe to run twice (%s)", by, w.Text, w.At, w.Rule)
	}
	c.findings = append(c.findings, located{pos: call.Pos(), Finding: lint.Finding{
		File: at.File, Line: at.Line, Column: at.Column, Text: short(types.ExprString(call)), Verdict: lint.NotSafe, Rule: RetryLoop, Why: why,
		Guard: "repeat only what is known to be rolled back (40001, 40P01, 1213), or do it in semel.Do with one key for all attempts",
	}})
}
