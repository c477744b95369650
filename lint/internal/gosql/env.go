package gosql

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
)

// env holds what the variables of a function can be at one place of it.
type env struct {
	vars  map[*types.Var]value
	lists map[*types.Var][]value // parameters that are lists, which the function only reads
	dead  bool                   // the place is not reached
}

func (e *env) clone() *env {
	return &env{vars: maps.Clone(e.vars), lists: e.lists, dead: e.dead}
}

// join returns what holds behind two branches.
func (e *env) join(other *env) {
	switch {
	case other.dead:
		return
	case e.dead:
		*e = *other
		return
	}
	for v, theirs := range other.vars {
		ours, ok := e.vars[v]
		if !ok {
			e.vars[v] = theirs // declared in that branch alone
			continue
		}
		e.vars[v] = union(ours, theirs)
	}
}

// changes are the places where variables of a function get a value.
type changes struct {
	at map[*types.Var][]change
	// shared are variables that change at unknown times: their address is taken, or a function literal changes them.
	shared map[*types.Var]bool
	jumps  bool // by goto
	// uses counts those of builders, and followed those that are understood.
	uses, followed map[*types.Var]int
}

type change struct {
	pos   token.Pos
	grows bool // it only adds to the end
	added func(*env) value
	what  ast.Node // that is added
}

// changesIn collects the changes in a function.
func (p *program) changesIn(body ast.Node) *changes {
	c := &changes{
		at: map[*types.Var][]change{}, shared: map[*types.Var]bool{},
		uses: map[*types.Var]int{}, followed: map[*types.Var]int{},
	}
	(&collector{p: p, changes: c}).collect(body)
	for v, n := range c.uses {
		c.shared[v] = c.shared[v] || n > c.followed[v]
	}
	return c
}

// collector collects changes.
type collector struct {
	*changes

	p      *program
	within *ast.FuncLit // the innermost function literal around a place; nil for none
}

func (k *collector) collect(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncLit); ok && n != root {
			(&collector{k.changes, k.p, f}).collect(f)
			return false
		}
		k.visit(n)
		return true
	})
}

func (k *collector) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			one := change{pos: left.Pos(), grows: n.Tok == token.ADD_ASSIGN || len(n.Rhs) == len(n.Lhs) && k.p.addsTo(left, n.Rhs[i])}
			if n.Tok == token.ADD_ASSIGN {
				one.what, one.added = n.Rhs[0], func(e *env) value { return k.p.eval(n.Rhs[0], e) }
			}
			k.set(k.p.local(left), one)
		}
	case *ast.RangeStmt:
		k.set(k.p.local(n.Key), change{pos: n.Pos()})
		k.set(k.p.local(n.Value), change{pos: n.Pos()})
	case *ast.UnaryExpr:
		if v := k.p.local(n.X); n.Op == token.AND && v != nil && !isBuilder(v.Type()) {
			k.shared[v] = true
		}
	case *ast.Ident:
		if v, ok := k.p.pass.TypesInfo.Uses[n].(*types.Var); ok && isBuilder(v.Type()) {
			k.uses[v]++
		}
	case *ast.BranchStmt:
		k.jumps = k.jumps || n.Tok == token.GOTO
	case *ast.CallExpr:
		if v := k.p.readsBuilder(n); v != nil {
			k.followed[v]++
		}
		if v, args := k.p.write(n); v != nil {
			k.followed[v]++
			k.set(v, change{pos: n.Pos(), grows: true, what: n, added: func(e *env) value { return k.p.written(n, args, e) }})
		}
	case *ast.SelectorExpr:
		k.method(n)
	}
}

// set notes a change of a variable.
func (k *collector) set(v *types.Var, one change) {
	if v == nil {
		return
	}
	k.at[v] = append(k.at[v], one)
	if k.within != nil && v.Pos() < k.within.Pos() {
		k.shared[v] = true
	}
}

// method notes a text that a method with a pointer receiver may change.
func (k *collector) method(n *ast.SelectorExpr) {
	s := k.p.pass.TypesInfo.Selections[n]
	if s == nil || s.Kind() != types.MethodVal {
		return
	}
	v := k.p.local(n.X)
	if fn, ok := s.Obj().(*types.Func); ok && v != nil && isText(v.Type()) && isPointer(fn.Signature().Recv().Type()) {
		k.shared[v] = true
	}
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// local returns the variable of a function that an expression names.
func (p *program) local(x ast.Expr) *types.Var {
	if x == nil {
		return nil
	}
	id, ok := ast.Unparen(x).(*ast.Ident)
	if !ok {
		return nil
	}
	v, ok := p.pass.TypesInfo.ObjectOf(id).(*types.Var)
	if !ok || v.IsField() || v.Pkg() == nil || ofPackage(v) {
		return nil
	}
	return v
}

// addsTo reports whether an expression is a variable with something behind it.
func (p *program) addsTo(left, right ast.Expr) bool {
	v := p.local(left)
	for v != nil {
		sum, ok := ast.Unparen(right).(*ast.BinaryExpr)
		if !ok || sum.Op != token.ADD {
			return false
		}
		if p.local(sum.X) == v {
			return true
		}
		right = sum.X
	}
	return false
}

// blur makes variables that change within a node unknown: how often and when it runs is not known.
func (p *program) blur(e *env, c *changes, within ast.Node) {
	for v, all := range c.at {
		inside, grows := false, true
		for _, one := range all {
			if one.pos >= within.Pos() && one.pos < within.End() {
				inside, grows = true, grows && one.grows
			}
		}
		old, ok := e.vars[v]
		if !inside || !ok {
			continue
		}
		hole := unknown(v.Name() + ", which changes in a loop or jump")
		if list, ok := p.placeholders(v, all, e, c, within); ok && grows {
			e.vars[v] = union(concat(old, value{texts: []text{{{zero: true}}}}), concat(old, list))
		} else if grows {
			e.vars[v] = union(concat(old, value{texts: []text{{{zero: true}}}}), concat(old, hole))
		} else {
			e.vars[v] = union(old, hole)
		}
	}
}
