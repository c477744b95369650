package gosql

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/semel-dev/semel/lint/internal/gormmodel"
)

// content holds what is known of a value that a call of GORM gets: a model, a list of them, or a map.
type content struct {
	of types.Type
	// fields are those that are set, by their names or, of a map, by its keys. A nil expression is not known.
	fields map[string]ast.Expr
	// unsure are the fields that may be set or not.
	unsure map[string]bool
	// whole says that no other field is set.
	whole bool
	// loaded says that a row of the database is in it, so that it has a key.
	loaded bool
	// linked says that it may hold rows of associations.
	linked bool
	why    string // of a map: why its keys are not known
}

// content reads what an expression holds when the call runs.
func (c *ormCall) content(x ast.Expr) *content {
	of := c.p.pass.TypesInfo.TypeOf(x)
	open := &content{of: of, linked: true, why: describe(x)}
	switch x := ast.Unparen(x).(type) {
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return c.content(x.X)
		}
	case *ast.CompositeLit:
		return c.literal(x)
	case *ast.CallExpr:
		if describe(x.Fun) == "new" {
			return &content{of: of, whole: true}
		}
	case *ast.Ident:
		if v := c.p.local(x); v != nil {
			return c.held(v, x.Pos(), open)
		}
	}
	return open
}

// literal reads a value that is written out. Of a list, a field is known if it is in all elements.
func (c *ormCall) literal(lit *ast.CompositeLit) *content {
	of := c.p.pass.TypesInfo.TypeOf(lit)
	out := &content{of: of, whole: true, fields: map[string]ast.Expr{}, unsure: map[string]bool{}}
	switch of.Underlying().(type) {
	case *types.Map:
		for _, x := range lit.Elts {
			pair, ok := x.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			name, ok := c.p.eval(pair.Key, c.env).single()
			if !ok {
				return &content{of: of, why: describe(pair.Key)}
			}
			out.fields[name] = pair.Value
		}
	case *types.Slice, *types.Array:
		return c.elements(lit, of)
	case *types.Pointer, *types.Struct: // an element of a list may be a pointer
		c.structure(lit, out)
	}
	return out
}

// structure reads the fields of a struct that is written out, and of the structs that are embedded in it.
func (c *ormCall) structure(lit *ast.CompositeLit, out *content) {
	c.p.fields(lit, func(v *types.Var, x ast.Expr) {
		if inner, ok := ast.Unparen(x).(*ast.CompositeLit); ok && v.Embedded() {
			c.structure(inner, out)
			return
		}
		out.fields[v.Name()] = x
		if _, isStruct := v.Type().Underlying().(*types.Struct); isStruct && v.Embedded() {
			out.whole = false
		}
	})
}

// elements joins the elements of a list.
func (c *ormCall) elements(lit *ast.CompositeLit, of types.Type) *content {
	var all []*content
	for _, x := range lit.Elts {
		if pair, ok := x.(*ast.KeyValueExpr); ok {
			x = pair.Value
		}
		one := c.content(x)
		all = append(all, one)
	}
	if len(all) == 0 {
		return &content{of: of, linked: true, why: describe(lit)}
	}
	out := all[0]
	for _, one := range all[1:] {
		for name := range one.fields {
			if _, ok := out.fields[name]; !ok {
				out.unsure[name] = true
			}
			out.fields[name] = nil
		}
		for name := range out.fields {
			if _, ok := one.fields[name]; !ok {
				out.unsure[name] = true
			}
			out.fields[name] = nil
		}
		out.whole, out.linked, out.loaded = out.whole && one.whole, out.linked || one.linked, out.loaded && one.loaded
	}
	out.of = of
	return out
}

// held reads what a local variable holds at a place.
func (c *ormCall) held(v *types.Var, at token.Pos, open *content) *content {
	of := c.scope.variable(v)
	if len(of.defs) != 1 || of.defs[0].unknown {
		return open
	}
	for i := range of.leaks {
		if e := &of.leaks[i]; c.scope.possible(v, e, at) && e.call != c.call {
			return open
		}
	}
	out := &content{of: v.Type(), whole: true, fields: map[string]ast.Expr{}, unsure: map[string]bool{}}
	if x := of.defs[0].value; x != nil {
		out = c.content(x)
		if _, isName := ast.Unparen(x).(*ast.Ident); isName && shares(v.Type()) {
			return open
		}
	}
	if out.fields == nil {
		out.fields, out.unsure = map[string]ast.Expr{}, map[string]bool{}
	}
	all := slices.Clone(of.sets)
	for _, e := range of.passed {
		if e.call != c.call && !c.contains(e.call) {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b event) int { return int(a.pos - b.pos) })
	for i := range all {
		switch e := &all[i]; {
		case !c.scope.possible(v, e, at):
		case e.call != nil:
			c.passes(e, out, c.scope.certain(e, at))
		default:
			c.setting(e, out, c.scope.certain(e, at))
		}
	}
	return out
}

// contains reports whether the call is made of another one: db.Model(&x).Update(…).
func (c *ormCall) contains(other *ast.CallExpr) bool {
	return c.call.Pos() <= other.Pos() && other.End() <= c.call.End()
}

// setting takes an assignment to a field of a variable, or to a key of a map, into account.
func (c *ormCall) setting(e *event, out *content, certain bool) {
	name := e.field
	if e.key != nil {
		key, known := c.p.eval(e.key, c.env).single()
		if !known || key == "" {
			out.whole, out.why = false, describe(e.key)
			return
		}
		name = key
	}
	_, before := out.fields[name]
	if !certain && !before {
		out.unsure[name] = true
	}
	switch {
	case e.unknown: // perhaps of a struct that is embedded
		out.fields[name], out.whole = nil, false
	case before && !certain:
		out.fields[name] = nil
	default:
		out.fields[name] = e.value
	}
	if certain {
		delete(out.unsure, name)
	}
}

// passes takes a call into account that got the address of the value before: GORM fills it, and others may do anything.
func (c *ormCall) passes(e *event, out *content, certain bool) {
	fn, of := c.p.ormMethod(e.call)
	if fn == nil || of != "DB" {
		if callee, ok := typeutil.Callee(c.p.pass.TypesInfo, e.call).(*types.Builtin); ok && (callee.Name() == "len" || callee.Name() == "cap") {
			return
		}
		out.whole, out.linked, out.loaded, out.why = false, true, false, "what "+describe(e.call.Fun)+" puts into it"
		out.fields = map[string]ast.Expr{}
		return
	}
	switch fn.Name() {
	case "Model", "Where", "Not", "Or", "Delete", "Count", "Attrs", "Assign", "Updates", "UpdateColumns", "Table":
		return
	case "First", "Take", "Last", "FirstOrCreate", "Create", "Save":
		out.loaded = out.loaded || certain
	}
	out.whole = false
	inner := &ormCall{p: c.p, call: e.call, scope: c.scope, env: c.env}
	inner.chain(receiver(e.call), nil, 0)
	if inner.unknown != "" || slices.ContainsFunc(inner.steps, func(s chainCall) bool {
		return s.name == "Preload" || s.name == "Joins" || s.name == "InnerJoins" || s.name == "Scopes"
	}) {
		out.linked = true
	}
	out.fields = map[string]ast.Expr{}
}

// has says whether a field has another value than zero: certainly, or perhaps.
func (c *ormCall) has(in *content, f *gormmodel.Field) (certain, possible bool) {
	x, set := in.fields[f.Name]
	switch {
	case !set && in.loaded && f.Primary:
		return true, true
	case !set:
		return false, !in.whole
	case in.unsure[f.Name] || x == nil:
		return false, true
	}
	if c.isZero(x) {
		return false, false
	}
	if f.Primary && c.p.pass.TypesInfo.Types[x].Value == nil {
		c.handedValue(f.Name + " is set")
	}
	return true, true
}

func (c *ormCall) handedValue(text string) {
	if !slices.Contains(c.assumes, text) {
		c.assumes = append(c.assumes, text)
	}
}

// isZero reports whether an expression is the zero value of its type, as far as that can be seen.
func (c *ormCall) isZero(x ast.Expr) bool {
	t := c.p.pass.TypesInfo.Types[x]
	if t.IsNil() {
		return true
	}
	if lit, ok := ast.Unparen(x).(*ast.CompositeLit); ok && !shares(t.Type) {
		return len(lit.Elts) == 0
	}
	if t.Value == nil {
		return false
	}
	switch t.Value.ExactString() {
	case `""`, "0", "false":
		return true
	}
	return false
}
