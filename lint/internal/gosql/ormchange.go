package gosql

import (
	"go/ast"
	"maps"
	"slices"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/gormmodel"
)

// keyed adds the conditions on the primary key of a value, as far as it is set.
func (w *ormWriter) keyed(in *content, plan *ormPlan) {
	if in == nil || plan.model == nil {
		return
	}
	for _, f := range plan.model.Primary() {
		certain, possible := w.has(in, f)
		// Without any other condition, GORM refuses to run it when the key is zero.
		if certain || possible && len(plan.where) == 0 && !plan.everywhere {
			plan.where = append(plan.where, condition{sql: concat(concat(w.column(f.Column), literal(" = ")), w.field(in, f))})
		} else if possible {
			plan.perhaps = "whether " + f.Name + " of " + plan.model.Name + " is set"
		}
	}
}

// living adds the condition that a row is not deleted softly.
func (w *ormWriter) living(plan *ormPlan) {
	if plan.model == nil || plan.unscoped || plan.model.Deleted() == nil {
		return
	}
	if slices.ContainsFunc(plan.where, func(c condition) bool { return c.or }) {
		plan.where = []condition{{sql: join(plan.where)}}
	}
	plan.where = append(plan.where, condition{sql: concat(w.column(plan.model.Deleted().Column), literal(" IS NULL"))})
}

// tail writes the condition, and the order and limit that only MySQL has.
func (w *ormWriter) tail(plan *ormPlan) value {
	out := literal("")
	if len(plan.where) > 0 {
		out = concat(literal(" WHERE "), join(plan.where))
	}
	if w.d == dialect.MySQL {
		if plan.order.texts != nil {
			out = concat(concat(out, literal(" ORDER BY ")), plan.order)
		}
		if plan.limit.texts != nil {
			out = concat(concat(out, literal(" LIMIT ")), plan.limit)
		}
		if plan.limit.texts != nil && plan.perhaps != "" {
			plan.lacks(plan.perhaps)
		}
	}
	if plan.perhaps != "" && slices.ContainsFunc(plan.where, func(c condition) bool { return c.or }) {
		plan.lacks(plan.perhaps)
	}
	return out
}

// update writes the UPDATE of Update, Updates and their like.
func (w *ormWriter) update(plan *ormPlan) value {
	if plan.model == nil {
		plan.model = &gormmodel.Model{Name: plan.table}
	}
	plan.hooks("Update")
	s := plan.selection(false)
	own := plan.value == nil // db.Updates(&x): its key is the condition
	in := plan.value
	if own {
		in = plan.dest
	}
	if !isMapContent(in) {
		w.links(in, s, plan)
	}
	set := w.changed(plan, s, own)
	w.living(plan)
	w.keyed(in, plan)
	if len(plan.where) == 0 && plan.perhaps == "" && !plan.everywhere {
		plan.lacks("the condition, without which GORM does nothing")
	}
	return w.updated(plan, set)
}

func isMapContent(in *content) bool { return in == nil || isMap(in.of) }

// updated writes UPDATE, once with all that it may set and once with what it certainly sets.
func (w *ormWriter) updated(plan *ormPlan, set []assignment) value {
	head, tail := concat(literal("UPDATE "), concat(w.column(plan.table), literal(" SET "))), w.tail(plan)
	certain := slices.DeleteFunc(slices.Clone(set), func(a assignment) bool { return a.unsure })
	out := value{}
	if len(set) > 0 {
		out = concat(concat(head, w.sets(set)), tail)
	}
	if len(certain) > 0 && len(certain) < len(set) {
		out = union(out, concat(concat(head, w.sets(certain)), tail))
	}
	if len(set) == 0 {
		plan.lacks("what is set")
	}
	return out
}

// changed returns what an update sets.
func (w *ormWriter) changed(plan *ormPlan, s selection, own bool) (set []assignment) {
	written := map[string]bool{}
	add := func(column string, x value, unsure bool) {
		written[column] = true
		set = append(set, assignment{column: w.column(column), value: x, unsure: unsure})
	}
	switch {
	case w.verb == "Update" || w.verb == "UpdateColumn":
		name, ok := w.p.eval(w.args[0], w.env).single()
		if !ok {
			plan.lacks("the column " + describe(w.args[0]))
			return nil
		}
		column := name
		if f := plan.model.Field(name); f != nil && f.Column != "" {
			column = f.Column
		}
		if s.takes(column) {
			add(column, w.operand(w.args[1]), false)
		}
	case isMap(plan.dest.of):
		w.mapped(plan, s, add)
	default:
		w.copied(plan, s, own, add)
	}
	for _, f := range plan.stamps() {
		if on, named := s.chosen[f.Column]; !written[f.Column] && (on || !named) {
			add(f.Column, w.now(f), false)
		}
	}
	return set
}

// mapped adds the keys of a map.
func (w *ormWriter) mapped(plan *ormPlan, s selection, add func(string, value, bool)) {
	in := plan.dest
	if !in.whole {
		plan.lacks("what " + in.why + " holds")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(in.fields)) {
		column := name
		if f := plan.model.Field(name); f != nil {
			if f.Column == "" {
				plan.suspect("the rows of "+name+" are written as well", false)
				continue
			}
			column = f.Column
		}
		switch x := in.fields[name]; {
		case !s.takes(column):
		case x == nil:
			add(column, unknown("the value of "+name), in.unsure[name])
		default:
			add(column, w.operand(x), in.unsure[name])
		}
	}
}

// copied adds the fields of a struct that are not zero, or those that Select names.
func (w *ormWriter) copied(plan *ormPlan, s selection, own bool, add func(string, value, bool)) {
	in := plan.dest
	from := w.p.modelOf(in.of)
	if from == nil || from.Unknown != "" && from.Table != "" || isInterface(in) {
		plan.lacks("what " + describe(w.args[0]) + " holds")
		return
	}
	for _, f := range plan.model.Fields {
		source := from.Field(f.Column)
		if f.Column == "" || source == nil || f.Primary && own || !s.takes(f.Column) || f.Updated && !plan.silent {
			continue
		}
		certain, possible := w.has(in, source)
		named := s.chosen[f.Column]
		switch {
		case certain:
			add(f.Column, w.field(in, source), false)
		case possible:
			add(f.Column, w.param(), !named)
		case named:
			add(f.Column, w.zero(source), false)
		}
	}
}

func isInterface(in *content) bool { return in.of == nil || opaqueType(in.of) }

// save writes Save: an INSERT when the key is zero, and otherwise an UPDATE of all columns, with an upsert behind it for a row that is missing.
func (w *ormWriter) save(plan *ormPlan) value {
	if plan.model == nil || isMapContent(plan.dest) {
		plan.lacks("the model of " + describe(w.call))
		return value{}
	}
	all := *plan
	set, unset := true, false
	for _, f := range plan.model.Primary() {
		certain, possible := w.has(plan.dest, f)
		set, unset = set && certain, unset || !certain && !possible
	}
	if len(plan.model.Primary()) == 0 || isList(plan.dest.of) && plan.conflict == nil {
		set = false
	}
	switch {
	case unset && !isSlice(plan.dest):
		return w.create(plan, plan.dest)
	case !set:
		plan.hooks("Update")
		plan.lacks("whether the key of " + plan.model.Name + " is set: if not, Save inserts a row")
		return value{}
	}
	fallback := len(plan.selects) == 0
	if fallback {
		plan.selects = []string{"*"}
	}
	out := w.saved(plan)
	if !fallback || isSlice(plan.dest) {
		return out
	}
	all.conflict = &ast.CompositeLit{}
	insert := w.upsertAll(&all)
	plan.lacks(all.unknown)
	return concat(concat(out, literal("; ")), insert)
}

func isSlice(in *content) bool { return in != nil && isListed(in.of) }

// saved writes the UPDATE of Save.
func (w *ormWriter) saved(plan *ormPlan) value {
	plan.hooks("Update")
	s := plan.selection(false)
	w.links(plan.dest, s, plan)
	var set []assignment
	for _, f := range plan.model.Fields {
		if f.Column == "" || f.Primary || !s.takes(f.Column) {
			continue
		}
		v := w.now(f)
		if !f.Updated || plan.silent {
			v = w.current(plan.dest, f)
		}
		set = append(set, assignment{column: w.column(f.Column), value: v})
	}
	w.living(plan)
	w.keyed(plan.dest, plan)
	return w.updated(plan, set)
}

// current writes the value of a field, zero or not.
func (w *ormWriter) current(in *content, f *gormmodel.Field) value {
	if certain, possible := w.has(in, f); !certain && !possible {
		return w.zero(f)
	}
	return w.field(in, f)
}

// upsertAll writes INSERT … ON CONFLICT DO UPDATE of all columns.
func (w *ormWriter) upsertAll(plan *ormPlan) value {
	columns, values := w.inserted(plan, plan.dest, plan.selection(true))
	out := concat(concat(literal("INSERT INTO "), w.into(plan.table)), w.rows(columns, values))
	return concat(out, w.conflict(plan, map[string]ast.Expr{"UpdateAll": ast.NewIdent("true")}, columns))
}

// remove writes DELETE, or the UPDATE of a soft delete.
func (w *ormWriter) remove(plan *ormPlan) value {
	if plan.model == nil {
		plan.lacks("the model of " + describe(w.call))
		return value{}
	}
	if len(plan.selects) > 0 {
		plan.suspect("the rows of associations are deleted as well", false)
	}
	plan.hooks("Delete")
	if len(w.args) > 1 {
		w.where(chainCall{name: "Where", args: w.args[1:], spread: w.call.Ellipsis.IsValid()}, plan)
	}
	if deleted := plan.model.Deleted(); deleted != nil && !plan.unscoped {
		w.keyed(plan.dest, plan)
		w.keyed(plan.value, plan)
		w.living(plan)
		return w.updated(plan, []assignment{{column: w.column(deleted.Column), value: w.now(&gormmodel.Field{})}})
	}
	w.keyed(plan.dest, plan)
	w.keyed(plan.value, plan)
	if len(plan.where) == 0 && plan.perhaps == "" && !plan.everywhere {
		plan.lacks("the condition, without which GORM does nothing")
	}
	return concat(concat(literal("DELETE FROM "), w.column(plan.table)), w.tail(plan))
}

// findOrCreate writes the INSERT of FirstOrCreate, and the UPDATE of a row that is found, with Assign.
func (w *ormWriter) findOrCreate(plan *ormPlan) value {
	if plan.model == nil || plan.dest == nil {
		plan.lacks("the model of " + describe(w.call))
		return value{}
	}
	in := &content{of: plan.dest.of, fields: maps.Clone(plan.dest.fields), unsure: plan.dest.unsure, whole: plan.dest.whole, linked: plan.dest.linked}
	if in.fields == nil {
		in.fields = map[string]ast.Expr{}
	}
	var given []ast.Expr
	for _, s := range w.steps {
		if s.name == "Where" && len(s.args) > 0 {
			given = append(given, s.args[0])
		}
	}
	for _, x := range slices.Concat(given, w.args[1:], plan.attrs, plan.assigns) {
		w.overlay(in, x, plan)
	}
	out := w.create(plan, in)
	if len(plan.assigns) == 0 {
		return out
	}
	return concat(concat(out, literal("; ")), w.reassign(plan))
}

// reassign writes the UPDATE of a row that FirstOrCreate finds.
func (w *ormWriter) reassign(plan *ormPlan) value {
	var set []assignment
	for _, x := range plan.assigns {
		from := w.content(x)
		for _, name := range slices.Sorted(maps.Keys(from.fields)) {
			if f := plan.model.Field(name); f != nil && f.Column != "" && from.fields[name] != nil {
				set = append(set, assignment{column: w.column(f.Column), value: w.operand(from.fields[name])})
			}
		}
		if !from.whole {
			plan.lacks("what " + describe(x) + " holds")
		}
	}
	plan.hooks("Update")
	for _, f := range plan.stamps() {
		set = append(set, assignment{column: w.column(f.Column), value: w.now(f)})
	}
	found := &ormPlan{table: plan.table, model: plan.model}
	w.living(found)
	for _, f := range plan.model.Primary() {
		found.where = append(found.where, condition{sql: concat(concat(w.column(f.Column), literal(" = ")), w.param())})
	}
	return w.updated(found, set)
}

// overlay puts the values of a condition or of Attrs into a new row.
func (w *ormWriter) overlay(in *content, x ast.Expr, plan *ormPlan) {
	if isText(w.p.pass.TypesInfo.TypeOf(x)) {
		return
	}
	from := w.content(x)
	in.whole = in.whole && from.whole
	for name, value := range from.fields {
		if f := plan.model.Field(name); f != nil && (value == nil || !w.isZero(value)) {
			in.fields[f.Name] = value
		}
	}
}
