package judge

import (
	"cmp"
	"maps"
	"strings"

	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// target is the table that a statement writes, and the names by which the statement calls it.
type target struct {
	judge   *judge
	name    string      // in lower case
	called  string      // by the statement
	table   *tree.Table // nil for one that is not known
	aliases map[string]bool
	others  []tree.Source     // of FROM and USING
	written map[string]bool   // columns, in lower case
	set     map[string]assign // explicitly
	moved   map[string]bool   // that a foreign key may change after the statement has set them
	changed map[string]bool   // tables that the statement changes with it
	one     bool              // the statement is about one row
}

// assign is the value that a column gets.
type assign struct {
	value tree.Expr
	part  bool // of a query for several columns
}

func (j *judge) target(name tree.Name, as string, others []tree.Source) *target {
	t := &target{
		judge: j, name: j.base(name), table: j.schema.Table(name), aliases: map[string]bool{}, others: others,
		written: map[string]bool{}, set: map[string]assign{}, moved: map[string]bool{}, changed: j.changed,
	}
	if as != "" {
		t.aliases[strings.ToLower(as)], t.called = true, as
	} else {
		t.aliases[strings.ToLower(name.Name)], t.called = true, name.Name
	}
	return t
}

// has reports whether a column belongs to the row that is written; unsure columns do.
func (t *target) has(c *tree.Column) bool {
	if c.Table != "" {
		return t.aliases[strings.ToLower(c.Table)]
	}
	return t.table == nil || t.table.Unknown != "" || len(t.table.Columns) == 0 || len(t.others) == 0 || hidden[strings.ToLower(c.Name)] || schema.Column(t.table, c.Name) != nil
}

// hidden are columns that every table has, and that change with any other.
//
//nolint:gochecknoglobals // a constant.
var hidden = set("xmin xmax cmin cmax ctid tableoid rowid _rowid_ oid")

// system reports whether a column is one of the database's own, which may be another name of a column.
func (t *target) system(c *tree.Column) bool {
	if c.Table != "" && !t.aliases[strings.ToLower(c.Table)] || schema.Column(t.table, c.Name) != nil {
		return false
	}
	return hidden[strings.ToLower(c.Name)]
}

// column returns the name of the written row's column that an expression is, "" for another.
func (t *target) column(e tree.Expr) string {
	c, ok := e.(*tree.Column)
	if !ok || !t.has(c) {
		return ""
	}
	return strings.ToLower(c.Name)
}

// reads returns the columns of the written row that an expression reads, in queries within it
// those as well that could be of it. A star reads all.
func (t *target) reads(e tree.Expr) map[string]bool {
	found := map[string]bool{}
	tree.Exprs(e, func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Column:
			switch {
			case t.system(e):
				found["*"] = true
			case t.has(e):
				found[strings.ToLower(e.Name)] = true
			}
		case *tree.Star:
			if e.Table == "" || t.aliases[strings.ToLower(e.Table)] {
				found["*"] = true
			}
		case *tree.Raw:
			found["*"] = true
		}
		return true
	})
	return found
}

// readsWritten returns the written columns that an expression reads.
func (t *target) readsWritten(e tree.Expr) (names []string) {
	for name := range t.reads(e) {
		if t.written[name] || (name == "*" || hidden[name] && schema.Column(t.table, name) == nil) && len(t.written) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// stable reports whether an expression has the same value at each run, for one row.
func (t *target) stable(e tree.Expr) bool {
	return t.judge.effectsOf(e).pure() && len(t.readsWritten(e)) == 0 && !hasQuery(e)
}

func hasQuery(e tree.Expr) (found bool) {
	tree.Exprs(e, func(e tree.Expr) bool {
		if _, ok := e.(*tree.Query); ok {
			found = true
		}
		return !found
	})
	return found
}

// tablesOf calls visit with every table that a query reads, through common table expressions and
// views. It returns why that is not known.
func (j *judge) tablesOf(s *tree.Select, visit func(ref *tree.TableRef, in *tree.Select)) (unknown string) {
	return j.tables(s, visit, 0)
}

func (j *judge) tables(s *tree.Select, visit func(*tree.TableRef, *tree.Select), depth int) (unknown string) {
	if s == nil {
		return ""
	}
	if depth > maxDepth {
		return "views or queries are nested too deeply"
	}
	keep := func(why string) {
		unknown = cmp.Or(unknown, why)
	}
	j.seen = append(j.seen, s)
	j.skips = j.skips || s.Skips
	defer j.scope(s.With)()
	for _, w := range s.With {
		if q, ok := w.Body.(*tree.Select); ok {
			keep(j.tables(q, visit, depth+1)) // one that is recursive finds itself, and is nested too deeply
		}
	}
	keep(j.tables(s.Left, visit, depth+1))
	keep(j.tables(s.Right, visit, depth+1))
	tree.Sources(s.From, func(from tree.Source) {
		switch from := from.(type) {
		case *tree.Derived:
			keep(j.tables(from.Query, visit, depth+1))
		case *tree.TableRef:
			keep(j.table(from, s, visit, depth))
		}
	})
	shallow := *s
	shallow.With, shallow.Left, shallow.Right = nil, nil, nil
	shallow.Exprs(func(e tree.Expr) bool {
		if q, ok := e.(*tree.Query); ok {
			keep(j.tables(q.Select, visit, depth+1))
			return false
		}
		return true
	})
	return unknown
}

// table resolves one name in FROM.
func (j *judge) table(ref *tree.TableRef, in *tree.Select, visit func(*tree.TableRef, *tree.Select), depth int) string {
	if w := j.with[strings.ToLower(ref.Name.Name)]; w != nil && ref.Name.Schema == "" {
		if q, ok := w.Body.(*tree.Select); ok {
			return j.tables(q, visit, depth+1)
		}
		if j.steady(w) {
			return ""
		}
		return "it reads what another part of the statement wrote"
	}
	t := j.schema.Table(ref.Name)
	switch {
	case t == nil:
		return "table " + ref.Name.Name + " is not known"
	case t.View != nil:
		defer j.apart()()
		return j.tables(t.View, visit, depth+1)
	}
	visit(ref, in)
	return ""
}

// apart hides the common table expressions of the statement from a view or a trigger.
func (j *judge) apart() (end func()) {
	before := j.with
	j.with = map[string]*tree.With{}
	return func() { j.with = before }
}

// reached returns a query and all that it reads through common table expressions and views.
func (j *judge) reached(s *tree.Select) []*tree.Select {
	before := j.seen
	defer func() { j.seen = before }()
	j.seen = nil
	_ = j.tables(s, func(*tree.TableRef, *tree.Select) {}, 0)
	return append(j.seen, s)
}

// scope makes common table expressions known, and returns what takes them back.
func (j *judge) scope(list []tree.With) (end func()) {
	before := map[string]*tree.With{}
	for i := range list {
		name := strings.ToLower(list[i].Name)
		before[name] = j.with[name]
		j.with[name] = &list[i]
	}
	return func() {
		maps.Copy(j.with, before)
	}
}
