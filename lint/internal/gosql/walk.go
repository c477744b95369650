package gosql

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// walker follows a function from its beginning to its end.
type walker struct {
	p       *program
	env     *env
	changes *changes
	// call is called with every call, in the order of their evaluation; nil for none.
	call func(*ast.CallExpr, *env)
	// stored is called with every composite literal and every assignment to a field.
	literal func(*ast.CompositeLit, *env)
	field   func(left, right ast.Expr, e *env)
	// loops are those around this place.
	loops []ast.Node
	// returns collects what the function returns first.
	returns *value
}

func (w *walker) block(list []ast.Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

func (w *walker) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		w.assign(s)
	case *ast.DeclStmt:
		w.declare(s)
	case *ast.BlockStmt:
		w.block(s.List)
	case *ast.IfStmt:
		w.branch(s)
	case *ast.ForStmt:
		w.simple(s.Init)
		w.loop(s, func() {
			w.expr(s.Cond)
			w.block(s.Body.List)
			w.simple(s.Post)
		})
	case *ast.RangeStmt:
		w.expr(s.X)
		w.loop(s, func() {
			w.ranged(s)
			w.block(s.Body.List)
		})
	case *ast.SwitchStmt:
		w.simple(s.Init)
		w.expr(s.Tag)
		w.clauses(s, s.Body.List)
	case *ast.TypeSwitchStmt:
		w.simple(s.Init)
		w.simple(s.Assign)
		w.clauses(s, s.Body.List)
	case *ast.SelectStmt:
		w.clauses(s, s.Body.List)
	case *ast.ReturnStmt:
		w.exprs(s.Results)
		if w.returns != nil && !w.env.dead {
			*w.returns = union(*w.returns, w.returned(s))
		}
		w.env.dead = true
	case *ast.BranchStmt:
		w.env.dead = true // where it leads, what it skipped is unknown
	case *ast.LabeledStmt:
		w.p.blur(w.env, w.changes, s)
		w.stmt(s.Stmt)
		w.p.blur(w.env, w.changes, s)
		w.env.dead = false
	default:
		w.within(s)
	}
}

func (w *walker) simple(s ast.Stmt) {
	if s != nil {
		w.stmt(s)
	}
}

// within looks at the expressions of a statement without parts that are statements.
func (w *walker) within(s ast.Stmt) {
	ast.Inspect(s, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok {
			w.expr(x)
			return false
		}
		return true
	})
	if x, ok := s.(*ast.ExprStmt); ok {
		if call, ok := ast.Unparen(x.X).(*ast.CallExpr); ok && endsHere(w.p, call) {
			w.env.dead = true
		}
	}
}

// endsHere reports whether a call does not return.
func endsHere(p *program, call *ast.CallExpr) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok {
		return false
	}
	builtin, ok := p.pass.TypesInfo.ObjectOf(id).(*types.Builtin)
	return ok && builtin.Name() == "panic"
}

func (w *walker) branch(s *ast.IfStmt) {
	w.simple(s.Init)
	w.expr(s.Cond)
	other := w.env.clone()
	w.block(s.Body.List)
	then := w.env
	w.env = other
	w.simple(s.Else)
	w.env.join(then)
}

// loop runs a body of which it is not known how often it ran before.
func (w *walker) loop(s ast.Stmt, body func()) {
	w.p.blur(w.env, w.changes, s)
	after := w.env.clone()
	w.loops = append(w.loops, s)
	body()
	w.loops = w.loops[:len(w.loops)-1]
	after.dead = false
	w.env = after
}

// clauses runs the clauses of a switch or select, each from the same beginning.
func (w *walker) clauses(s ast.Stmt, list []ast.Stmt) {
	if jumps(s) {
		w.p.blur(w.env, w.changes, s)
	}
	before, after, all := w.env, &env{dead: true}, false
	for _, clause := range list {
		w.env = before.clone()
		var body []ast.Stmt
		switch clause := clause.(type) {
		case *ast.CaseClause:
			all = all || clause.List == nil
			w.exprs(clause.List)
			body = clause.Body
		case *ast.CommClause:
			all = true
			w.simple(clause.Comm)
			body = clause.Body
		}
		w.block(body)
		after.join(w.env)
	}
	if !all || jumps(s) {
		after.join(before)
	}
	w.env = after
}

// jumps reports whether a break or fallthrough is in a statement.
func jumps(s ast.Stmt) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		b, ok := n.(*ast.BranchStmt)
		found = found || ok && (b.Tok == token.BREAK || b.Tok == token.FALLTHROUGH)
		_, literal := n.(*ast.FuncLit)
		return !found && !literal
	})
	return found
}

// ranged gives the variables of a range statement what they hold in one turn.
func (w *walker) ranged(s *ast.RangeStmt) {
	if v := w.p.local(s.Key); v != nil {
		w.set(v, w.p.other(s.Key))
	}
	v := w.p.local(s.Value)
	if v == nil {
		return
	}
	of := w.p.other(s.Value)
	if list := w.p.listed(s.X); list != nil && isText(v.Type()) {
		of = value{}
		for _, x := range list.Elts {
			if pair, ok := x.(*ast.KeyValueExpr); ok {
				x = pair.Value
			}
			of = union(of, w.p.eval(x, w.env))
		}
	}
	w.set(v, of)
}

// set gives a variable a value.
func (w *walker) set(v *types.Var, to value) {
	if w.changes.shared[v] || w.changes.jumps && len(w.changes.at[v]) > 1 {
		to = unknown(v.Name() + ", which changes elsewhere")
	}
	if w.env.vars == nil { // not reached
		w.env.vars = map[*types.Var]value{}
	}
	w.env.vars[v] = to
}

func (w *walker) assign(s *ast.AssignStmt) {
	w.exprs(s.Rhs)
	values := make([]value, len(s.Lhs))
	for i, left := range s.Lhs {
		v := w.p.local(left)
		if v == nil || !isText(v.Type()) && !isWhole(v.Type()) && !isBuilder(v.Type()) {
			continue
		}
		switch {
		case s.Tok == token.ADD_ASSIGN && isText(v.Type()):
			values[i] = concat(w.p.variable(v, w.env), w.p.eval(s.Rhs[0], w.env))
		case s.Tok != token.ASSIGN && s.Tok != token.DEFINE:
			values[i] = w.p.other(left)
		case len(s.Lhs) == len(s.Rhs):
			values[i] = w.p.initial(v, s.Rhs[i], w.env)
		default:
			values[i] = w.p.first(s.Rhs[0], i, w.env)
		}
	}
	for i, left := range s.Lhs {
		if _, isName := ast.Unparen(left).(*ast.Ident); !isName {
			w.expr(left)
		}
		if v := w.p.local(left); v != nil && (values[i].texts != nil || values[i].self) {
			w.set(v, values[i])
		}
		if w.field != nil && len(s.Lhs) == len(s.Rhs) {
			w.field(left, s.Rhs[i], w.env)
		}
	}
}

func (w *walker) declare(s *ast.DeclStmt) {
	decl, ok := s.Decl.(*ast.GenDecl)
	if !ok || decl.Tok != token.VAR {
		return
	}
	for _, spec := range decl.Specs {
		spec, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		w.exprs(spec.Values)
		for i, name := range spec.Names {
			v, ok := w.p.pass.TypesInfo.Defs[name].(*types.Var)
			switch {
			case !ok:
			case len(spec.Values) == len(spec.Names):
				w.set(v, w.p.initial(v, spec.Values[i], w.env))
			case len(spec.Values) > 0:
				w.set(v, w.p.first(spec.Values[0], i, w.env))
			case isText(v.Type()) || isBuilder(v.Type()):
				w.set(v, literal(""))
			}
		}
	}
}

func (w *walker) exprs(list []ast.Expr) {
	for _, x := range list {
		w.expr(x)
	}
}

// expr visits the calls and literals in an expression, arguments first.
func (w *walker) expr(x ast.Expr) {
	if x == nil {
		return
	}
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			w.function(n)
			return false
		case *ast.CompositeLit:
			if w.literal != nil {
				w.literal(n, w.env)
			}
		case *ast.CallExpr:
			if v, added := w.p.write(n); v != nil {
				w.set(v, concat(w.p.variable(v, w.env), w.p.written(n, added, w.env)))
			}
			if w.call != nil {
				w.call(n, w.env)
			}
		}
		return true
	})
}

// function follows a function literal, which runs at some time after this place: a variable that changes later is unknown in it.
func (w *walker) function(f *ast.FuncLit) {
	inner := w.env.clone()
	inner.dead = false
	for v, all := range w.changes.at {
		later := slices.ContainsFunc(all, func(c change) bool {
			return c.pos > f.End() || slices.ContainsFunc(w.loops, func(l ast.Node) bool {
				return v.Pos() < l.Pos() && l.Pos() <= c.pos && c.pos < l.End()
			})
		})
		if _, ok := inner.vars[v]; ok && later && (v.Pos() < f.Pos() || v.Pos() >= f.End()) {
			inner.vars[v] = unknown(v.Name() + ", which changes after the function that uses it is made")
		}
	}
	in := &walker{p: w.p, env: inner, changes: w.changes, call: w.call, literal: w.literal, field: w.field, loops: slices.Clone(w.loops)}
	in.block(f.Body.List)
}

// returned is the first result of a return statement.
func (w *walker) returned(s *ast.ReturnStmt) value {
	if len(s.Results) == 0 {
		return unknown("a named result")
	}
	return w.p.eval(s.Results[0], w.env)
}
