package gosql

import (
	"go/ast"
	gocon "go/constant"
	"go/types"
	"regexp"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/gormmodel"
)

// ormWriter writes a statement as GORM does for one dialect.
type ormWriter struct {
	*ormCall

	d      dialect.Dialect
	params int
}

// param writes the next placeholder.
func (w *ormWriter) param() value {
	w.params++
	return literal(w.d.Placeholder(w.params))
}

// now is the time at which GORM runs, which is another one each time.
func (w *ormWriter) now(f *gormmodel.Field) value {
	switch {
	case !f.Unix:
		return literal("CURRENT_TIMESTAMP")
	case w.d == dialect.PostgreSQL:
		return literal("extract(epoch from now())::bigint")
	case w.d == dialect.MySQL:
		return literal("unix_timestamp()")
	}
	return literal("unixepoch()")
}

// column writes the name of a column, which may have its table in front.
func (w *ormWriter) column(name string) value { return literal(w.d.QuotePath(name)) }

// into writes the table of an INSERT. GORM's drivers for SQLite leave out the schema of a name of two parts, there alone.
func (w *ormWriter) into(table string) value {
	if parts := strings.Split(table, "."); w.d == dialect.SQLite && len(parts) == 2 {
		table = parts[1]
	}
	return w.column(table)
}

// operand writes a value: a constant, an expression of GORM, or a placeholder. What may be an expression, and is not known, is a
// hole.
func (w *ormWriter) operand(x ast.Expr) value {
	info := w.p.pass.TypesInfo
	t := info.Types[x]
	switch {
	case t.IsNil():
		return literal("NULL")
	case t.Value != nil:
		return w.constant(t)
	}
	if v, ok := w.expression(x); ok {
		return v
	}
	if text := opaqueType(t.Type); text {
		return unknown(describe(x))
	}
	return w.param()
}

// opaqueType reports whether a value of a type may be an expression of SQL.
func opaqueType(t types.Type) bool {
	if t == nil || types.IsInterface(t) || isORM(t) {
		return true
	}
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return true
	}
	methods := types.NewMethodSet(types.NewPointer(t))
	for method := range methods.Methods() {
		switch method.Obj().Name() {
		case "GormValue", "Build", "ModifyStatement":
			return true
		}
	}
	return false
}

// constant writes a constant of Go, as a literal where all dialects write it alike.
func (w *ormWriter) constant(t types.TypeAndValue) value {
	if opaqueType(t.Type) || writesItself(t.Type) {
		return w.param()
	}
	switch t.Value.Kind() { //nolint:exhaustive // others are rare
	case gocon.Bool:
		if t.Value.ExactString() == "true" {
			return literal("TRUE")
		}
		return literal("FALSE")
	case gocon.Int:
		return literal(t.Value.ExactString())
	case gocon.String:
		if s := gocon.StringVal(t.Value); !strings.ContainsAny(s, "\\\x00") {
			return literal("'" + strings.ReplaceAll(s, "'", "''") + "'")
		}
	}
	return w.param()
}

// expression writes an expression of GORM: gorm.Expr("n - ?", x), clause.Expr{…}, clause.Column{…}, or a variable that holds one.
func (w *ormWriter) expression(x ast.Expr) (value, bool) {
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr:
		if w.p.isFunc(x, orm, "Expr") && len(x.Args) > 0 {
			return w.filled(w.p.eval(x.Args[0], w.env), x.Args[1:], x.Ellipsis.IsValid()), true
		}
	case *ast.CompositeLit:
		switch w.p.clause(x) {
		case "Expr":
			return w.clauseExpr(x), true
		case "Column":
			return w.columnOf(x), true
		}
	case *ast.Ident:
		v := w.p.local(x)
		if v == nil || !opaqueType(v.Type()) {
			return value{}, false
		}
		of := w.scope.variable(v)
		if len(of.defs) == 1 && of.defs[0].value != nil && len(of.leaks) == 0 {
			return w.operand(of.defs[0].value), true
		}
	}
	return value{}, false
}

// clauseExpr writes clause.Expr{…}.
func (w *ormWriter) clauseExpr(lit *ast.CompositeLit) value {
	fields := w.literal(lit).fields
	vars, ok := fields["Vars"].(*ast.CompositeLit)
	switch {
	case fields["Vars"] == nil:
		return w.filled(w.p.eval(fields["SQL"], w.env), nil, false)
	case !ok:
		return unknown(describe(lit))
	}
	return w.filled(w.p.eval(fields["SQL"], w.env), vars.Elts, false)
}

// columnOf writes clause.Column{…}.
func (w *ormWriter) columnOf(lit *ast.CompositeLit) value {
	fields := w.literal(lit).fields
	name, ok := w.p.eval(fields["Name"], w.env).single()
	if fields["Name"] == nil || !ok || fields["Raw"] != nil || fields["Alias"] != nil {
		return unknown(describe(lit))
	}
	if fields["Table"] == nil {
		return w.column(name)
	}
	table, ok := w.p.eval(fields["Table"], w.env).single()
	switch {
	case !ok:
		return unknown(describe(lit))
	case table == "~~~ct~~~" || table == "": // clause.CurrentTable
		return w.column(name)
	case table == "excluded" && w.d == dialect.MySQL:
		return literal("VALUES(" + w.d.Quote(name) + ")")
	}
	return literal(w.d.QuotePath(table) + "." + w.d.Quote(name))
}

// isFunc reports whether a call is one of a function of a package.
func (p *program) isFunc(call *ast.CallExpr, path, name string) bool {
	var id *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.SelectorExpr:
		id = f.Sel
	case *ast.Ident:
		id = f
	default:
		return false
	}
	fn, ok := p.pass.TypesInfo.Uses[id].(*types.Func)
	return ok && fn.Pkg() != nil && fn.Pkg().Path() == path && fn.Name() == name && fn.Signature().Recv() == nil
}

// clause returns the name of the type of gorm.io/gorm/clause that a literal has.
func (p *program) clause(lit *ast.CompositeLit) string {
	n, ok := types.Unalias(p.pass.TypesInfo.TypeOf(lit)).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != orm+"/clause" {
		return ""
	}
	return n.Obj().Name()
}

// filled puts values in the places of the question marks of a text, and of its names with @.
func (w *ormWriter) filled(sql value, args []ast.Expr, spread bool) value {
	if spread {
		return unknown(describe(args[len(args)-1]) + "...")
	}
	if len(args) > 0 {
		for _, t := range sql.texts {
			for _, p := range t {
				if p.hole == constant && strings.Contains(p.text, "@") && !strings.Contains(p.text, "?") {
					return w.named(sql, args)
				}
			}
		}
	}
	given := make([]value, len(args))
	for i, x := range args {
		given[i] = w.operands(x)
	}
	var out value
	for _, t := range sql.texts {
		out = union(out, fill(t, given))
	}
	return out
}

// fill replaces the question marks of one text.
func fill(t text, given []value) value {
	out, next := literal(""), 0
	for _, p := range t {
		if p.hole != constant {
			out = concat(out, value{texts: []text{{p}}})
			continue
		}
		rest := p.text
		for next < len(given) {
			before, after, found := strings.Cut(rest, "?")
			if !found {
				break
			}
			list := given[next]
			if strings.HasSuffix(before, "(") && strings.HasPrefix(after, ")") { // IN (?) with a list
				list = list.each(func(s string) string {
					if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
						return s[1 : len(s)-1]
					}
					return s
				})
			}
			out = concat(concat(out, literal(before)), list)
			rest = after
			next++
		}
		out = concat(out, literal(rest))
	}
	return out
}

// named replaces the names of a text: @name is one value, wherever it is.
func (w *ormWriter) named(sql value, args []ast.Expr) value {
	for _, x := range args {
		if !w.plain(x) {
			return unknown(describe(x))
		}
	}
	names := map[string]string{}
	return sql.each(func(s string) string {
		return atName.ReplaceAllStringFunc(s, func(name string) string {
			if names[name] == "" {
				names[name] = ":" + name[1:]
				if w.d == dialect.PostgreSQL {
					w.params++
					names[name] = w.d.Placeholder(w.params)
				}
			}
			return names[name]
		})
	})
}

var atName = regexp.MustCompile(`@\w+`)

// plain reports whether an argument holds values for names, and none that is SQL itself.
func (w *ormWriter) plain(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr:
		return w.p.isFunc(x, "database/sql", "Named") && len(x.Args) == 2 && (w.p.pass.TypesInfo.Types[x.Args[1]].Value != nil || !opaqueType(w.p.pass.TypesInfo.TypeOf(x.Args[1])))
	case *ast.CompositeLit:
		for _, y := range x.Elts {
			pair, ok := y.(*ast.KeyValueExpr)
			if !ok || w.p.pass.TypesInfo.Types[pair.Value].Value == nil && opaqueType(w.p.pass.TypesInfo.TypeOf(pair.Value)) {
				return false
			}
		}
		return true
	}
	return false
}

// operands writes a value, or a list of them in parentheses.
func (w *ormWriter) operands(x ast.Expr) value {
	t := w.p.pass.TypesInfo.TypeOf(x)
	if !isListed(t) {
		return w.operand(x)
	}
	if lit, ok := ast.Unparen(x).(*ast.CompositeLit); ok {
		out := literal("(")
		for i, element := range lit.Elts {
			if i > 0 {
				out = concat(out, literal(","))
			}
			out = concat(out, w.operand(element))
		}
		if len(lit.Elts) > 0 {
			return concat(out, literal(")"))
		}
	}
	if s, ok := t.Underlying().(*types.Slice); ok && opaqueType(s.Elem()) {
		return unknown(describe(x))
	}
	return concat(concat(literal("("), w.param()), concat(literal(","), concat(w.param(), literal(")"))))
}

// writesItself reports whether a type says what the database gets for one of its values.
func writesItself(t types.Type) bool {
	methods := types.NewMethodSet(t)
	for method := range methods.Methods() {
		if method.Obj().Name() == "Value" || method.Obj().Name() == "GormValue" {
			return true
		}
	}
	return false
}

// isListed reports whether GORM writes several values for one of a type.
func isListed(t types.Type) bool {
	if t == nil || writesItself(t) {
		return false
	}
	var of types.Type
	switch u := t.Underlying().(type) {
	case *types.Slice:
		of = u.Elem()
	case *types.Array:
		of = u.Elem()
	default:
		return false
	}
	b, ok := of.Underlying().(*types.Basic)
	return !ok || b.Kind() != types.Byte
}
