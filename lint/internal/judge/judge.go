package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// maxDepth bounds queries within queries, and views of views.
const maxDepth = 40

// judge looks at one statement.
type judge struct {
	dialect dialect.Dialect
	schema  *schema.Schema
	with    map[string]*tree.With // in reach, by name
	depth   int
	// changed are the tables that parts of the statement write, in lower case.
	changed map[string]bool
	// happens maps a changed table to what its existing rows may go through.
	happens map[string]change
	// childless are the tables without a row that refers to one that a DELETE finds.
	childless map[string]bool
	seen      []*tree.Select // collected by [judge.reached]
	st        tree.Statement // all of it
	// renamed are the names that the statement and the views give to other columns and to values; nil until they are asked for.
	renamed  map[string]bool
	steadies map[*tree.With]bool // what [judge.steady] has found
	skips    bool                // some query leaves out the rows that other sessions hold
	// ripple follows what the statement sets off; nil within that.
	ripple *ripple
}

// Statement says whether a statement is safe to run twice, with what is known of the tables.
func Statement(d dialect.Dialect, s *schema.Schema, st tree.Statement) (res Judgement) {
	defer func() {
		if v := recover(); v != nil {
			res = judged(CannotTell, Opaque, fmt.Sprintf("the linter failed on it: %v", v))
		}
	}()
	j := &judge{dialect: d, schema: s, st: st, with: map[string]*tree.With{}, changed: map[string]bool{}, happens: map[string]change{}, childless: map[string]bool{}}
	j.noteWrites(st)
	assumes := j.declared(st)
	j.ripple = j.rippleOf(st)
	for table := range j.ripple.tables {
		j.changed[table], j.happens[table] = true, anything
	}
	defer func() {
		if res.Verdict >= CannotTell {
			return
		}
		res.Assumes = append(slices.Clip(res.Assumes), assumes...)
		if j.skips && len(writesOf(st)) > 0 {
			res.Assumes = append(res.Assumes, "no other session holds rows that SKIP LOCKED leaves out: a repeat takes those")
		}
	}()
	res = worse(j.statement(st), j.apartFrom(st))
	if res.Verdict >= CannotTell {
		if one, ok := j.refusedWhole(st); ok {
			res = one
		}
	}
	return j.advised(st, j.repeated(st, worse(res, j.names(st))))
}

// declared marks the functions that the schema declares immutable, and says what that and the session decide.
func (j *judge) declared(st tree.Statement) (assumes []string) {
	writes := len(writesOf(st)) > 0
	tree.StatementExprs(st, func(e tree.Expr) bool {
		c, ok := e.(*tree.Call)
		one := ""
		switch {
		case !ok:
		case !builtins[j.dialect][c.Name] && j.schema.Immutable(c.Name):
			c.Immutable = true
			one = "function " + c.Name + " is immutable, as it is declared"
		case writes && sessions[c.Name] && j.effectOf(c) == pure:
			one = c.Name + "() gives the same in each session that runs it"
		case writes && isVariable(c.Name) && j.effectOf(c) == pure:
			one = c.Name + " is the same in each session that runs it"
		}
		if one != "" && !slices.Contains(assumes, one) {
			assumes = append(assumes, one)
		}
		return true
	})
	return assumes
}

// names judges the names and strings of a statement that may mean something else than they seem to: a function of
// the schema, or a column in double quotes under the sql_mode ANSI_QUOTES.
func (j *judge) names(st tree.Statement) Judgement {
	res := judged(Safe, ReadsOnly, "")
	res.Once = true
	tree.StatementExprs(st, func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Call:
			if e.Schema == "" && !e.Immutable && j.effectOf(e) != stranger && j.schema.Shadows(e.Name) {
				res = worse(res, judged(CannotTell, UnknownFunction, "the schema defines a function "+e.Name+" of its own"))
			}
		case *tree.Column:
			if e.Table != "" && j.schema.Shadows(e.Name) && !j.isColumn(e.Name) {
				res = worse(res, judged(CannotTell, UnknownFunction, tree.Text(e)+" calls a function of the schema"))
			}
		case *tree.Literal:
			if e.Written != "" && e.Written[0] == '"' && j.isColumn(e.Text) {
				res = worse(res, judged(CannotTell, Opaque, e.Written+" is a column under the sql_mode ANSI_QUOTES: write strings in single quotes"))
			}
		}
		return true
	})
	return res
}

// isColumn reports whether some table has a column of a name.
func (j *judge) isColumn(name string) (found bool) {
	j.schema.All(func(t *tree.Table) { found = found || schema.Column(t, name) != nil })
	return found
}

// apartFrom judges whether the parts of a statement that write keep away from each other's tables.
func (j *judge) apartFrom(st tree.Statement) Judgement {
	res := judged(Safe, ReadsOnly, "")
	res.Once = true
	tables := j.changedBy(st)
	if len(tables) < 2 {
		return res
	}
	own, all := make([]string, len(tables)), make([]map[string]bool, len(tables))
	for i, part := range tables {
		_, table := tree.Parts(part)
		own[i], all[i] = j.base(table), j.reach(part)
	}
	for i, table := range own {
		for k := range all {
			if i != k && all[k][table] {
				return judged(CannotTell, MovingSelection, "two parts of the statement change "+table)
			}
		}
	}
	return res
}

// changedBy lists the parts of a statement that write, each on its own.
func (j *judge) changedBy(st tree.Statement) (all []tree.Statement) {
	for _, part := range writesOf(st) {
		if _, table := tree.Parts(part); table.Name != "" {
			all = append(all, alone(part))
		}
	}
	return all
}

// reach returns the tables that a statement changes, and those that its triggers and foreign keys change.
func (j *judge) reach(st tree.Statement) map[string]bool {
	sub := &judge{dialect: j.dialect, schema: j.schema, changed: map[string]bool{}, happens: map[string]change{}, childless: map[string]bool{}}
	sub.noteWrites(st)
	return sub.changed
}

// noteWrites collects the tables that a statement and its parts write.
func (j *judge) noteWrites(st tree.Statement) {
	with, table := tree.Parts(st)
	for i := range with {
		j.noteWrites(with[i].Body)
	}
	if table.Name == "" {
		return
	}
	j.noteTable(j.base(table), j.changeOf(st, table))
}

// change says what may become of the rows of a table that are there.
type change struct {
	deletes bool
	updates bool            // any column; else those of sets
	sets    map[string]bool // in lower case
}

//nolint:gochecknoglobals // a constant.
var anything = change{deletes: true, updates: true}

// changeOf returns what a statement does to the rows of its table that are there.
func (j *judge) changeOf(st tree.Statement, table tree.Name) change {
	t := j.schema.Table(table)
	if t == nil || t.View != nil || t.Unknown != "" || t.Rules {
		return anything
	}
	var set []tree.Assign
	switch st := st.(type) {
	case *tree.Insert:
		if st.Replace {
			return anything
		}
		if st.Conflict != nil {
			set = st.Conflict.Set
		}
	case *tree.Update:
		set = st.Set
	case *tree.Delete:
		return change{deletes: true}
	default:
		return anything
	}
	computed := func(c *tree.ColumnDef) bool { return c.Generated != nil || c.OnUpdate }
	c := change{sets: map[string]bool{}, updates: len(set) > 0 && (len(t.Triggers) > 0 || slices.ContainsFunc(t.Columns, computed))}
	for _, a := range set {
		c.sets[strings.ToLower(a.Column)] = true
	}
	return c
}

// with joins two changes, and reports whether the other one adds something.
func (c change) with(other change) (_ change, more bool) {
	out := change{deletes: c.deletes || other.deletes, updates: c.updates || other.updates, sets: maps.Clone(other.sets)}
	if out.sets == nil {
		out.sets = map[string]bool{}
	}
	maps.Copy(out.sets, c.sets)
	return out, out.deletes != c.deletes || out.updates != c.updates || len(out.sets) > len(c.sets)
}

// moves reports whether it may change a column to which a foreign key refers.
func (c change) moves(f *tree.Foreign, parent *tree.Table) bool {
	if parent == nil || c.updates {
		return true
	}
	targets := namedBy(f, parent)
	return len(targets) == 0 || slices.ContainsFunc(targets, func(name string) bool { return c.sets[strings.ToLower(name)] })
}

// acts reports whether what the statement does to a table makes a foreign key of another one act.
func (j *judge) acts(f *tree.Foreign) bool {
	c := j.happens[j.base(f.Table)]
	return c.deletes && tree.Acts(f.OnDelete) || tree.Acts(f.OnUpdate) && c.moves(f, j.schema.Table(f.Table))
}

// noteTable notes a table that is written, those that its foreign keys change with it, and those
// that its triggers write.
func (j *judge) noteTable(name string, c change) {
	c, more := j.happens[name].with(c)
	if j.changed[name] && !more {
		return
	}
	j.changed[name], j.happens[name] = true, c
	for _, f := range j.schema.Acting() {
		if j.base(f.Table) != name || !j.acts(f.Foreign) {
			continue
		}
		j.noteTable(f.From, change{deletes: c.deletes && f.OnDelete == "cascade", updates: f.OnDelete != "cascade" || tree.Acts(f.OnUpdate)})
	}
	for _, t := range j.schema.Named(name) {
		for _, trigger := range t.Triggers {
			for _, st := range trigger.Body {
				j.noteWrites(st)
			}
		}
	}
}

// base is the table behind a name: of a view, the table that it selects from.
func (j *judge) base(name tree.Name) string {
	t := j.schema.Table(name)
	for range maxDepth {
		if t == nil || t.View == nil || len(t.View.From) != 1 {
			break
		}
		ref, ok := t.View.From[0].(*tree.TableRef)
		if !ok {
			break
		}
		name = ref.Name
		t = j.schema.Table(name)
	}
	return strings.ToLower(name.Name)
}

// within makes the common table expressions known, and judges those that write.
func (j *judge) within(list []tree.With) Judgement {
	all := judged(Safe, ReadsOnly, "it only reads")
	all.Once = true
	for i := range list {
		w := &list[i]
		one := j.statement(w.Body)
		if _, reads := w.Body.(*tree.Select); reads {
			one.Once = true
		}
		all = worse(all, one)
		j.with[strings.ToLower(w.Name)] = w
	}
	return all
}

func (j *judge) statement(st tree.Statement) Judgement {
	if j.depth++; j.depth > maxDepth {
		return judged(CannotTell, Opaque, "the statement is nested too deeply")
	}
	before := maps.Clone(j.with)
	defer func() { j.with = before; j.depth-- }()
	switch st := st.(type) {
	case *tree.Neutral:
		return judged(Safe, ReadsOnly, st.What+" changes no data")
	case *tree.Select:
		return j.query(st)
	case *tree.Insert:
		return j.insert(st)
	case *tree.Update:
		return j.update(st)
	case *tree.Delete:
		return j.delete(st)
	case *tree.Merge:
		return j.merge(st)
	case *tree.Define:
		return j.define(st)
	case *tree.Opaque:
		return judged(CannotTell, Opaque, st.Why)
	}
	return judged(CannotTell, Opaque, "the statement is not known")
}

// query judges a SELECT by the functions that it calls and the parts that write.
func (j *judge) query(s *tree.Select) Judgement {
	res := j.within(s.With)
	var f effects
	for _, q := range j.reached(s) {
		j.addQuery(q, &f)
	}
	switch {
	case s.Into:
		return worse(res, judged(CannotTell, Opaque, "SELECT INTO creates something: a second run is refused, or it is local to a procedure"))
	case f.acts:
		return worse(res, judged(NotSafe, SideEffect, f.names[changes]+" changes something at every call"))
	case f.stranger:
		return worse(res, judged(CannotTell, UnknownFunction, f.names[stranger]+" is not known: it may change something"))
	}
	for _, side := range []*tree.Select{s.Left, s.Right} {
		if side != nil {
			res = worse(res, j.query(side))
		}
	}
	return res
}
