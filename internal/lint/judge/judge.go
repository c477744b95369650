package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/lint/schema"
	"github.com/semel-dev/semel/internal/lint/tree"
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
	// columns are those of a changed table that the statement may change; nil for all, and for which rows there are.
	columns map[string]map[string]bool
	seen    []*tree.Select // collected by [judge.reached]
	st      tree.Statement // all of it
	// renamed are the names that the statement and the views give to other columns and to values; nil until they are asked for.
	renamed map[string]bool
	skips   bool // some query leaves out the rows that other sessions hold
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
	j := &judge{dialect: d, schema: s, st: st, with: map[string]*tree.With{}, changed: map[string]bool{}, columns: map[string]map[string]bool{}}
	j.note(st)
	assumes := j.declared(st)
	j.ripple = j.rippleOf(st)
	for table := range j.ripple.tables {
		j.changed[table], j.columns[table] = true, nil
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
	return j.advised(st, j.repeated(st, worse(worse(j.statement(st), j.apartFrom(st)), j.names(st))))
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
	for i, table := range tables {
		own[i], all[i] = j.base(table), j.reach(&tree.Insert{Table: table})
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

// changedBy lists the tables that the parts of a statement write, one for each part.
func (j *judge) changedBy(st tree.Statement) (all []tree.Name) {
	with, table := tree.Parts(st)
	if table.Name != "" {
		all = append(all, table)
	}
	for i := range with {
		all = append(all, j.changedBy(with[i].Body)...)
	}
	return all
}

// reach returns the tables that a statement changes, and those that its triggers and foreign keys change.
func (j *judge) reach(st tree.Statement) map[string]bool {
	sub := &judge{dialect: j.dialect, schema: j.schema, changed: map[string]bool{}, columns: map[string]map[string]bool{}}
	sub.note(st)
	return sub.changed
}

// note collects the tables that a statement and its parts write.
func (j *judge) note(st tree.Statement) {
	with, table := tree.Parts(st)
	for i := range with {
		j.note(with[i].Body)
	}
	if table.Name == "" {
		return
	}
	j.noteColumns(st, j.base(table))
	j.noteTable(j.base(table))
}

// noteColumns notes what a statement changes of a table: of an UPDATE without triggers and generated columns, what it
// sets.
func (j *judge) noteColumns(st tree.Statement, name string) {
	set, noted := j.columns[name]
	u, ok := st.(*tree.Update)
	var t *tree.Table
	if ok {
		t = j.schema.Table(u.Table)
	}
	if noted && set == nil || t == nil || t.View != nil || t.Unknown != "" || t.Rules || len(t.Triggers) > 0 || slices.ContainsFunc(t.Columns, func(c *tree.ColumnDef) bool { return c.Generated != nil || c.OnUpdate }) {
		j.columns[name] = nil
		return
	}
	if set == nil {
		set = map[string]bool{}
	}
	for _, a := range u.Set {
		set[strings.ToLower(a.Column)] = true
	}
	j.columns[name] = set
}

// noteTable notes a table that is written, those that its foreign keys change with it, and those
// that its triggers write.
func (j *judge) noteTable(name string) {
	if j.changed[name] {
		return
	}
	j.changed[name] = true
	for _, f := range j.schema.Acting() {
		if j.base(f.Table) == name {
			j.columns[f.From] = nil
			j.noteTable(f.From)
		}
	}
	for _, t := range j.schema.Named(name) {
		for _, trigger := range t.Triggers {
			for _, st := range trigger.Body {
				j.note(st)
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
