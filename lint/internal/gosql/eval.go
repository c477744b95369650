package gosql

import (
	"go/ast"
	gocon "go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// eval returns the texts that an expression can have; env has the variables of the function around it, and is nil outside
// of one.
func (p *program) eval(x ast.Expr, env *env) value {
	if x == nil {
		return unknown("nothing is given")
	}
	switch e := ast.Unparen(x).(type) {
	case *ast.BasicLit:
		if s, ok := p.constant(e); ok {
			return value{texts: []text{{{text: s, lit: e}}}}
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD && isText(p.pass.TypesInfo.TypeOf(e)) {
			return concat(p.eval(e.X, env), p.eval(e.Y, env))
		}
	}
	if s, ok := p.constant(x); ok {
		return literal(s)
	}
	switch e := ast.Unparen(x).(type) {
	case *ast.Ident:
		if v, ok := p.pass.TypesInfo.ObjectOf(e).(*types.Var); ok {
			return p.variable(v, env)
		}
	case *ast.SelectorExpr:
		if v, ok := p.pass.TypesInfo.ObjectOf(e.Sel).(*types.Var); ok {
			return p.variable(v, env)
		}
	case *ast.CallExpr:
		return p.evalCall(e, env)
	case *ast.IndexExpr:
		return p.element(e)
	case *ast.StarExpr:
		return p.other(x)
	}
	return p.other(x)
}

// constant returns a constant text; of a whole number, its digits.
func (p *program) constant(x ast.Expr) (string, bool) {
	v := p.pass.TypesInfo.Types[x].Value
	if v == nil {
		return "", false
	}
	switch v.Kind() { //nolint:exhaustive // other constants are in no text
	case gocon.String:
		return gocon.StringVal(v), true
	case gocon.Int:
		return v.ExactString(), true
	}
	return "", false
}

// other is the value of an expression that is not followed.
func (p *program) other(x ast.Expr) value {
	if isWhole(p.pass.TypesInfo.TypeOf(x)) {
		return value{texts: []text{{{hole: number, why: describe(x)}}}}
	}
	return unknown(describe(x))
}

// describe shortens the source of an expression.
func describe(x ast.Expr) string {
	const most = 40
	s := strings.Join(strings.Fields(types.ExprString(x)), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// variable returns what a variable, a field or a parameter can hold.
func (p *program) variable(v *types.Var, env *env) value {
	v = v.Origin()
	if env != nil {
		if known, ok := env.vars[v]; ok {
			return known
		}
	}
	if v.IsField() || ofPackage(v) || env == nil && isText(v.Type()) {
		return p.stored(v)
	}
	if isWhole(v.Type()) {
		return value{texts: []text{{{hole: number, why: v.Name()}}}}
	}
	return unknown(v.Name())
}

// ofPackage reports whether a variable is declared outside of functions.
func ofPackage(v *types.Var) bool { return v.Pkg() != nil && v.Parent() == v.Pkg().Scope() }

// evalCall evaluates calls that make texts.
func (p *program) evalCall(call *ast.CallExpr, env *env) value {
	info := p.pass.TypesInfo
	if info.Types[call.Fun].IsType() && len(call.Args) == 1 { // a conversion
		if isText(info.TypeOf(call)) && isText(info.TypeOf(call.Args[0])) {
			return p.eval(call.Args[0], env)
		}
		return p.other(call)
	}
	fn, _ := typeutil.Callee(info, call).(*types.Func)
	if fn == nil || fn.Pkg() == nil {
		return p.other(call)
	}
	name := fn.Name()
	if fn.Signature().Recv() == nil {
		name = fn.Pkg().Path() + "." + name
	}
	if v, ok := p.library(name, call, env); ok {
		return v
	}
	if fn.Pkg() == p.pass.Pkg {
		if v, ok := p.inline(fn.Origin(), call, env); ok {
			return v
		}
	}
	if v, ok := p.ofPackages(fn.Origin(), call); ok {
		return v
	}
	return p.other(call)
}

// library evaluates a function of the standard library or a driver.
func (p *program) library(name string, call *ast.CallExpr, env *env) (value, bool) {
	arg := func(i int) value {
		if i >= len(call.Args) {
			return unknown(describe(call))
		}
		return p.eval(call.Args[i], env)
	}
	switch name {
	case "fmt.Sprintf", "fmt.Sprint":
		if call.Ellipsis.IsValid() {
			return value{}, false
		}
		if name == "fmt.Sprint" {
			return arg(0), len(call.Args) == 1 && isText(p.pass.TypesInfo.TypeOf(call.Args[0]))
		}
		return p.sprintf(call.Args[0], call.Args[1:], env), true
	case "strings.TrimSpace":
		return arg(0).each(strings.TrimSpace), true
	case "strings.TrimSuffix", "strings.TrimPrefix", "strings.TrimRight", "strings.TrimLeft", "strings.Trim":
		return p.trim(name, arg), true
	case "strings.ReplaceAll", "strings.Replace":
		return p.replace(call, arg), true
	case "strings.Join":
		return p.join(call, env)
	case "strings.Repeat":
		return p.repeat(call, arg)
	case "strconv.Itoa", "strconv.FormatInt", "strconv.FormatUint":
		return arg(0), name == "strconv.Itoa" || len(call.Args) == 2 && describe(call.Args[1]) == "10"
	case "github.com/jmoiron/sqlx.Rebind":
		return arg(1), true
	case "Rebind":
		return arg(0), len(call.Args) == 1
	case "github.com/lib/pq.QuoteIdentifier":
		return value{texts: []text{{{hole: quoted, why: describe(call)}}}}, true
	case "Sanitize":
		return value{texts: []text{{{hole: quoted, why: describe(call)}}}}, isText(p.pass.TypesInfo.TypeOf(call)) && len(call.Args) == 0
	case "Replace": // of a strings.Replacer: the configuration may say what it fills in
		return concat(arg(0), value{texts: []text{{{hole: filled, why: describe(call)}}}}), isReplacer(p.pass.TypesInfo, call)
	case "String":
		return p.built(call, env)
	}
	return value{}, false
}

// isReplacer reports whether a call is of a method of a strings.Replacer.
func isReplacer(info *types.Info, call *ast.CallExpr) bool {
	fn, ok := typeutil.Callee(info, call).(*types.Func)
	return ok && fn.FullName() == "(*strings.Replacer).Replace" && len(call.Args) == 1
}

// replace evaluates strings.Replace and ReplaceAll.
func (p *program) replace(call *ast.CallExpr, arg func(int) value) value {
	from, to, limit := arg(1), arg(2), -1
	if len(call.Args) == 4 {
		n, ok := p.constant(call.Args[3])
		if !ok {
			return concat(arg(0), unknown(describe(call)))
		}
		if limit, _ = strconv.Atoi(strings.TrimSpace(n)); n == "-1" {
			limit = -1
		}
	}
	old, known := from.single()
	if !known || old == "" {
		return concat(arg(0), unknown(describe(call)))
	}
	var out value
	for _, t := range arg(0).texts {
		s, ok := t.known()
		if !ok {
			out = union(out, value{texts: []text{append(slices.Clip(t), part{hole: anything, why: t.why()})}})
			continue
		}
		pieces := strings.SplitN(s, old, max(limit, -1)+min(1, limit+1))
		v := literal(pieces[0])
		for _, piece := range pieces[1:] {
			v = concat(concat(v, to), literal(piece))
		}
		out = union(out, v)
	}
	return out
}

// trim evaluates the functions of package strings that take something away from the ends.
func (p *program) trim(name string, arg func(int) value) value {
	what, ok := arg(1).single()
	if !ok {
		return concat(arg(0), unknown("what is trimmed"))
	}
	how := map[string]func(string, string) string{
		"strings.TrimSuffix": strings.TrimSuffix, "strings.TrimPrefix": strings.TrimPrefix,
		"strings.TrimRight": strings.TrimRight, "strings.TrimLeft": strings.TrimLeft, "strings.Trim": strings.Trim,
	}[name]
	return arg(0).each(func(s string) string { return how(s, what) })
}

// join evaluates strings.Join of a list whose content is known.
func (p *program) join(call *ast.CallExpr, env *env) (value, bool) {
	list, ok := p.items(call.Args[0], env)
	if !ok {
		return value{}, false
	}
	separator := p.eval(call.Args[1], env)
	out := literal("")
	for i, one := range list {
		if i > 0 {
			out = concat(out, separator)
		}
		out = concat(out, one)
	}
	return out, true
}

// repeat evaluates strings.Repeat. However many placeholders there are, two of them show what a statement does.
func (p *program) repeat(call *ast.CallExpr, arg func(int) value) (value, bool) {
	what, ok := arg(0).single()
	if !ok || len(call.Args) != 2 {
		return value{}, false
	}
	if n, known := p.constant(call.Args[1]); known {
		if times, err := strconv.Atoi(n); err == nil && times >= 0 && times*len(what) < 1<<16 {
			return literal(strings.Repeat(what, times)), true
		}
	}
	return literal(what + what), strings.Trim(what, "?, ()") == ""
}

// element evaluates an element of a map or list whose content is known.
func (p *program) element(e *ast.IndexExpr) value {
	id, ok := ast.Unparen(e.X).(*ast.Ident)
	if !ok {
		return p.other(e)
	}
	v, ok := p.pass.TypesInfo.ObjectOf(id).(*types.Var)
	if !ok {
		return p.other(e)
	}
	all, ok := p.elements(v)
	if !ok {
		return p.other(e)
	}
	wanted, chosen := p.constant(e.Index)
	var out value
	for i, x := range all.Elts {
		key, keyed := strconv.Itoa(i), true
		if pair, isPair := x.(*ast.KeyValueExpr); isPair {
			key, keyed = p.constant(pair.Key)
			x = pair.Value
		}
		if !chosen || !keyed || key == wanted {
			out = union(out, p.eval(x, nil))
		}
	}
	if len(out.texts) == 0 {
		return p.other(e)
	}
	return out
}
