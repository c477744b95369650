package tree

import (
	"slices"
	"strings"
)

// Tables returns the tables and views that a statement reads and those that it writes, in lower case and each once. A
// condition of an UPDATE or a DELETE reads its own table, which is not listed for that.
func Tables(st Statement) (reads, writes []string) {
	t := &tables{}
	t.statement(st, nil)
	return t.reads, t.writes
}

type tables struct{ reads, writes []string }

// add adds a name, with its schema as far as it is written.
func add(list *[]string, n Name) {
	s := strings.ToLower(n.Name)
	if n.Schema != "" {
		s = strings.ToLower(n.Schema) + "." + s
	}
	if s != "" && !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// statement adds the tables of a statement; ctes are the names that mean common table expressions there.
func (t *tables) statement(st Statement, ctes []string) {
	switch st := st.(type) {
	case *Select:
		t.query(st, ctes)
	case *Insert:
		ctes = t.with(st.With, ctes)
		add(&t.writes, st.Table)
		t.query(st.Source, ctes)
		if c := st.Conflict; c != nil {
			t.exprs(ctes, c.If)
			t.assigns(c.Set, ctes)
		}
	case *Update:
		ctes = t.with(st.With, ctes)
		add(&t.writes, st.Table)
		t.sources(st.From, ctes)
		t.assigns(st.Set, ctes)
		t.exprs(ctes, st.Where)
	case *Delete:
		ctes = t.with(st.With, ctes)
		add(&t.writes, st.Table)
		t.sources(st.Using, ctes)
		t.exprs(ctes, st.Where)
	case *Merge:
		ctes = t.with(st.With, ctes)
		add(&t.writes, st.Table)
		t.sources([]Source{st.Using}, ctes)
		t.exprs(ctes, st.On)
		for _, b := range st.Branches {
			t.exprs(ctes, b.If)
			t.assigns(b.Set, ctes)
		}
	case *Define:
		t.define(st)
	}
}

// define adds the tables whose rows a definition removes.
func (t *tables) define(def *Define) {
	if def.Kind == "truncate" || def.Kind == "drop table" {
		add(&t.writes, def.Name)
		for _, other := range def.Others {
			add(&t.writes, other)
		}
	}
}

func (t *tables) with(list []With, ctes []string) []string {
	for _, w := range list {
		if w.Recursive {
			ctes = append(slices.Clip(ctes), strings.ToLower(w.Name))
		}
		t.statement(w.Body, ctes)
		ctes = append(slices.Clip(ctes), strings.ToLower(w.Name))
	}
	return ctes
}

func (t *tables) query(s *Select, ctes []string) {
	if s == nil {
		return
	}
	ctes = t.with(s.With, ctes)
	t.query(s.Left, ctes)
	t.query(s.Right, ctes)
	t.sources(s.From, ctes)
	for _, row := range s.Values {
		t.exprs(ctes, row...)
	}
	for _, item := range s.Items {
		t.exprs(ctes, item.Expr)
	}
	for _, o := range s.OrderBy {
		t.exprs(ctes, o.Expr)
	}
	t.exprs(ctes, s.Where, s.Having, s.Limit, s.Offset)
	t.exprs(ctes, s.GroupBy...)
	t.exprs(ctes, s.DistinctOn...)
}

func (t *tables) assigns(list []Assign, ctes []string) {
	for _, a := range list {
		t.exprs(ctes, a.Value)
	}
}

// exprs adds the tables of queries in expressions.
func (t *tables) exprs(ctes []string, list ...Expr) {
	for _, e := range list {
		Exprs(e, func(e Expr) bool {
			q, ok := e.(*Query)
			if ok {
				t.exprs(ctes, q.Left)
				t.query(q.Select, ctes)
			}
			return !ok
		})
	}
}

func (t *tables) sources(list []Source, ctes []string) {
	for _, from := range list {
		switch from := from.(type) {
		case *TableRef:
			if from.Name.Schema != "" || !slices.Contains(ctes, strings.ToLower(from.Name.Name)) {
				add(&t.reads, from.Name)
			}
		case *Derived:
			t.query(from.Query, ctes)
		case *Function:
			t.exprs(ctes, from.Call)
		case *Join:
			t.sources([]Source{from.Left, from.Right}, ctes)
			t.exprs(ctes, from.On)
		}
	}
}
