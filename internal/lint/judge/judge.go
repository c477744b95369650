package judge

import (
	"maps"
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
	seen    []*tree.Select // collected by [judge.reached]
}

// Statement says whether a statement is safe to run twice, with what is known of the tables.
func Statement(d dialect.Dialect, s *schema.Schema, st tree.Statement) Judgement {
	j := &judge{dialect: d, schema: s, with: map[string]*tree.With{}, changed: map[string]bool{}}
	j.note(st)
	return worse(j.statement(st), j.apartFrom(st))
}

// apartFrom judges whether the parts of a statement that write keep away from each other's tables.
func (j *judge) apartFrom(st tree.Statement) Judgement {
	res := judged(Safe, ReadsOnly, "")
	res.Once = true
	var own []string
	var all []map[string]bool
	j.parts(st, func(part tree.Statement, table tree.Name) {
		own = append(own, j.base(table))
		all = append(all, j.reach(part))
	})
	for i, table := range own {
		for k := range all {
			if i != k && all[k][table] {
				return judged(CannotTell, MovingSelection, "two parts of the statement change "+table)
			}
		}
	}
	return res
}

// parts calls visit with the parts of a statement that write.
func (j *judge) parts(st tree.Statement, visit func(tree.Statement, tree.Name)) {
	var with []tree.With
	switch st := st.(type) {
	case *tree.Select:
		with = st.With
	case *tree.Insert:
		with = st.With
		visit(&tree.Insert{Table: st.Table}, st.Table)
	case *tree.Update:
		with = st.With
		visit(&tree.Update{Table: st.Table}, st.Table)
	case *tree.Delete:
		with = st.With
		visit(&tree.Delete{Table: st.Table}, st.Table)
	case *tree.Merge:
		with = st.With
		visit(&tree.Merge{Table: st.Table}, st.Table)
	}
	for i := range with {
		j.parts(with[i].Body, visit)
	}
}

// reach returns the tables that a statement changes, and those that its triggers and foreign keys change.
func (j *judge) reach(st tree.Statement) map[string]bool {
	sub := &judge{dialect: j.dialect, schema: j.schema, changed: map[string]bool{}}
	sub.note(st)
	return sub.changed
}

// note collects the tables that a statement and its parts write.
func (j *judge) note(st tree.Statement) {
	var with []tree.With
	var table tree.Name
	switch st := st.(type) {
	case *tree.Select:
		with = st.With
	case *tree.Insert:
		with, table = st.With, st.Table
	case *tree.Update:
		with, table = st.With, st.Table
	case *tree.Delete:
		with, table = st.With, st.Table
	case *tree.Merge:
		with, table = st.With, st.Table
	default:
		return
	}
	for i := range with {
		j.note(with[i].Body)
	}
	if table.Name == "" {
		return
	}
	j.noteTable(j.base(table))
}

// noteTable notes a table that is written, those that its foreign keys change with it, and those
// that its triggers write.
func (j *judge) noteTable(name string) {
	if j.changed[name] {
		return
	}
	j.changed[name] = true
	j.schema.All(func(t *tree.Table) {
		for _, f := range t.Foreign {
			if (acts(f.OnDelete) || acts(f.OnUpdate)) && j.base(f.Table) == name {
				j.noteTable(strings.ToLower(t.Name.Name))
			}
		}
	})
	j.schema.All(func(t *tree.Table) {
		if !strings.EqualFold(t.Name.Name, name) {
			return
		}
		for _, trigger := range t.Triggers {
			for _, st := range trigger.Body {
				j.note(st)
			}
		}
	})
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
		q.Exprs(f.add)
	}
	switch {
	case s.Into:
		return worse(res, judged(CannotTell, Opaque, "SELECT INTO creates something: a second run is refused, or it is local to a procedure"))
	case f.acts:
		return worse(res, judged(NotSafe, SideEffect, f.name+" changes something at every call"))
	case f.stranger:
		return worse(res, judged(CannotTell, UnknownFunction, f.name+" is not known: it may change something"))
	}
	for _, side := range []*tree.Select{s.Left, s.Right} {
		if side != nil {
			res = worse(res, j.query(side))
		}
	}
	return res
}
