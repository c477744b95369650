package gosql

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/gormmodel"
)

// assignment is a column with its new value.
type assignment struct {
	column, value value
	unsure        bool // it may be left out
}

// ormStatement holds the statement of a call of GORM in one dialect.
type ormStatement struct {
	sql  value // each of its texts may have several statements
	plan *ormPlan
	// define has the table as the model says; empty when that is not known.
	define string
}

// write writes the statement of a call for a dialect.
func (c *ormCall) write(d dialect.Dialect) ormStatement {
	c.assumes = slices.DeleteFunc(c.assumes, func(s string) bool { return strings.HasSuffix(s, " is set") })
	w := &ormWriter{ormCall: c, d: d}
	plan := w.read()
	out := ormStatement{plan: plan}
	if plan.model != nil && plan.model.Table == plan.table {
		out.define = plan.model.Define(d)
	}
	switch {
	case plan.dry:
	case c.reads():
		out.sql = w.query(plan)
	case plan.unknown != "":
		out.sql = w.blank(plan)
	default:
		out.sql = w.statement(plan)
		if plan.unknown != "" {
			out.sql = w.blank(plan)
		}
	}
	return out
}

// reads reports whether a call only reads.
func (c *ormCall) reads() bool {
	switch c.verb {
	case "Create", "CreateInBatches", "Save", "Update", "Updates", "UpdateColumn", "UpdateColumns", "Delete", "FirstOrCreate", "Append", "Replace", "Clear":
		return false
	}
	return true
}

// blank writes what is known of a statement that is not: its verb and its table.
func (w *ormWriter) blank(plan *ormPlan) value {
	table := unknown(plan.unknown)
	if plan.table != "" {
		table = w.column(plan.table)
	}
	hole := unknown(plan.unknown)
	switch w.verb {
	case "Update", "Updates", "UpdateColumn", "UpdateColumns":
		return concat(concat(literal("UPDATE "), table), concat(literal(" SET "), hole))
	case "Delete":
		return concat(concat(literal("DELETE FROM "), table), concat(literal(" WHERE "), hole))
	}
	if plan.table != "" {
		table = w.into(plan.table)
	}
	return concat(concat(literal("INSERT INTO "), table), concat(literal(" "), hole))
}

// query writes the reading of one table, so that what is read is known.
func (w *ormWriter) query(plan *ormPlan) value {
	if plan.table == "" || plan.unknown != "" {
		return value{}
	}
	what := "*"
	if w.verb == "Count" {
		what = "count(*)"
	}
	return literal("SELECT " + what + " FROM " + w.d.QuotePath(plan.table))
}

// statement writes the statement of a verb.
func (w *ormWriter) statement(plan *ormPlan) value {
	switch w.verb {
	case "Create", "CreateInBatches":
		return w.create(plan, plan.dest)
	case "FirstOrCreate":
		return w.findOrCreate(plan)
	case "Save":
		return w.save(plan)
	case "Delete":
		return w.remove(plan)
	case "UpdateColumn", "UpdateColumns":
		plan.silent = true
	case "Update", "Updates":
	default:
		return unknown(w.unknown)
	}
	return w.update(plan)
}

// create writes an INSERT of a model or a map.
func (w *ormWriter) create(plan *ormPlan, in *content) value {
	if plan.model == nil || in == nil {
		plan.lacks("the model of " + describe(w.call))
		return value{}
	}
	var columns []*gormmodel.Field
	var values []value
	if isMap(in.of) {
		columns, values = w.keysOf(plan, in)
	} else {
		plan.hooks("Create")
		s := plan.selection(true)
		w.links(in, s, plan)
		columns, values = w.inserted(plan, in, s)
	}
	out := concat(literal("INSERT "+plan.modifier+"INTO "), w.into(plan.table))
	if len(columns) == 0 {
		return concat(out, literal(map[bool]string{true: " () VALUES ()", false: " DEFAULT VALUES"}[w.d == dialect.MySQL]))
	}
	out = concat(out, w.rows(columns, values))
	if plan.conflict != nil {
		out = concat(out, w.conflict(plan, w.literal(plan.conflict).fields, columns))
	}
	return out
}

// rows writes the columns and values of an INSERT.
func (w *ormWriter) rows(columns []*gormmodel.Field, values []value) value {
	var names []value
	for _, f := range columns {
		names = append(names, w.column(f.Column))
	}
	return concat(concat(literal(" "), listed(names)), concat(literal(" VALUES "), listed(values)))
}

// keysOf returns the columns of an INSERT of a map.
func (w *ormWriter) keysOf(plan *ormPlan, in *content) (columns []*gormmodel.Field, values []value) {
	if !in.whole {
		plan.lacks(in.why)
		return nil, nil
	}
	s := plan.selection(true)
	for _, name := range slices.Sorted(maps.Keys(in.fields)) {
		f := plan.model.Field(name)
		if f == nil {
			f = &gormmodel.Field{Column: name}
		}
		x := in.fields[name]
		if in.unsure[name] || x == nil {
			plan.lacks("whether " + name + " is set")
			return nil, nil
		}
		if s.takes(f.Column) {
			columns, values = append(columns, f), append(values, w.operand(x))
		}
	}
	return columns, values
}

// listed writes a list in parentheses.
func listed(all []value) value {
	out := literal("(")
	for i, v := range all {
		if i > 0 {
			out = concat(out, literal(","))
		}
		out = concat(out, v)
	}
	return concat(out, literal(")"))
}

func isMap(t types.Type) bool {
	if t == nil {
		return false
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// inserted returns the columns of an INSERT with their values. What may be zero, and is then made by the database, is left out.
func (w *ormWriter) inserted(plan *ormPlan, in *content, s selection) (columns []*gormmodel.Field, values []value) {
	for _, defaulted := range []bool{false, true} { // GORM writes those with a default last
		for _, f := range plan.model.Fields {
			if f.Column == "" || f.Defaulted != defaulted || s.excludes(f.Column) {
				continue
			}
			if v, ok := w.initial(in, f, s.takes(f.Column)); ok {
				columns, values = append(columns, f), append(values, v)
			}
		}
	}
	return columns, values
}

// initial returns the value of a column in an INSERT, if it is in it.
func (w *ormWriter) initial(in *content, f *gormmodel.Field, taken bool) (value, bool) {
	certain, possible := w.has(in, f)
	stamp := f.Created || f.Updated
	switch {
	case !taken && !stamp, f.Defaulted && !certain:
		return value{}, false
	case stamp && !certain:
		return w.now(f), true
	case certain || possible:
		return w.field(in, f), true
	case f.Default != "":
		return literal(f.Default), true
	}
	return w.zero(f), true
}

// field writes the value of a field.
func (w *ormWriter) field(in *content, f *gormmodel.Field) value {
	x := in.fields[f.Name]
	if x == nil {
		return w.param()
	}
	return w.operand(x)
}

// zero writes the zero value of a field.
func (w *ormWriter) zero(f *gormmodel.Field) value {
	if gormmodel.Nullable(f.Type) {
		return literal("NULL")
	}
	if b, ok := f.Type.Underlying().(*types.Basic); ok && !writesItself(f.Type) {
		switch info := b.Info(); {
		case info&types.IsString != 0:
			return literal("''")
		case info&types.IsBoolean != 0:
			return literal("FALSE")
		case info&types.IsNumeric != 0:
			return literal("0")
		}
	}
	return w.param()
}

// conflict writes clause.OnConflict with these fields, or what MySQL has in its place.
func (w *ormWriter) conflict(plan *ormPlan, fields map[string]ast.Expr, columns []*gormmodel.Field) value {
	set, known := w.conflictSet(plan, fields, columns)
	if !known {
		plan.lacks("what ON CONFLICT sets")
		return value{}
	}
	if w.d == dialect.MySQL {
		if len(set) == 0 {
			set = w.itself(plan)
		}
		return concat(literal(" ON DUPLICATE KEY UPDATE "), w.sets(set))
	}
	out, ok := w.target(plan, fields)
	if !ok {
		plan.lacks("the columns of ON CONFLICT")
		return value{}
	}
	if len(set) == 0 {
		return concat(out, literal(" DO NOTHING"))
	}
	out = concat(concat(out, literal(" DO UPDATE SET ")), w.sets(set))
	if fields["Where"] == nil {
		return out
	}
	conditions, ok := w.exprs(fields["Where"])
	if !ok {
		plan.lacks("the condition of ON CONFLICT")
	}
	return concat(concat(out, literal(" WHERE ")), conditions)
}

// itself writes DO NOTHING as GORM does for MySQL: it sets the key to itself.
func (w *ormWriter) itself(plan *ormPlan) []assignment {
	for _, f := range append(plan.model.Primary(), plan.model.Fields...) {
		if f.Column != "" {
			return []assignment{{column: w.column(f.Column), value: w.column(f.Column)}}
		}
	}
	return nil
}

// target writes the key of ON CONFLICT.
func (w *ormWriter) target(plan *ormPlan, fields map[string]ast.Expr) (value, bool) {
	out := literal(" ON CONFLICT")
	if x := fields["OnConstraint"]; x != nil {
		name, ok := w.p.eval(x, w.env).single()
		return concat(out, literal(" ON CONSTRAINT "+name)), ok
	}
	var names []value
	switch lit, ok := fields["Columns"].(*ast.CompositeLit); {
	case ok:
		for _, x := range lit.Elts {
			column, ok := ast.Unparen(x).(*ast.CompositeLit)
			if !ok {
				return value{}, false
			}
			names = append(names, w.columnOf(column))
		}
	case fields["Columns"] != nil:
		return value{}, false
	case describe(orNil(fields["UpdateAll"])) == "true":
		for _, f := range plan.model.Primary() {
			names = append(names, w.column(f.Column))
		}
	}
	if len(names) > 0 {
		out = concat(concat(out, literal(" ")), listed(names))
	}
	if fields["TargetWhere"] != nil {
		conditions, ok := w.exprs(fields["TargetWhere"])
		return concat(concat(out, literal(" WHERE ")), conditions), ok
	}
	return out, true
}

func orNil(x ast.Expr) ast.Expr {
	if x == nil {
		return ast.NewIdent("nil")
	}
	return x
}

// exprs writes clause.Where{Exprs: …}.
func (w *ormWriter) exprs(x ast.Expr) (value, bool) {
	lit, ok := ast.Unparen(x).(*ast.CompositeLit)
	if !ok {
		return value{}, false
	}
	list, ok := w.literal(lit).fields["Exprs"].(*ast.CompositeLit)
	if !ok || len(list.Elts) == 0 {
		return value{}, false
	}
	var parts []value
	for _, x := range list.Elts {
		one, ok := ast.Unparen(x).(*ast.CompositeLit)
		if !ok {
			return value{}, false
		}
		name := w.p.clause(one)
		if name == "" {
			if n, ok := types.Unalias(w.p.pass.TypesInfo.TypeOf(one)).(*types.Named); ok {
				name = n.Obj().Name()
			}
		}
		parts = append(parts, w.comparison(name, one))
	}
	return group(parts, " AND "), true
}

// conflictSet returns what ON CONFLICT sets; nothing for DO NOTHING.
func (w *ormWriter) conflictSet(plan *ormPlan, fields map[string]ast.Expr, columns []*gormmodel.Field) (set []assignment, known bool) {
	for _, name := range []string{"DoNothing", "UpdateAll"} {
		if x := fields[name]; x != nil && describe(x) != "true" && describe(x) != "false" {
			return nil, false
		}
	}
	if describe(orNil(fields["DoNothing"])) == "true" {
		return nil, true
	}
	if x := fields["DoUpdates"]; x != nil {
		if set, known = w.updates(x); !known {
			return nil, false
		}
	}
	if describe(orNil(fields["UpdateAll"])) != "true" {
		return set, len(set) > 0
	}
	s := plan.selection(true)
	for _, stamps := range []bool{true, false} { // GORM sets the times first
		for _, f := range columns {
			switch {
			case f.Primary || f.Created || f.Defaulted || !s.takes(f.Column) || f.NoUpdate || f.Updated != stamps:
			case stamps:
				set = append(set, assignment{column: w.column(f.Column), value: w.now(f)})
			default:
				set = append(set, w.excluded(f.Column))
			}
		}
	}
	return set, true
}

// excluded sets a column to the value that was to be inserted.
func (w *ormWriter) excluded(column string) assignment {
	v := w.column("excluded." + column)
	if w.d == dialect.MySQL {
		v = literal("VALUES(" + w.d.Quote(column) + ")")
	}
	return assignment{column: w.column(column), value: v}
}

// updates reads clause.AssignmentColumns(…), clause.Assignments(…) and clause.Set{…}.
func (w *ormWriter) updates(x ast.Expr) (set []assignment, known bool) {
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr:
		if len(x.Args) != 1 {
			return nil, false
		}
		lit, ok := ast.Unparen(x.Args[0]).(*ast.CompositeLit)
		switch {
		case !ok:
			return nil, false
		case w.p.isFunc(x, orm+"/clause", "AssignmentColumns"):
			for _, one := range lit.Elts {
				name, ok := w.p.eval(one, w.env).single()
				if !ok {
					return nil, false
				}
				set = append(set, w.excluded(name))
			}
			return set, true
		case w.p.isFunc(x, orm+"/clause", "Assignments"):
			in := w.content(lit)
			for _, name := range slices.Sorted(maps.Keys(in.fields)) {
				set = append(set, assignment{column: w.column(name), value: w.operand(in.fields[name])})
			}
			return set, in.whole
		}
	case *ast.CompositeLit:
		return w.assigned(x)
	}
	return nil, false
}

// assigned reads clause.Set{{Column: …, Value: …}, …}.
func (w *ormWriter) assigned(lit *ast.CompositeLit) (set []assignment, known bool) {
	for _, x := range lit.Elts {
		one, ok := ast.Unparen(x).(*ast.CompositeLit)
		if !ok {
			return nil, false
		}
		fields := w.literal(one).fields
		column, ok := orNil(fields["Column"]).(*ast.CompositeLit)
		if !ok || fields["Value"] == nil {
			return nil, false
		}
		set = append(set, assignment{column: w.columnOf(column), value: w.operand(fields["Value"])})
	}
	return set, true
}

// sets writes assignments.
func (w *ormWriter) sets(all []assignment) value {
	out := value{}
	for i, a := range all {
		one := concat(concat(a.column, literal(" = ")), a.value)
		if i == 0 {
			out = one
		} else {
			out = concat(concat(out, literal(", ")), one)
		}
	}
	return out
}
