package rerun

import (
	"strings"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// clues hold what a statement says about the rows that it matches: the constants next to a column, and the columns that
// placeholders are compared with. Columns are in lower case, whatever their table.
type clues struct {
	met    map[string][]string // compared with the column, or inserted
	set    map[string][]string // assigned to it
	params map[string]string   // columns by the names of placeholders; "" for a number of rows
	all    []string            // every constant
	// inserts says that the statement inserts rows, which those with its constants would refuse.
	inserts bool
}

func cluesOf(l *layout, st tree.Statement) *clues {
	c := &clues{met: map[string][]string{}, set: map[string][]string{}, params: map[string]string{}}
	c.statement(l, st)
	return c
}

func (c *clues) statement(l *layout, st tree.Statement) {
	var with []tree.With
	switch st := st.(type) {
	case *tree.Select:
		with = st.With
		c.query(st)
	case *tree.Insert:
		with = st.With
		c.insert(l, st)
	case *tree.Update:
		with = st.With
		c.assign(st.Set)
		c.sources(st.From)
		c.expr(st.Where)
		c.limit(st.Limit)
	case *tree.Delete:
		with = st.With
		c.sources(st.Using)
		c.expr(st.Where)
		c.limit(st.Limit)
	case *tree.Merge:
		with = st.With
		c.sources([]tree.Source{st.Using})
		c.expr(st.On)
		for i := range st.Branches {
			b := &st.Branches[i]
			c.expr(b.If)
			c.assign(b.Set)
			if b.Insert != nil {
				c.insert(l, b.Insert)
			}
		}
	}
	for i := range with {
		c.statement(l, with[i].Body)
	}
}

func (c *clues) query(s *tree.Select) {
	if s == nil {
		return
	}
	s.Exprs(c.visit)
	c.limit(s.Limit)
	c.limit(s.Offset)
}

func (c *clues) insert(l *layout, st *tree.Insert) {
	c.inserts = true
	c.query(st.Source)
	columns := st.Columns
	if t := l.exact("", st.Table.Name); columns == nil && t != nil {
		for i := range t.Columns {
			columns = append(columns, t.Columns[i].Name)
		}
	}
	if st.Source != nil {
		rows := st.Source.Values
		if rows == nil {
			var items []tree.Expr
			for _, item := range st.Source.Items {
				items = append(items, item.Expr)
			}
			rows = [][]tree.Expr{items}
		}
		for _, row := range rows {
			for i, e := range row {
				if i < len(columns) {
					c.pair(c.met, columns[i], e)
				}
			}
		}
	}
	if st.Conflict != nil {
		c.assign(st.Conflict.Set)
		c.expr(st.Conflict.If)
	}
}

func (c *clues) assign(list []tree.Assign) {
	for _, a := range list {
		c.pair(c.set, a.Column, a.Value)
		c.expr(a.Value)
	}
}

func (c *clues) sources(list []tree.Source) {
	for _, from := range list {
		if from != nil {
			(&tree.Select{From: []tree.Source{from}}).Exprs(c.visit)
		}
	}
}

func (c *clues) expr(e tree.Expr) { tree.Exprs(e, c.visit) }

func (c *clues) limit(e tree.Expr) {
	if p, ok := e.(*tree.Param); ok {
		c.params[bare(p.Name)] = ""
	}
}

// visit pairs columns with the constants next to them.
func (c *clues) visit(e tree.Expr) bool {
	switch e := e.(type) {
	case *tree.Literal:
		if e.Kind != tree.Null {
			c.all = append(c.all, e.Text)
		}
	case *tree.Op:
		c.neighbours(e.Args)
	case *tree.Call:
		c.neighbours(e.Args)
	case *tree.Case:
		list := []tree.Expr{e.Operand}
		for _, w := range e.Whens {
			list = append(list, w.If)
		}
		c.neighbours(list)
	case *tree.Query:
		c.limit(e.Select.Limit)
		c.limit(e.Select.Offset)
		if col, ok := e.Left.(*tree.Column); ok && len(e.Select.Items) == 1 {
			c.pair(c.met, col.Name, e.Select.Items[0].Expr)
		}
	}
	return true
}

func (c *clues) neighbours(list []tree.Expr) {
	for _, e := range list {
		col, ok := inner(e).(*tree.Column)
		if !ok {
			continue
		}
		for _, other := range list {
			c.pair(c.met, col.Name, other)
		}
	}
}

// inner is an expression without what is done to its value: a cast, a sign, a function of one argument.
func inner(e tree.Expr) tree.Expr {
	for {
		switch one := e.(type) {
		case *tree.Cast:
			e = one.Value
		case *tree.Call:
			if len(one.Args) == 0 {
				return e
			}
			e = one.Args[0]
		default:
			return e
		}
	}
}

// pair notes that a column has to do with a value.
func (c *clues) pair(into map[string][]string, column string, value tree.Expr) {
	column = strings.ToLower(column)
	switch v := value.(type) {
	case *tree.Literal:
		if v.Kind != tree.Null {
			into[column] = append(into[column], v.Text)
		}
	case *tree.Op:
		if l, ok := v.Args[0].(*tree.Literal); ok && v.Name == "neg" {
			into[column] = append(into[column], "-"+l.Text)
		}
	case *tree.Cast:
		c.pair(into, column, v.Value)
	case *tree.Param:
		if _, known := c.params[bare(v.Name)]; !known {
			c.params[bare(v.Name)] = column
		}
	case *tree.List:
		for _, item := range v.Items {
			c.pair(into, column, item)
		}
	case *tree.Call: // ANY($1), lower($1)
		if len(v.Args) == 1 {
			c.pair(into, column, v.Args[0])
		}
	}
}

// bare is the name of a placeholder without the mark before it.
func bare(name string) string { return strings.TrimLeft(name, ":@$?") }
