package gosql

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint/internal/gormmodel"
)

// ormPlan holds what the chain of a call says of its statement.
type ormPlan struct {
	model *gormmodel.Model
	value *content // of Model(…); nil without one
	dest  *content // that the last call gets; nil without one
	table string
	where []condition
	// perhaps names a condition that equals columns with values, and may be there or not.
	perhaps          string
	selects, omits   []string
	attrs, assigns   []ast.Expr
	conflict         *ast.CompositeLit
	modifier         string // of INSERT
	order, limit     value
	unscoped, silent bool // without soft deletes; without hooks
	everywhere       bool // AllowGlobalUpdate
	dry              bool
	// unknown names what is not known of the statement. doubt says what else the call does; early that it may change the statement.
	unknown, doubt string
	early          bool
}

// read reads the chain.
func (w *ormWriter) read() *ormPlan {
	plan := &ormPlan{unknown: w.unknown}
	if w.model != nil {
		plan.model = w.p.modelOf(w.model)
		plan.value = &content{of: w.model, whole: true}
	}
	for _, s := range w.steps { // conditions are written with the model
		if s.name == "Model" && len(s.args) == 1 {
			plan.value = w.content(s.args[0])
			plan.model = w.p.modelOf(plan.value.of)
		}
	}
	if dest := w.destination(); dest != nil {
		plan.dest = w.content(dest)
		if plan.model == nil && plan.value == nil {
			plan.model = w.p.modelOf(plan.dest.of)
		}
	}
	for _, s := range w.steps {
		w.readCall(s, plan)
	}
	if plan.model != nil && plan.model.Unknown != "" && plan.unknown == "" && (plan.table == "" || plan.model.Table != "") {
		plan.unknown = plan.model.Unknown
	}
	if plan.model != nil && plan.table == "" {
		plan.table = plan.model.Table
	}
	if plan.table == "" && plan.unknown == "" {
		plan.unknown = "the table of " + describe(w.call)
	}
	return plan
}

// destination returns the argument that holds the model, unless there is a Model.
func (w *ormWriter) destination() ast.Expr {
	switch w.verb {
	case "Create", "CreateInBatches", "Save", "Delete", "FirstOrCreate", "FirstOrInit", "Updates", "UpdateColumns", "First", "Take", "Last", "Find", "FindInBatches":
		if len(w.args) > 0 {
			return w.args[0]
		}
	}
	return nil
}

// readCall reads one call.
func (w *ormWriter) readCall(s chainCall, plan *ormPlan) {
	if s.unsure && s.name != "Where" && s.name != "Not" && !neutral(s.name) {
		plan.lacks(s.name + ", which is called sometimes")
		return
	}
	switch s.name {
	case "Model", "Distinct", "Group", "Having":
	case "Where", "Not", "Or":
		w.where(s, plan)
	case "Table":
		if plan.table = w.name(s, plan); strings.ContainsAny(plan.table, " `(") {
			plan.lacks("the table " + plan.table)
		}
	case "Select":
		plan.selects = w.names(s, plan)
	case "Omit":
		plan.omits = w.names(s, plan)
		if len(plan.omits) == 1 && strings.Contains(plan.omits[0], ",") {
			plan.omits = strings.FieldsFunc(plan.omits[0], func(r rune) bool { return r == ',' || r == ' ' })
		}
	case "Clauses":
		w.clauses(s, plan)
	case "Order":
		plan.order = value{texts: []text{{{hole: anything, why: "the order"}}}}
		if len(s.args) == 1 && isText(w.p.pass.TypesInfo.TypeOf(s.args[0])) {
			plan.order = w.p.eval(s.args[0], w.env)
		}
	case "Limit":
		plan.limit = w.operand(s.args[0])
	case "Offset":
		plan.limit = unknown("the offset")
	case "Attrs":
		plan.attrs = s.args
	case "Assign":
		plan.assigns = s.args
	case "Unscoped":
		plan.unscoped = true
	case "Scopes":
		w.scopes(s, plan)
	case "Session":
		w.session(s, plan)
	case "Set", "InstanceSet", "Get":
		if key, ok := w.p.eval(s.args[0], w.env).single(); !ok || strings.HasPrefix(key, "gorm:") {
			plan.lacks("the setting " + describe(s.args[0]))
		}
	default:
		if !neutral(s.name) {
			plan.lacks("what " + s.name + " adds to the statement")
		}
	}
}

// lacks notes what is not known, if nothing was before.
func (p *ormPlan) lacks(what string) {
	if p.unknown == "" {
		p.unknown = what
	}
}

// name reads the name that a call gets.
func (w *ormWriter) name(s chainCall, plan *ormPlan) string {
	if len(s.args) == 1 {
		if name, ok := w.p.eval(s.args[0], w.env).single(); ok && name != "" {
			return name
		}
	}
	plan.lacks("the name " + describe(s.args[0]))
	return ""
}

// names reads the columns of Select and Omit.
func (w *ormWriter) names(s chainCall, plan *ormPlan) (all []string) {
	for _, x := range s.args {
		if lit, ok := ast.Unparen(x).(*ast.CompositeLit); ok {
			all = append(all, w.names(chainCall{args: lit.Elts}, plan)...)
			continue
		}
		name, ok := w.p.eval(x, w.env).single()
		if name == "clause.Associations" || !ok || s.spread {
			plan.lacks("the columns " + describe(x))
		}
		all = append(all, name)
	}
	return all
}

// clauses reads a call of Clauses.
func (w *ormWriter) clauses(s chainCall, plan *ormPlan) {
	for _, x := range s.args {
		x = ast.Unparen(x)
		if u, ok := x.(*ast.UnaryExpr); ok {
			x = ast.Unparen(u.X)
		}
		lit, ok := x.(*ast.CompositeLit)
		if !ok || s.spread {
			plan.lacks("the clause " + describe(x))
			continue
		}
		switch name := w.p.clause(lit); name {
		case "OnConflict":
			plan.conflict = lit
		case "Locking", "Returning", "OrderBy", "OrderByColumn", "Select":
		case "Insert":
			fields := w.literal(lit).fields
			modifier, ok := w.p.eval(fields["Modifier"], w.env).single()
			if !ok || len(fields) != 1 {
				plan.lacks("the clause " + describe(x))
			}
			plan.modifier = modifier + " "
		case "Eq", "Neq", "Gt", "Gte", "Lt", "Lte", "Like":
			plan.where = append(plan.where, condition{sql: w.comparison(name, lit)})
		default:
			plan.lacks("the clause " + describe(x))
		}
	}
}

// session reads the settings of a session.
func (w *ormWriter) session(s chainCall, plan *ormPlan) {
	x := ast.Unparen(s.args[0])
	if u, ok := x.(*ast.UnaryExpr); ok {
		x = ast.Unparen(u.X)
	}
	lit, ok := x.(*ast.CompositeLit)
	if !ok {
		plan.lacks("the session " + describe(x))
		return
	}
	for name, x := range w.literal(lit).fields {
		on := describe(x) == "true"
		switch name {
		case "NewDB":
			if on && (len(plan.where) > 0 || plan.table != "" || plan.conflict != nil || len(plan.selects)+len(plan.omits) > 0) {
				plan.lacks("the session, which begins anew")
			}
		case "SkipHooks":
			plan.silent = on
		case "AllowGlobalUpdate":
			plan.everywhere = on
		case "DryRun":
			plan.dry = on
		case "FullSaveAssociations":
			plan.lacks("the associations, which are saved as well")
		}
	}
}

// scopes reads the functions of Scopes: literals and functions of the package that return a chain.
func (w *ormWriter) scopes(s chainCall, plan *ormPlan) {
	for _, x := range s.args {
		inner := &ormCall{p: w.p, call: w.call, scope: w.scope, env: w.env}
		result := w.p.scopeResult(x)
		if result == nil || s.spread {
			plan.lacks("what " + describe(x) + " adds to the statement")
			continue
		}
		if inner.chain(result, nil, 1); inner.unknown != "" {
			plan.lacks(inner.unknown)
			continue
		}
		for _, one := range inner.steps {
			w.readCall(one, plan)
		}
	}
}

// scopeResult returns the chain that a function returns; nil if that is not all it does.
func (p *program) scopeResult(x ast.Expr) ast.Expr {
	switch x := ast.Unparen(x).(type) {
	case *ast.FuncLit:
		if len(x.Body.List) != 1 {
			return nil
		}
		if r, ok := x.Body.List[0].(*ast.ReturnStmt); ok && len(r.Results) == 1 {
			return r.Results[0]
		}
	case *ast.Ident:
		if fn, ok := p.pass.TypesInfo.Uses[x].(*types.Func); ok {
			result, _ := p.returned(fn)
			return result
		}
	}
	return nil
}

// selection says which columns a statement writes.
type selection struct {
	chosen     map[string]bool
	restricted bool
}

// selection reads Select and Omit as GORM's SelectAndOmitColumns does.
func (p *ormPlan) selection(creates bool) selection {
	s := selection{chosen: map[string]bool{}, restricted: len(p.selects) > 0}
	for _, name := range p.selects {
		s.mark(p.model, name, true)
	}
	for _, name := range p.omits {
		s.mark(p.model, name, false)
	}
	for _, f := range p.model.Fields {
		if f.Column != "" && (creates && f.NoCreate || !creates && f.NoUpdate) {
			s.chosen[f.Column] = false
		}
	}
	return s
}

// mark takes one name of Select or Omit into account.
func (s *selection) mark(m *gormmodel.Model, name string, on bool) {
	switch name = name[strings.LastIndex(name, ".")+1:]; name {
	case "*":
		s.restricted = s.restricted && !on
		for _, f := range m.Fields {
			if f.Column != "" {
				s.chosen[f.Column] = on
			}
		}
	case associations:
		for _, association := range m.Associations() {
			s.chosen[association] = on
		}
	default:
		if f := m.Field(name); f != nil && f.Column != "" {
			name = f.Column
		}
		s.chosen[name] = on
	}
}

// associations is clause.Associations.
const associations = "~~~as~~~"

// excludes reports whether a column is left out by its name.
func (s selection) excludes(column string) bool {
	on, named := s.chosen[column]
	return named && !on
}

// takes reports whether a column is written.
func (s selection) takes(column string) bool {
	on, named := s.chosen[column]
	return named && on || !named && !s.restricted
}

// links notes the associations that a call writes, or may write.
func (w *ormWriter) links(in *content, s selection, plan *ormPlan) {
	if in == nil {
		return
	}
	for _, name := range plan.model.Associations() {
		if !s.takes(name) {
			continue
		}
		_, set := in.fields[name]
		switch {
		case set && !w.isNil(in.fields[name]):
			plan.suspect("the rows of "+name+" are written as well", false)
		case !set && in.linked:
			plan.suspect("the rows of "+name+" are written as well, if "+plan.model.Name+" holds any: leave them out with Omit(clause.Associations)", false)
		}
	}
}

func (w *ormWriter) isNil(x ast.Expr) bool { return x != nil && w.isZero(x) }

// suspect notes what else the call does.
func (p *ormPlan) suspect(what string, early bool) {
	if p.doubt == "" || early && !p.early {
		p.doubt, p.early = what, early
	}
}

// hooks notes the methods of the model that run around the statement.
func (p *ormPlan) hooks(event string) {
	if p.model == nil || p.silent {
		return
	}
	if name, before := p.model.Hook(event); name != "" {
		p.suspect("the method "+name+" of "+p.model.Name+" runs with the statement", before)
	}
}

// stamps returns the fields whose time GORM sets when it writes.
func (p *ormPlan) stamps() []*gormmodel.Field {
	if p.model == nil || p.silent {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.model.Fields), func(f *gormmodel.Field) bool { return !f.Updated || f.Column == "" })
}
