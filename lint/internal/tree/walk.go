package tree

// Exprs calls visit with e and all expressions in it, those of queries within it included, until it
// returns false, which leaves out what is in that expression.
func Exprs(e Expr, visit func(Expr) bool) {
	if e == nil || !visit(e) {
		return
	}
	all := func(list []Expr) {
		for _, one := range list {
			Exprs(one, visit)
		}
	}
	switch e := e.(type) {
	case *Call:
		all(e.Args)
		Exprs(e.Filter, visit)
		for _, o := range e.OrderBy {
			Exprs(o.Expr, visit)
		}
	case *Op:
		all(e.Args)
	case *Case:
		Exprs(e.Operand, visit)
		for _, w := range e.Whens {
			Exprs(w.If, visit)
			Exprs(w.Then, visit)
		}
		Exprs(e.Else, visit)
	case *Query:
		Exprs(e.Left, visit)
		e.Select.Exprs(visit)
	case *Cast:
		Exprs(e.Value, visit)
	case *List:
		all(e.Items)
	}
}

// Exprs calls visit with all expressions of the query, as the function of that name does.
func (s *Select) Exprs(visit func(Expr) bool) {
	if s == nil {
		return
	}
	for _, w := range s.With {
		if q, ok := w.Body.(*Select); ok {
			q.Exprs(visit)
		}
	}
	s.Left.Exprs(visit)
	s.Right.Exprs(visit)
	for _, row := range s.Values {
		for _, e := range row {
			Exprs(e, visit)
		}
	}
	for _, item := range s.Items {
		Exprs(item.Expr, visit)
	}
	for _, from := range s.From {
		sourceExprs(from, visit)
	}
	Exprs(s.Where, visit)
	for _, list := range [][]Expr{s.GroupBy, s.DistinctOn, {s.Having, s.Limit, s.Offset}} {
		for _, e := range list {
			Exprs(e, visit)
		}
	}
	for _, o := range s.OrderBy {
		Exprs(o.Expr, visit)
	}
}

func sourceExprs(from Source, visit func(Expr) bool) {
	switch from := from.(type) {
	case *Derived:
		from.Query.Exprs(visit)
	case *Function:
		Exprs(from.Call, visit)
	case *Join:
		sourceExprs(from.Left, visit)
		sourceExprs(from.Right, visit)
		Exprs(from.On, visit)
	}
}

// Sources calls visit with each source of the list that is not a join.
func Sources(list []Source, visit func(Source)) {
	for _, from := range list {
		if join, ok := from.(*Join); ok {
			Sources([]Source{join.Left, join.Right}, visit)
		} else if from != nil {
			visit(from)
		}
	}
}

// StatementExprs calls visit with all expressions of a statement, as [Exprs] does, those of its common table
// expressions included.
func StatementExprs(st Statement, visit func(Expr) bool) {
	with := func(list []With) {
		for i := range list {
			if _, query := list[i].Body.(*Select); !query {
				StatementExprs(list[i].Body, visit)
			}
		}
		(&Select{With: list}).Exprs(visit)
	}
	assigns := func(list []Assign) {
		for _, a := range list {
			Exprs(a.Value, visit)
		}
	}
	rest := func(s *Select, returning []Item) {
		s.Exprs(visit)
		(&Select{Items: returning}).Exprs(visit)
	}
	switch st := st.(type) {
	case *Select:
		with(st.With)
		rest := *st
		rest.With = nil
		rest.Exprs(visit)
	case *Insert:
		with(st.With)
		rest(st.Source, st.Returning)
		if c := st.Conflict; c != nil {
			assigns(c.Set)
			Exprs(c.If, visit)
		}
	case *Update:
		with(st.With)
		assigns(st.Set)
		rest(&Select{From: st.From, Where: st.Where, OrderBy: st.OrderBy, Limit: st.Limit, Offset: st.Offset}, st.Returning)
	case *Delete:
		with(st.With)
		rest(&Select{From: st.Using, Where: st.Where, OrderBy: st.OrderBy, Limit: st.Limit, Offset: st.Offset}, st.Returning)
	case *Merge:
		with(st.With)
		rest(&Select{From: []Source{st.Using}, Where: st.On}, st.Returning)
		for _, b := range st.Branches {
			Exprs(b.If, visit)
			assigns(b.Set)
			if b.Insert != nil {
				StatementExprs(b.Insert, visit)
			}
		}
	}
}

// Parts returns the common table expressions of a statement that reads or changes rows, and the table that it changes
// itself, whose name is empty for none.
func Parts(st Statement) (with []With, table Name) {
	switch st := st.(type) {
	case *Select:
		return st.With, Name{}
	case *Insert:
		return st.With, st.Table
	case *Update:
		return st.With, st.Table
	case *Delete:
		return st.With, st.Table
	case *Merge:
		return st.With, st.Table
	}
	return nil, Name{}
}
