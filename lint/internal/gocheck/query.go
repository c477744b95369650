package gocheck

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/parse"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// query is a SELECT of rows of one table, or an UPDATE of one.
type query struct {
	table   string
	updates bool
	items   []string     // the columns of a SELECT; "" for other expressions
	sets    []comparison // of an UPDATE
	where   []comparison // joined by AND
	at      token.Pos
	params  []ast.Expr // what the program passes for placeholders
}

// comparison is column = value. Without a column, the value is a condition of another kind.
type comparison struct{ column, value string }

var placeholder = regexp.MustCompile(`^:(\d+)$`)

// argument returns what the program passes for a placeholder.
func (q *query) argument(value string) ast.Expr {
	found := placeholder.FindStringSubmatch(value)
	if found == nil {
		return nil
	}
	n, err := strconv.Atoi(found[1])
	if err != nil || n < 1 || n > len(q.params) {
		return nil
	}
	return q.params[n-1]
}

// parseQuery reads a statement; nil for one of another kind, with joins, or with a lock.
func parseQuery(f *lint.Finding) *query {
	if len(f.Dialects) == 0 {
		return nil
	}
	d, err := dialect.Parse(f.Dialects[0])
	if err != nil {
		return nil
	}
	parsed := parse.Statements(d, f.SQL)
	if len(parsed) != 1 {
		return nil
	}
	switch st := parsed[0].Statement.(type) {
	case *tree.Select:
		return selectOf(st)
	case *tree.Update:
		return updateOf(st)
	}
	return nil
}

func selectOf(s *tree.Select) *query {
	if len(s.With) > 0 || len(s.From) != 1 || s.SetOp != "" || len(s.GroupBy) > 0 || s.Having != nil || s.Distinct || len(s.DistinctOn) > 0 || s.Locks {
		return nil
	}
	ref, ok := s.From[0].(*tree.TableRef)
	if !ok {
		return nil
	}
	q := &query{table: strings.ToLower(ref.Name.Name), where: comparisonsOf(s.Where)}
	for _, item := range s.Items {
		q.items = append(q.items, columnOf(item.Expr))
	}
	return q
}

func updateOf(u *tree.Update) *query {
	if len(u.With) > 0 || len(u.From) > 0 {
		return nil
	}
	q := &query{updates: true, table: strings.ToLower(u.Table.Name), where: comparisonsOf(u.Where)}
	for _, a := range u.Set {
		q.sets = append(q.sets, comparison{folded(a.Column), valueOf(a.Value)})
	}
	return q
}

func comparisonsOf(where tree.Expr) (all []comparison) {
	for _, c := range tree.Conjuncts(where) {
		one := comparison{value: tree.Text(c)}
		if op, ok := c.(*tree.Op); ok && op.Name == "=" && len(op.Args) == 2 && columnOf(op.Args[0]) != "" {
			one = comparison{columnOf(op.Args[0]), valueOf(op.Args[1])}
		}
		all = append(all, one)
	}
	return all
}

// valueOf writes a value without conversions: a placeholder is ":1" or ":name".
func valueOf(e tree.Expr) string {
	if c, ok := e.(*tree.Cast); ok {
		return valueOf(c.Value)
	}
	return tree.Text(e)
}

// columnOf returns the column that an expression is: balance, a.balance, coalesce(balance, 0).
func columnOf(e tree.Expr) string {
	switch e := e.(type) {
	case *tree.Column:
		return folded(e.Name)
	case *tree.Call:
		if e.Name == "coalesce" && len(e.Args) > 0 {
			return columnOf(e.Args[0])
		}
	}
	return ""
}
