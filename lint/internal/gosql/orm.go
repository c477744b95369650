package gosql

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/semel-dev/semel/lint/internal/gormmodel"
)

// orm is the package of GORM.
const orm = "gorm.io/gorm"

// ormCall is a call by which GORM writes a statement of its own, with the calls before it.
type ormCall struct {
	p     *program
	call  *ast.CallExpr
	verb  string
	args  []ast.Expr
	steps []chainCall
	model types.Type // T of gorm.G[T]
	scope *scope
	env   *env

	unknown string // why the statement cannot be told
	assumes []string
}

// chainCall is one call of a chain.
type chainCall struct {
	name   string
	args   []ast.Expr
	spread bool // args...
	unsure bool // it may be left out
}

// isORM reports whether a type is GORM's DB, or an interface of its generic form.
func isORM(t types.Type) bool { return ormName(t) != "" }

// ormName returns the name of a type of GORM, empty for others.
func ormName(t types.Type) string {
	if t == nil {
		return ""
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != orm {
		return ""
	}
	return n.Obj().Name()
}

// ormMethod returns the method of GORM that a call calls, and the name of its receiver's type.
func (p *program) ormMethod(call *ast.CallExpr) (method *types.Func, of string) {
	fn, _ := typeutil.Callee(p.pass.TypesInfo, call).(*types.Func)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != orm || fn.Signature().Recv() == nil {
		return nil, ""
	}
	return fn, ormName(fn.Signature().Recv().Type())
}

// ormSite returns the statement that a call of GORM runs, if it is one that GORM writes.
func (p *program) ormSite(call *ast.CallExpr, f *types.Func, e *env) *ormCall {
	fn, of := p.ormMethod(call)
	if fn == nil || of == "" || of == "Association" && !slices.Contains([]string{"Append", "Replace", "Delete", "Clear"}, fn.Name()) {
		return nil
	}
	c := &ormCall{p: p, call: call, verb: fn.Name(), args: call.Args, scope: p.scopeOf(f), env: e.clone()}
	isGeneric := of != "DB" && of != "Association"
	switch c.verb {
	case "Create", "CreateInBatches", "Save", "Update", "Updates", "UpdateColumn", "UpdateColumns", "Delete", "FirstOrCreate":
	case "First", "Take", "Last", "Find", "Count", "Pluck", "Scan", "Row", "Rows", "FindInBatches", "FirstOrInit":
	case "Append", "Replace", "Clear":
		if of != "Association" {
			return nil
		}
	default:
		return nil
	}
	if isGeneric && len(c.args) > 0 {
		c.args = c.args[1:] // the context
	}
	c.chain(receiver(call), map[*types.Var]ast.Expr{}, 0)
	switch {
	case slices.ContainsFunc(c.steps, func(s chainCall) bool { return s.name == "Raw" }): // its text is judged
		return nil
	case of == "Association":
		c.unknown = "the rows that " + describe(call.Fun) + " writes, which depend on the association and on what it holds"
	case isGeneric && c.model == nil:
		c.unknown = "where " + describe(receiver(call)) + " comes from"
	}
	return c
}

// receiver returns the expression whose method a call calls.
func receiver(call *ast.CallExpr) ast.Expr {
	if s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		return s.X
	}
	return call.Fun
}

// maxChain bounds how far a chain is followed.
const maxChain = 50

// chain adds the calls by which an expression was made. The parameters of a function that is looked into have the arguments in bound.
func (c *ormCall) chain(x ast.Expr, bound map[*types.Var]ast.Expr, depth int) {
	if depth > maxChain {
		c.unknown = "a chain of calls that is too long"
		return
	}
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr:
		c.called(x, bound, depth)
	case *ast.Ident:
		v, ok := c.p.pass.TypesInfo.ObjectOf(x).(*types.Var)
		if !ok || !isORM(v.Type()) {
			return
		}
		if given, ok := bound[v]; ok {
			c.chain(given, nil, depth+1)
			return
		}
		c.variable(v, x, bound, depth)
	}
}

// called adds a call, behind those before it.
func (c *ormCall) called(call *ast.CallExpr, bound map[*types.Var]ast.Expr, depth int) {
	if fn, _ := c.p.ormMethod(call); fn != nil {
		c.chain(receiver(call), bound, depth+1)
		c.steps = append(c.steps, chainCall{name: fn.Name(), args: call.Args, spread: call.Ellipsis.IsValid()})
		return
	}
	fn, _ := typeutil.Callee(c.p.pass.TypesInfo, call).(*types.Func)
	if fn == nil {
		c.handed(describe(call))
		return
	}
	if fn.Pkg() != nil && fn.Pkg().Path() == orm && fn.Name() == "G" { // it begins a statement of its own
		if t := c.p.instance(call); t != nil {
			c.model = t
			c.steps = append(c.steps, chainCall{name: "Clauses", args: call.Args[1:], spread: call.Ellipsis.IsValid()})
		}
		return
	}
	if result, params := c.p.returned(fn.Origin()); result != nil {
		inner := map[*types.Var]ast.Expr{}
		for i, v := range params {
			if i < len(call.Args) && isORM(v.Type()) {
				inner[v] = call.Args[i]
				if bound != nil {
					inner[v] = c.p.substitute(call.Args[i], bound)
				}
			}
		}
		c.chain(result, inner, depth+1)
		return
	}
	for v := range fn.Signature().Params().Variables() {
		if isORM(v.Type()) {
			c.unknown = "what " + describe(call.Fun) + " adds to the statement"
			return
		}
	}
	c.handed(describe(call.Fun))
}

// substitute returns the argument of a bound name.
func (p *program) substitute(x ast.Expr, bound map[*types.Var]ast.Expr) ast.Expr {
	if v := p.local(x); v != nil && bound[v] != nil {
		return bound[v]
	}
	return x
}

// instance returns T of a call of gorm.G[T].
func (p *program) instance(call *ast.CallExpr) types.Type {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	var id *ast.Ident
	switch x := ast.Unparen(fun).(type) {
	case *ast.SelectorExpr:
		id = x.Sel
	case *ast.Ident:
		id = x
	}
	if i := p.pass.TypesInfo.Instances[id]; id != nil && i.TypeArgs.Len() == 1 {
		return i.TypeArgs.At(0)
	}
	return nil
}

// returned returns the expression that a function of the package returns, if that is all it does.
func (p *program) returned(fn *types.Func) (ast.Expr, []*types.Var) {
	decl := p.decls[fn]
	if decl == nil || len(decl.Body.List) != 1 {
		return nil, nil
	}
	r, ok := decl.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 {
		return nil, nil
	}
	var params []*types.Var
	for v := range fn.Signature().Params().Variables() {
		params = append(params, v)
	}
	return r.Results[0], params
}

// handed notes that a *gorm.DB comes from elsewhere.
func (c *ormCall) handed(what string) {
	text := what + " brings no conditions of its own"
	if !slices.Contains(c.assumes, text) {
		c.assumes = append(c.assumes, text)
	}
}

// variable adds the calls by which a local variable was made.
func (c *ormCall) variable(v *types.Var, at *ast.Ident, bound map[*types.Var]ast.Expr, depth int) {
	of := c.scope.variable(v)
	switch {
	case len(of.defs) == 0: // a parameter
		return
	case len(of.leaks) > 0:
		c.unknown = v.Name() + ", which changes elsewhere"
		return
	}
	first := of.defs[0]
	if first.unknown || first.value == nil {
		return // tx, err := …
	}
	before := len(c.steps)
	c.chain(first.value, bound, depth+1)
	c.grows(of.defs[1:], v, at)
	own := c.steps[before:]
	const mentions = 2 // of q in q = q.Where(…)
	if len(own) > 0 && !neutral(own[len(own)-1].name) && of.uses-mentions*len(of.defs[1:]) > 1 {
		c.unknown = v.Name() + ", with which several statements are run, so that their conditions add up"
	}
}

// grows adds the calls of later definitions of a variable: q = q.Where(…). What happens only sometimes may be left out.
func (c *ormCall) grows(later []event, v *types.Var, at *ast.Ident) {
	for i := range later {
		d := &later[i]
		if !c.scope.possible(v, d, at.Pos()) {
			continue
		}
		call, ok := d.value.(*ast.CallExpr)
		if !ok || !c.startsWith(call, v) {
			c.unknown = v.Name() + ", which is set in several places"
			return
		}
		for _, s := range c.links(call) {
			s.unsure = !c.scope.certain(d, at.Pos())
			c.steps = append(c.steps, s)
		}
	}
}

// startsWith reports whether a chain of calls begins with a variable.
func (c *ormCall) startsWith(call *ast.CallExpr, v *types.Var) bool {
	for {
		if fn, _ := c.p.ormMethod(call); fn == nil {
			return false
		}
		x := ast.Unparen(receiver(call))
		if c.p.local(x) == v {
			return true
		}
		inner, ok := x.(*ast.CallExpr)
		if !ok {
			return false
		}
		call = inner
	}
}

// links returns the calls of a chain that begins with a variable.
func (c *ormCall) links(call *ast.CallExpr) (all []chainCall) {
	for {
		fn, _ := c.p.ormMethod(call)
		all = append(all, chainCall{name: fn.Name(), args: call.Args, spread: call.Ellipsis.IsValid()})
		inner, ok := ast.Unparen(receiver(call)).(*ast.CallExpr)
		if !ok {
			slices.Reverse(all)
			return all
		}
		call = inner
	}
}

// neutral reports whether a method begins a session, or adds nothing to a statement that writes.
func neutral(name string) bool {
	switch name {
	case "WithContext", "Debug", "Begin", "Session", "Set", "InstanceSet", "Preload", "Commit", "SavePoint", "RollbackTo":
		return true
	}
	return false
}

// modelOf returns the model of a type, nil for none.
func (p *program) modelOf(t types.Type) *gormmodel.Model {
	if p.models[t] == nil {
		p.models[t] = gormmodel.Of(t, p.tableName)
	}
	return p.models[t]
}

// namesTable is a fact about a method TableName, which always returns the same name.
type namesTable struct{ Name string }

// AFact implements [analysis.Fact].
func (*namesTable) AFact() {}

// String implements [fmt.Stringer].
func (f *namesTable) String() string { return fmt.Sprintf("namesTable(%s)", f.Name) }

// tableName returns what a method TableName returns.
func (p *program) tableName(fn *types.Func) (string, bool) {
	fn = fn.Origin()
	if fn.Pkg() == p.pass.Pkg {
		if result, _ := p.returned(fn); result != nil {
			return p.eval(result, nil).single()
		}
		return "", false
	}
	fact := new(namesTable)
	if fn.Pkg() == nil || !p.pass.ImportObjectFact(fn, fact) {
		return "", false
	}
	return fact.Name, true
}

// exportTables makes the names of the package's tables known to others.
func (p *program) exportTables() {
	for fn := range p.decls {
		if fn.Name() != "TableName" || fn.Signature().Recv() == nil || fn.Signature().Params().Len() > 0 {
			continue
		}
		if name, ok := p.tableName(fn); ok && !strings.ContainsAny(name, " \t\n") {
			p.pass.ExportObjectFact(fn, &namesTable{Name: name})
		}
	}
}
