package gosql

import (
	"go/ast"
	"go/token"
	"go/types"
)

// scope holds what the code of one function does with its variables.
type scope struct {
	body *ast.BlockStmt
	vars map[*types.Var]*variable
}

// variable holds the uses of one variable.
type variable struct {
	defs   []event
	sets   []event
	passed []event // to calls, by address
	leaks  []event // other uses that may change what it holds
	uses   int
}

// event is one use of a variable.
type event struct {
	pos, end token.Pos
	within   ast.Node      // the innermost block
	value    ast.Expr      // of a definition or setting; nil for the zero value, or what is not known
	field    string        // of a setting: the field
	key      ast.Expr      // of a setting: the key of a map
	call     *ast.CallExpr // that it is passed to
	unknown  bool          // the value is not known
}

// scopeOf returns the scope of a function; it is empty for none.
func (p *program) scopeOf(f *types.Func) *scope {
	decl := p.decls[f]
	if decl == nil {
		return &scope{}
	}
	if p.scopes[f] == nil {
		s := &scope{body: decl.Body, vars: map[*types.Var]*variable{}}
		(&surveyor{p: p, scope: s}).survey(decl.Body)
		p.scopes[f] = s
	}
	return p.scopes[f]
}

// variable returns the uses of a variable, none for one of elsewhere.
func (s *scope) variable(v *types.Var) *variable {
	if s.vars == nil || v == nil {
		return &variable{}
	}
	if s.vars[v] == nil {
		s.vars[v] = &variable{}
	}
	return s.vars[v]
}

// certain reports whether an event has happened whenever the code at a place runs.
func (s *scope) certain(e *event, at token.Pos) bool {
	return e.end <= at && e.within != nil && e.within.Pos() <= at && at < e.within.End()
}

// possible reports whether an event on a variable can have happened when the code at a place runs.
func (s *scope) possible(v *types.Var, e *event, at token.Pos) bool {
	if e.pos < at || s.body == nil {
		return true
	}
	found := false
	ast.Inspect(s.body, func(n ast.Node) bool {
		if n == nil || found || n.Pos() > at || n.End() <= at {
			return false
		}
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit, *ast.LabeledStmt:
			found = found || n.Pos() <= e.pos && e.pos < n.End() && (v.Pos() < n.Pos() || v.Pos() >= n.End())
		}
		return true
	})
	return found
}

// surveyor collects the uses of variables.
type surveyor struct {
	p     *program
	scope *scope
	stack []ast.Node
}

func (s *surveyor) survey(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			s.stack = s.stack[:len(s.stack)-1]
			return true
		}
		switch n := n.(type) {
		case *ast.Ident:
			if v, ok := s.p.pass.TypesInfo.Uses[n].(*types.Var); ok && !v.IsField() && !ofPackage(v) {
				s.use(n, v)
			}
		case *ast.AssignStmt:
			s.assign(n)
		case *ast.ValueSpec:
			s.declare(n)
		case *ast.RangeStmt:
			for _, x := range []ast.Expr{n.Key, n.Value} {
				if v := s.p.local(x); v != nil {
					s.define(v, n, &event{unknown: true})
				}
			}
		}
		s.stack = append(s.stack, n)
		return true
	})
}

// place completes an event with the statement that it is part of.
func (s *surveyor) place(n ast.Node, e *event) event {
	e.pos, e.end = n.Pos(), n.End()
	for i := len(s.stack) - 1; i >= 0 && e.within == nil; i-- {
		switch s.stack[i].(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.FuncLit:
			e.within = s.stack[i]
		}
	}
	return *e
}

func (s *surveyor) define(v *types.Var, n ast.Node, e *event) {
	of := s.scope.variable(v)
	of.defs = append(of.defs, s.place(n, e))
}

func (s *surveyor) declare(n *ast.ValueSpec) {
	for i, name := range n.Names {
		v, ok := s.p.pass.TypesInfo.Defs[name].(*types.Var)
		switch {
		case !ok:
		case len(n.Values) == 0:
			s.define(v, n, &event{})
		case len(n.Values) == len(n.Names):
			s.define(v, n, &event{value: n.Values[i]})
		default:
			s.define(v, n, &event{unknown: true})
		}
	}
}

func (s *surveyor) assign(n *ast.AssignStmt) {
	for i, left := range n.Lhs {
		e := &event{unknown: true}
		if len(n.Lhs) == len(n.Rhs) && (n.Tok == token.ASSIGN || n.Tok == token.DEFINE) {
			e = &event{value: n.Rhs[i]}
		}
		switch left := ast.Unparen(left).(type) {
		case *ast.Ident:
			if v := s.p.local(left); v != nil {
				s.define(v, n, e)
			}
		case *ast.IndexExpr:
			if v := s.p.local(left.X); v != nil {
				e.key = left.Index
				s.set(v, n, e)
			}
		case *ast.SelectorExpr:
			if v := s.p.local(left.X); v != nil {
				e.field = left.Sel.Name
				s.set(v, n, e)
			}
		}
	}
}

func (s *surveyor) set(v *types.Var, n ast.Node, e *event) {
	of := s.scope.variable(v)
	of.sets = append(of.sets, s.place(n, e))
}

// use notes a mention of a variable that may change what it holds.
func (s *surveyor) use(id *ast.Ident, v *types.Var) {
	of := s.scope.variable(v)
	of.uses++
	parent := s.parent(0)
	switch n := parent.(type) {
	case *ast.SelectorExpr:
		s.selected(of, n)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			s.pass(of, n, s.parent(1))
		}
	case *ast.AssignStmt:
		for _, left := range n.Lhs {
			if ast.Unparen(left) == id {
				return
			}
		}
		s.shared(of, v, n)
	case *ast.CallExpr:
		if n.Fun != id && shares(v.Type()) {
			s.pass(of, id, n)
		}
	case *ast.StarExpr:
		if a, ok := s.parent(1).(*ast.AssignStmt); ok && a.Pos() == n.Pos() {
			of.leaks = append(of.leaks, s.place(n, &event{}))
		}
	case *ast.KeyValueExpr, *ast.CompositeLit, *ast.SendStmt:
		s.shared(of, v, parent)
	}
}

// parent returns the node around the current one, or one further out.
func (s *surveyor) parent(out int) ast.Node {
	i := len(s.stack) - 1 - out
	for ; i >= 0; i-- {
		if _, ok := s.stack[i].(*ast.ParenExpr); !ok {
			return s.stack[i]
		}
	}
	return nil
}

// shares reports whether a copy of a value refers to the same content.
func shares(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Slice:
		return true
	}
	return false
}

func (s *surveyor) shared(of *variable, v *types.Var, n ast.Node) {
	if shares(v.Type()) {
		of.leaks = append(of.leaks, s.place(n, &event{}))
	}
}

// pass notes that a call gets a variable by its address.
func (s *surveyor) pass(of *variable, n, parent ast.Node) {
	if call, ok := parent.(*ast.CallExpr); ok {
		of.passed = append(of.passed, s.place(call, &event{call: call}))
		return
	}
	of.leaks = append(of.leaks, s.place(n, &event{}))
}

// selected notes that a field or a method of a variable is used other than by an assignment to the field.
func (s *surveyor) selected(of *variable, n *ast.SelectorExpr) {
	switch outer := s.parent(1).(type) {
	case *ast.UnaryExpr:
		if outer.Op == token.AND {
			of.sets = append(of.sets, s.place(n, &event{field: n.Sel.Name, unknown: true}))
		}
	case *ast.IncDecStmt:
		of.sets = append(of.sets, s.place(n, &event{field: n.Sel.Name, unknown: true}))
	case *ast.SelectorExpr, *ast.IndexExpr: // x.F.G = …, x.F[i] = …
		if a, ok := s.parent(2).(*ast.AssignStmt); ok && a.Pos() <= n.Pos() && n.End() <= a.TokPos {
			of.sets = append(of.sets, s.place(n, &event{field: n.Sel.Name, unknown: true}))
		}
		if inner, ok := outer.(*ast.SelectorExpr); ok {
			if call, ok := s.parent(2).(*ast.CallExpr); ok && ast.Unparen(call.Fun) == inner && s.p.changes(inner) {
				of.sets = append(of.sets, s.place(n, &event{field: n.Sel.Name, unknown: true}))
			}
		}
	case *ast.CallExpr:
		if ast.Unparen(outer.Fun) == n && s.p.changes(n) {
			of.leaks = append(of.leaks, s.place(outer, &event{call: outer}))
		}
	}
}

// changes reports whether a selector is a method that may change its receiver.
func (p *program) changes(n *ast.SelectorExpr) bool {
	chosen := p.pass.TypesInfo.Selections[n]
	if chosen == nil || chosen.Kind() != types.MethodVal {
		return false
	}
	fn, ok := chosen.Obj().(*types.Func)
	return ok && isPointer(fn.Signature().Recv().Type()) && !isORM(fn.Signature().Recv().Type())
}
