package gosql

import (
	"go/ast"
	"go/token"
	"go/types"
)

// index notes the values of variables, fields and lists.
func (p *program) index(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ValueSpec:
		p.declared(n)
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			v := p.named(left)
			switch {
			case v == nil:
			case len(n.Lhs) == len(n.Rhs) && (n.Tok == token.ASSIGN || n.Tok == token.DEFINE):
				p.put(v, n.Rhs[i])
			default:
				p.setElsewhere(v, "it is changed")
			}
			p.setsElement(left)
		}
	case *ast.RangeStmt:
		p.setElsewhere(p.named(n.Key), "it is changed by a loop")
		p.setElsewhere(p.named(n.Value), "it is changed by a loop")
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			p.setElsewhere(p.named(n.X), "its address is taken")
			p.setsElement(n.X)
		}
	case *ast.CompositeLit:
		p.fields(n, p.put)
	case *ast.FuncType:
		p.parameters(n.Params)
		p.parameters(n.Results)
	}
	p.reads(n)
	return true
}

// declared notes the values of a declaration.
func (p *program) declared(n *ast.ValueSpec) {
	for i, name := range n.Names {
		v, ok := p.pass.TypesInfo.Defs[name].(*types.Var)
		switch {
		case !ok:
		case len(n.Values) == len(n.Names):
			p.put(v, n.Values[i])
		case len(n.Values) > 0:
			p.setElsewhere(v, "it is set to one of several results")
		case isText(v.Type()):
			p.storeOf(v).unset = true
		}
	}
}

// parameters notes that the callers set parameters.
func (p *program) parameters(list *ast.FieldList) {
	if list == nil {
		return
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			if v, ok := p.pass.TypesInfo.Defs[name].(*types.Var); ok {
				p.setElsewhere(v, "callers set it")
			}
		}
	}
}

// named returns the variable or field that an expression names.
func (p *program) named(x ast.Expr) *types.Var {
	var id *ast.Ident
	switch x := x.(type) {
	case nil:
		return nil
	case *ast.Ident:
		id = x
	case *ast.SelectorExpr:
		id = x.Sel
	case *ast.ParenExpr:
		return p.named(x.X)
	default:
		return nil
	}
	v, ok := p.pass.TypesInfo.ObjectOf(id).(*types.Var)
	if !ok {
		return nil
	}
	return v.Origin()
}

func (p *program) storeOf(v *types.Var) *store {
	if p.stores[v] == nil {
		p.stores[v] = &store{}
	}
	return p.stores[v]
}

func (p *program) put(v *types.Var, x ast.Expr) {
	v = v.Origin()
	if isText(v.Type()) {
		s := p.storeOf(v)
		s.values = append(s.values, x)
		return
	}
	if lit, ok := ast.Unparen(x).(*ast.CompositeLit); ok {
		l := p.listOf(v)
		l.lit = lit
		l.sets++
	} else if isList(v.Type()) {
		p.listOf(v).sets = 2
	}
}

// setElsewhere notes that a variable may hold other texts than those that are seen.
func (p *program) setElsewhere(v *types.Var, why string) {
	if v == nil {
		return
	}
	if isText(v.Type()) {
		p.storeOf(v.Origin()).open = why
	} else if isList(v.Type()) {
		p.listOf(v.Origin()).sets = 2
	}
}

// fields calls found with the fields of a struct that are written out.
func (p *program) fields(lit *ast.CompositeLit, found func(*types.Var, ast.Expr)) {
	of := p.pass.TypesInfo.TypeOf(lit)
	if of == nil {
		return
	}
	if pointer, ok := of.Underlying().(*types.Pointer); ok {
		of = pointer.Elem()
	}
	s, ok := of.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, x := range lit.Elts {
		if pair, ok := x.(*ast.KeyValueExpr); ok {
			if v := p.named(pair.Key); v != nil {
				found(v, pair.Value)
			}
		} else if i < s.NumFields() {
			found(s.Field(i).Origin(), x)
		}
	}
}

// stored returns what a variable of the package or a field can hold, or a local variable outside of its function.
func (p *program) stored(v *types.Var) value {
	if v.Pkg() != p.pass.Pkg {
		return unknown(v.Name() + ", of another package")
	}
	s := p.stores[v]
	switch {
	case s == nil:
		return unknown(v.Name() + ", which nothing here sets")
	case s.open != "":
		return unknown(v.Name() + ": " + s.open)
	case v.Exported() && (v.IsField() || ofPackage(v)) && v.Pkg().Name() != "main":
		return unknown(v.Name() + ", which other packages may set")
	case s.busy:
		return value{self: true}
	case s.done:
		return s.result
	}
	s.busy = true
	var out value
	for _, x := range s.values {
		out = union(out, p.eval(x, nil))
	}
	if s.unset || v.IsField() {
		out = union(out, value{texts: []text{{{zero: true}}}})
	}
	s.busy, s.done = false, true
	out.self = false // one of the others made it so
	if len(out.texts) == 0 {
		out = unknown(v.Name())
	}
	s.result = out
	return out
}

func isList(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Map:
		return isText(t.Elem())
	case *types.Slice:
		return isText(t.Elem())
	case *types.Array:
		return isText(t.Elem())
	}
	return false
}

func (p *program) listOf(v *types.Var) *list {
	if p.lists[v] == nil {
		p.lists[v] = &list{hidden: !v.Exported() || !v.IsField() && !ofPackage(v) || v.Pkg().Name() == "main"}
	}
	return p.lists[v]
}

// reads counts the uses of lists, and those that do not change them.
func (p *program) reads(n ast.Node) {
	switch n := n.(type) {
	case *ast.Ident:
		if v := p.list(n); v != nil && !v.IsField() {
			p.listOf(v).uses++
		}
	case *ast.IndexExpr:
		p.reading(n.X)
	case *ast.RangeStmt:
		p.reading(n.X)
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "len" && len(n.Args) == 1 {
			p.reading(n.Args[0])
		}
		p.passes(n)
	}
}

func (p *program) reading(x ast.Expr) {
	if id, ok := ast.Unparen(x).(*ast.Ident); ok {
		if v := p.list(id); v != nil {
			p.listOf(v).reads++
		}
	}
}

// list returns the list that a name uses.
func (p *program) list(id *ast.Ident) *types.Var {
	v, ok := p.pass.TypesInfo.Uses[id].(*types.Var)
	if !ok || v.Pkg() != p.pass.Pkg || !isList(v.Type()) {
		return nil
	}
	return v.Origin()
}

// setsElement notes that an element of a list is set.
func (p *program) setsElement(x ast.Expr) {
	if index, ok := ast.Unparen(x).(*ast.IndexExpr); ok {
		if v := p.named(index.X); v != nil && isList(v.Type()) {
			p.listOf(v).sets = 2
			p.listOf(v).uses++ // and this does not read
		}
	}
}

// elements returns the content of a list that nothing changes.
func (p *program) elements(v *types.Var) (*ast.CompositeLit, bool) {
	l := p.lists[v.Origin()]
	if l == nil || l.lit == nil || l.sets != 1 || !l.hidden || !p.readOnly(v.Origin(), 0) || v.IsField() || !isList(v.Type()) {
		return nil, false
	}
	return l.lit, true
}

// listed returns the content of an expression that is a list.
func (p *program) listed(x ast.Expr) *ast.CompositeLit {
	switch x := ast.Unparen(x).(type) {
	case *ast.CompositeLit:
		return x
	case *ast.Ident:
		if v, ok := p.pass.TypesInfo.ObjectOf(x).(*types.Var); ok {
			if lit, ok := p.elements(v); ok {
				return lit
			}
		}
	}
	return nil
}
