package gosql

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/semel-dev/semel/lint/internal/gormmodel"
)

// program holds the knowledge of one package.
type program struct {
	pass   *analysis.Pass
	decls  map[*types.Func]*ast.FuncDecl
	stores map[*types.Var]*store
	lists  map[*types.Var]*list
	facts  map[types.Object]*takesSQL // of this package
	scopes map[*types.Func]*scope
	models map[types.Type]*gormmodel.Model
	seen   map[*ast.BlockStmt]*changes
	depth  int // of functions that are evaluated
	budget int // of such evaluations
}

// store holds what a variable of the package, a field, or a local variable outside of its function gets.
type store struct {
	values []ast.Expr
	open   string // why there may be others
	unset  bool   // it may be empty at first
	busy   bool
	done   bool
	result value
}

// list is a variable with a list or map that is written out.
type list struct {
	lit    *ast.CompositeLit
	sets   int
	uses   int
	reads  int
	hidden bool // other packages do not see it
	passed []passed
}

// passed is a parameter of a function of the package.
type passed struct {
	fn    *types.Func
	param *types.Var
}

// site is one place that hands SQL on.
type site struct {
	call  *ast.CallExpr // nil for a field
	arg   ast.Expr
	value value
	pgx   bool // the library is for PostgreSQL
	fn    *types.Func
	// handed says that the text is in a field, and judged where that is set.
	handed bool
	// orm is set for a call of GORM that has no text.
	orm *ormCall
}

func (s *site) at() token.Pos {
	if s.call != nil {
		return s.call.Pos()
	}
	return s.arg.Pos()
}

// last returns the place of the called method, which is on another line than the beginning of a long chain.
func (s *site) last() token.Pos {
	if s.call == nil {
		return s.at()
	}
	if selector, ok := ast.Unparen(s.call.Fun).(*ast.SelectorExpr); ok {
		return selector.Sel.Pos()
	}
	return s.at()
}

// maxInlined bounds how many calls of functions are evaluated in a package, and maxDepth how deep.
const (
	maxInlined = 5000
	maxDepth   = 4
	maxRounds  = 5
)

func newProgram(pass *analysis.Pass) *program {
	p := &program{
		pass: pass, decls: map[*types.Func]*ast.FuncDecl{}, stores: map[*types.Var]*store{}, lists: map[*types.Var]*list{},
		facts: map[types.Object]*takesSQL{}, scopes: map[*types.Func]*scope{}, models: map[types.Type]*gormmodel.Model{}, seen: map[*ast.BlockStmt]*changes{}, budget: maxInlined,
	}
	for _, file := range pass.Files {
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				if f, ok := pass.TypesInfo.Defs[fn.Name].(*types.Func); ok {
					p.decls[f] = fn
				}
			}
		}
		ast.Inspect(file, p.index)
	}
	return p
}

// factOf returns what is known of a function or field, of this package or another.
func (p *program) factOf(o types.Object) *takesSQL {
	if o.Pkg() == p.pass.Pkg {
		return p.facts[o]
	}
	fact := new(takesSQL)
	if o.Pkg() == nil || !p.pass.ImportObjectFact(o, fact) {
		return nil
	}
	return fact
}

// sites returns all places, after the functions of the package that take SQL are known.
func (p *program) sites() []*site {
	for round := range maxRounds {
		before := len(p.facts)
		all := p.walk()
		if len(p.facts) == before || round == maxRounds-1 {
			for o, fact := range p.facts {
				p.pass.ExportObjectFact(o, fact)
			}
			slices.SortStableFunc(all, func(a, b *site) int { return int(a.at() - b.at()) })
			return all
		}
	}
	return nil
}

// walk follows every function of the package once.
func (p *program) walk() (all []*site) {
	for _, file := range p.pass.Files {
		for _, d := range file.Decls {
			fn, isFunc := d.(*ast.FuncDecl)
			w := &walker{p: p, env: newEnv(), changes: &changes{}}
			if isFunc && fn.Body != nil {
				w.changes = p.changesOf(fn.Body)
				f, _ := p.pass.TypesInfo.Defs[fn.Name].(*types.Func)
				p.params(w, f)
				p.observe(w, f, &all)
				w.block(fn.Body.List)
			} else if !isFunc {
				p.observe(w, nil, &all)
				ast.Inspect(d, func(n ast.Node) bool {
					x, ok := n.(ast.Expr)
					if ok {
						w.expr(x)
					}
					return !ok
				})
			}
		}
	}
	return all
}

func (p *program) changesOf(body *ast.BlockStmt) *changes {
	if p.seen[body] == nil {
		p.seen[body] = p.changesIn(body)
	}
	return p.seen[body]
}

// params gives the parameters of a function their own holes.
func (p *program) params(w *walker, f *types.Func) {
	if f == nil {
		return
	}
	for i := range f.Signature().Params().Len() {
		v := f.Signature().Params().At(i)
		if isText(v.Type()) {
			w.set(v, value{texts: []text{{{hole: param, of: i, why: v.Name()}}}})
		}
	}
}

// observe makes a walker collect the sites of a function.
func (p *program) observe(w *walker, f *types.Func, all *[]*site) {
	w.call = func(call *ast.CallExpr, e *env) {
		if c := p.ormSite(call, f, e); c != nil {
			*all = append(*all, &site{call: call, arg: call, fn: f, orm: c})
			return
		}
		index, fact, ok := p.sink(call)
		if !ok {
			return
		}
		v := p.eval(call.Args[index], e)
		handed := p.learn(f, call.Args[index], v, fact)
		*all = append(*all, &site{handed: handed, call: call, arg: call.Args[index], value: fact.around(v), pgx: p.isPostgres(call), fn: f})
	}
	w.literal = func(lit *ast.CompositeLit, e *env) {
		p.fields(lit, func(field *types.Var, x ast.Expr) {
			if fact := p.factOf(field); fact != nil {
				*all = append(*all, &site{arg: x, value: fact.around(p.eval(x, e)), fn: f})
			}
		})
	}
	w.field = func(left, right ast.Expr, e *env) {
		selector, ok := ast.Unparen(left).(*ast.SelectorExpr)
		if !ok {
			return
		}
		if field, ok := p.pass.TypesInfo.ObjectOf(selector.Sel).(*types.Var); ok {
			if fact := p.factOf(field.Origin()); fact != nil {
				*all = append(*all, &site{arg: right, value: fact.around(p.eval(right, e)), fn: f})
			}
		}
	}
}

// around puts a text between what the function adds that takes it.
func (f *takesSQL) around(v value) value {
	if f.Before != "" {
		v = concat(literal(f.Before), v)
	}
	if f.After != "" {
		v = concat(v, literal(f.After))
	}
	if f.Open {
		v = concat(v, unknown("what the called function adds"))
	}
	return v
}

// learn notes that a parameter of f, or a field, is SQL, if one is in the text that a call hands on. It reports whether that is
// a field.
func (p *program) learn(f *types.Func, arg ast.Expr, v value, outer *takesSQL) (isField bool) {
	if selector, ok := ast.Unparen(arg).(*ast.SelectorExpr); ok {
		field, ok := p.pass.TypesInfo.ObjectOf(selector.Sel).(*types.Var)
		if ok && field.IsField() && field.Exported() && field.Pkg() == p.pass.Pkg {
			p.facts[field.Origin()] = &takesSQL{Before: outer.Before, After: outer.After, Open: outer.Open}
			return true
		}
	}
	if f == nil {
		return false
	}
	for _, t := range v.texts {
		at := slices.IndexFunc(t, func(one part) bool { return one.hole == param })
		if at < 0 || showsWrite(t[:at]) || !startsText(t[:at]) {
			continue
		}
		before, known := t[:at].known()
		after, also := t[at+1:].known()
		fact := &takesSQL{Param: t[at].of, Before: outer.Before + before, After: after + outer.After, Open: outer.Open || !known || !also}
		if old := p.facts[f]; old != nil && *old != *fact {
			fact = &takesSQL{Param: min(old.Param, fact.Param), Open: true}
		}
		p.facts[f] = fact
	}
	return false
}

// inline evaluates a function of the package for the arguments of a call.
func (p *program) inline(fn *types.Func, call *ast.CallExpr, e *env) (value, bool) {
	decl := p.decls[fn]
	s := fn.Signature()
	if decl == nil || s.Results().Len() == 0 || !isText(s.Results().At(0).Type()) || p.depth >= maxDepth || p.budget <= 0 {
		return value{}, false
	}
	p.depth++
	p.budget--
	defer func() { p.depth-- }()
	var out value
	w := &walker{p: p, env: newEnv(), changes: p.changesOf(decl.Body), returns: &out}
	for i := range s.Params().Len() {
		v := s.Params().At(i)
		if i < len(call.Args) && !call.Ellipsis.IsValid() && !s.Variadic() {
			p.bind(w.env, v, call.Args[i], e)
		}
		if isText(v.Type()) {
			if i < len(call.Args) && !call.Ellipsis.IsValid() {
				w.set(v, p.eval(call.Args[i], e))
			} else {
				w.set(v, unknown(v.Name()))
			}
		}
	}
	w.block(decl.Body.List)
	return out, len(out.texts) > 0
}
