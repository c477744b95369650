package gocheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/gosql"
)

// origin names the source of a value: a column of a row that was read, or with an empty column the row as a struct.
type origin struct {
	from   *query
	column string
}

// modifies follows one function, in the order of its source: which variables hold what a SELECT read, and which UPDATE of
// the same row writes it back.
type modifies struct {
	*collector

	rows    map[types.Object]*query               // what QueryRow and Query returned
	held    map[types.Object][]origin             // what a variable was computed from
	cleared map[types.Object]map[string]bool      // fields that got another value
	changed map[types.Object]map[string]token.Pos // fields that were computed from themselves
}

// readModifyWrite looks at every function for an UPDATE whose value is computed in Go from the row that it changes.
func (c *collector) readModifyWrite() {
	for d := range c.declarations() {
		if c.locked(d.Body) || isolated(d.Body) {
			continue
		}
		m := &modifies{
			collector: c, rows: map[types.Object]*query{}, held: map[types.Object][]origin{},
			cleared: map[types.Object]map[string]bool{}, changed: map[types.Object]map[string]token.Pos{},
		}
		ast.Inspect(d.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				m.assignment(n)
			case *ast.IncDecStmt:
				m.set(n.X, m.origins(n.X))
			case *ast.CallExpr:
				m.read(n)
				m.write(n)
				m.gorm(n)
			}
			return true
		})
	}
}

// isolated reports whether a function asks for transactions that end when a row that they read has changed.
func isolated(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		found = found || ok && strings.Contains(name.Name, "RepeatableRead")
		return !found
	})
	return found
}

// assignment notes what variables and fields get.
func (m *modifies) assignment(s *ast.AssignStmt) {
	for i, left := range s.Lhs {
		value := s.Rhs[0]
		if len(s.Rhs) == len(s.Lhs) {
			value = s.Rhs[i]
		}
		from := m.origins(value)
		if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
			from = append(from, m.origins(left)...)
		}
		m.set(left, from)
		if call, ok := ast.Unparen(value).(*ast.CallExpr); ok && i == 0 {
			if name, ok := left.(*ast.Ident); ok {
				m.rows[m.pass.TypesInfo.ObjectOf(name)] = m.selected(call)
			}
		}
	}
}

// set gives a variable, or a field of one, what it is computed from.
func (m *modifies) set(left ast.Expr, from []origin) {
	switch x := ast.Unparen(left).(type) {
	case *ast.Ident:
		if object := m.pass.TypesInfo.ObjectOf(x); object != nil && !isError(object.Type()) {
			m.held[object] = from
			delete(m.cleared, object)
			delete(m.changed, object)
		}
	case *ast.SelectorExpr:
		object, column := m.field(x)
		if object == nil {
			return
		}
		if m.cleared[object] == nil {
			m.cleared[object], m.changed[object] = map[string]bool{}, map[string]token.Pos{}
		}
		if slices.ContainsFunc(from, func(o origin) bool { return o.column == column }) {
			m.changed[object][column] = left.Pos()
			return
		}
		m.cleared[object][column] = true
		delete(m.changed[object], column)
	}
}

// field returns the variable and the column of u.Balance: as its tag for sqlx says, or as its name.
func (m *modifies) field(x *ast.SelectorExpr) (types.Object, string) {
	name, ok := ast.Unparen(x.X).(*ast.Ident)
	if !ok {
		return nil, ""
	}
	object, ok := m.pass.TypesInfo.ObjectOf(name).(*types.Var)
	if !ok {
		return nil, ""
	}
	of := object.Type()
	if pointer, ok := of.Underlying().(*types.Pointer); ok {
		of = pointer.Elem()
	}
	if fields, ok := of.Underlying().(*types.Struct); ok {
		for i := range fields.NumFields() {
			if tag := reflect.StructTag(fields.Tag(i)).Get("db"); fields.Field(i).Name() == x.Sel.Name && tag != "" {
				return object, folded(tag)
			}
		}
	}
	return object, folded(x.Sel.Name)
}

// folded makes one name of Balance, balance and BALANCE; of CreatedAt and created_at.
func folded(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// origins returns what an expression is computed from.
func (m *modifies) origins(x ast.Expr) (all []origin) {
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.SelectorExpr:
			if object, column := m.field(n); object != nil && !m.cleared[object][column] {
				for _, o := range m.held[object] {
					if o.column == "" {
						all = append(all, origin{o.from, column})
					}
				}
			}
			return false
		case *ast.Ident:
			all = append(all, m.held[m.pass.TypesInfo.ObjectOf(n)]...)
		}
		return true
	})
	return all
}

// one returns the only statement of a call, with the arguments behind its text.
func (m *modifies) one(call *ast.CallExpr) (f *lint.Finding, params []ast.Expr) {
	all := m.calls[call]
	if len(all) != 1 || all[0].Unknown != "" || len(all[0].Findings) != 1 || call.Ellipsis.IsValid() {
		return nil, nil
	}
	text := slices.IndexFunc(call.Args, func(x ast.Expr) bool { return x.Pos() <= all[0].Pos && all[0].Pos < x.End() })
	if text < 0 {
		return nil, nil
	}
	return &all[0].Findings[0], call.Args[text+1:]
}

// selected returns the query that a call runs, if it is a SELECT of rows of one table without a lock.
func (m *modifies) selected(call *ast.CallExpr) *query {
	f, params := m.one(call)
	if f == nil {
		return nil
	}
	q := parseQuery(f)
	if q == nil || q.updates {
		return nil
	}
	q.at, q.params = call.Pos(), params
	return q
}

// read binds the variables whose addresses a call gets to what it reads.
func (m *modifies) read(call *ast.CallExpr) {
	name, q := calledName(call), (*query)(nil)
	s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	switch {
	case !ok:
	case name == "Scan" || name == "StructScan":
		switch x := ast.Unparen(s.X).(type) {
		case *ast.CallExpr:
			q = m.selected(x)
		case *ast.Ident:
			q = m.rows[m.pass.TypesInfo.ObjectOf(x)]
		}
	case name == "Get" || name == "GetContext":
		q = m.selected(call)
	}
	if q == nil {
		return
	}
	place := 0
	for _, x := range call.Args {
		u, ok := ast.Unparen(x).(*ast.UnaryExpr)
		if !ok || u.Op != token.AND {
			if name != "Scan" {
				continue
			}
			place++
			continue
		}
		m.bind(u.X, q, place)
		place++
	}
}

// bind makes a variable hold a column of a row, or the row.
func (m *modifies) bind(x ast.Expr, q *query, place int) {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		object := m.pass.TypesInfo.ObjectOf(x)
		if object == nil {
			return
		}
		if _, isStruct := object.Type().Underlying().(*types.Struct); isStruct && !isScalar(object.Type()) {
			m.set(x, []origin{{q, ""}})
		} else if place < len(q.items) && q.items[place] != "" {
			m.set(x, []origin{{q, q.items[place]}})
		}
	case *ast.SelectorExpr: // Scan(&u.ID, &u.Balance)
		if object, column := m.field(x); object != nil && place < len(q.items) && q.items[place] == column {
			m.held[object] = []origin{{q, ""}}
			delete(m.cleared[object], column)
		}
	}
}

// isScalar reports whether a struct is one value: sql.NullInt64, time.Time, decimal.Decimal.
func isScalar(t types.Type) bool {
	for _, method := range []string{"Scan", "Value", "UnixNano"} {
		if object, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, method); object != nil {
			return true
		}
	}
	return false
}

// write reports an UPDATE that writes back what was read of its row.
func (m *modifies) write(call *ast.CallExpr) {
	f, params := m.one(call)
	if f == nil {
		return
	}
	u := parseQuery(f)
	if u == nil || !u.updates || len(u.where) == 0 || slices.Equal(f.Dialects, []string{"sqlite"}) && m.onTx(call) {
		return // of SQLite, a transaction that read is refused where another one wrote
	}
	u.params = params
	for _, set := range u.sets {
		for _, o := range m.valueOf(u, set.value) {
			if o.column == set.column && o.from.table == u.table && m.sameRow(u, o.from) {
				m.lost(call, f.Text, u.table, set.column, o.from)
				return
			}
		}
	}
}

// onTx reports whether a call is a method of a transaction.
func (m *modifies) onTx(call *ast.CallExpr) bool {
	s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	return ok && strings.HasSuffix(types.TypeString(m.pass.TypesInfo.TypeOf(s.X), nil), "Tx")
}

// valueOf returns what the program passes for a placeholder is computed from.
func (m *modifies) valueOf(q *query, value string) []origin {
	if x := q.argument(value); x != nil {
		return m.origins(x)
	}
	name, ok := strings.CutPrefix(value, ":")
	if !ok || len(q.params) == 0 {
		return nil
	}
	if literal, ok := ast.Unparen(q.params[0]).(*ast.CompositeLit); ok {
		for _, x := range literal.Elts {
			if pair, ok := x.(*ast.KeyValueExpr); ok && folded(strings.Trim(types.ExprString(pair.Key), `"`)) == folded(name) {
				return m.origins(pair.Value)
			}
		}
		return nil
	}
	var all []origin
	for _, o := range m.origins(q.params[0]) {
		object := m.pass.TypesInfo.ObjectOf(rootOf(q.params[0]))
		if o.column == "" && !m.cleared[object][folded(name)] {
			all = append(all, origin{o.from, folded(name)})
		}
	}
	return all
}

// rootOf returns the variable of u and &u.
func rootOf(x ast.Expr) *ast.Ident {
	if u, ok := ast.Unparen(x).(*ast.UnaryExpr); ok {
		x = u.X
	}
	name, _ := ast.Unparen(x).(*ast.Ident)
	return name
}

var (
	isVersion = regexp.MustCompile(`version|^rev|revision|etag|lock|updated|modified|changed|timestamp`)
	isKey     = regexp.MustCompile(`(id|key|uuid|guid)$`)
)

// sameRow reports whether an UPDATE names the row that was read, by the same values, and has no condition that another
// writer could have made false.
func (m *modifies) sameRow(u, read *query) bool {
	for _, c := range u.where {
		if isVersion.MatchString(c.column) {
			return false
		}
		same := slices.ContainsFunc(read.where, func(r comparison) bool {
			a, b := u.argument(c.value), read.argument(r.value)
			if a == nil || b == nil {
				return c == r && a == nil && b == nil
			}
			return c.column == r.column && types.ExprString(a) == types.ExprString(b)
		})
		if !same && isKey.MatchString(c.column) {
			same = slices.Contains(m.valueOf(u, c.value), origin{read, c.column})
		}
		if !same {
			return false
		}
	}
	return true
}

// lost reports the call that may take back what another one wrote.
func (m *modifies) lost(call *ast.CallExpr, text, table, column string, read *query) {
	here := lineOf(m.pass.Fset, call.Pos())
	m.findings = append(m.findings, located{pos: call.Pos(), Finding: lint.Finding{
		File: here.File, Line: here.Line, Column: here.Column, Text: short(text), Verdict: lint.NotSafe, Rule: ReadModifyWrite,
		Why: fmt.Sprintf("%s of %s is read at %s, and what was computed from it in Go is written back: of two callers at once both read the same, and what one of them wrote is lost",
			column, table, lineOf(m.pass.Fset, read.at)),
		Guard: "let the UPDATE compute it, with a guard (SET n = n - 5 WHERE id = 1 AND n >= 5), read with FOR UPDATE in the same transaction, or compare a version in the condition",
	}})
}

// gorm follows First(&u) and what writes u back: Save(&u), Model(&u).Update("balance", u.Balance-100).
func (m *modifies) gorm(call *ast.CallExpr) {
	all := m.calls[call]
	if len(all) != 1 || !m.ofGORM(call) || chained(call, "Where", "Clauses", "Raw") && len(all[0].Writes) > 0 || chained(call, "Clauses", "Raw") {
		return
	}
	one, name := all[0], calledName(call)
	switch {
	case len(one.Reads) == 1 && len(one.Writes) == 0 && slices.Contains([]string{"First", "Take", "Last", "Find"}, name) && len(call.Args) > 0:
		if x := rootOf(call.Args[0]); x != nil {
			m.set(x, []origin{{&query{table: one.Reads[0], at: call.Pos()}, ""}})
		}
	case len(one.Writes) == 1:
		m.gormWrite(call, one, name)
	}
}

func (m *modifies) gormWrite(call *ast.CallExpr, one *gosql.Call, name string) {
	row := m.pointee(call)
	for _, o := range m.held[row] {
		if o.column != "" || o.from.table != one.Writes[0] || o.from.where != nil || hasVersion(row.Type()) {
			continue
		}
		switch {
		case name == "Save" || name == "Updates" && rootOf(call.Args[0]) != nil:
			for column := range m.changed[row] {
				m.lost(call, types.ExprString(call), o.from.table, column, o.from)
				return
			}
		case (name == "Update" || name == "UpdateColumn") && len(call.Args) == 2:
			column := folded(strings.Trim(types.ExprString(call.Args[0]), `"`))
			if slices.Contains(m.origins(call.Args[1]), origin{o.from, column}) {
				m.lost(call, types.ExprString(call), o.from.table, column, o.from)
				return
			}
		}
	}
}

// pointee returns the variable of the first &variable in a call, nil without one.
func (m *modifies) pointee(call *ast.CallExpr) (row types.Object) {
	ast.Inspect(call, func(n ast.Node) bool {
		if u, ok := n.(*ast.UnaryExpr); ok && u.Op == token.AND && row == nil {
			if x := rootOf(u); x != nil {
				row = m.pass.TypesInfo.ObjectOf(x)
			}
		}
		return true
	})
	return row
}

// hasVersion reports whether a struct has a field that a plugin may compare.
func hasVersion(t types.Type) bool {
	fields, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for field := range fields.Fields() {
		if strings.Contains(strings.ToLower(field.Name()), "version") {
			return true
		}
	}
	return false
}

// ofGORM reports whether a call is a method of GORM.
func (m *modifies) ofGORM(call *ast.CallExpr) bool {
	fn, ok := m.callee(call)
	return ok && fn.Pkg() != nil && fn.Pkg().Path() == "gorm.io/gorm"
}

// chained reports whether one of the methods is in the chain of a call.
func chained(call *ast.CallExpr, methods ...string) bool {
	for {
		s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok {
			return false
		}
		if slices.Contains(methods, s.Sel.Name) {
			return true
		}
		if call, ok = ast.Unparen(s.X).(*ast.CallExpr); !ok {
			return false
		}
	}
}
