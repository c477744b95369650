package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/lint/tree"
)

// inAnyOrder reports whether a statement of a row trigger leaves the same whichever row of the table fires it last: it
// writes what does not depend on the row, or each row has rows of its own, by a key.
func (j *judge) inAnyOrder(st tree.Statement, t *target) bool {
	switch st := st.(type) {
	case *tree.Update:
		return !slices.ContainsFunc(st.Set, func(a tree.Assign) bool { return readsNew(a.Value) }) || t.keyed(ownByNew(st.Where))
	case *tree.Insert:
		if !st.Replace && (st.Conflict == nil || st.Conflict.Nothing) {
			return true
		}
		row := firedRow(st)
		if !slices.ContainsFunc(row, readsNew) {
			return !slices.ContainsFunc(st.Conflict.Set, func(a tree.Assign) bool { return readsNew(a.Value) })
		}
		into := j.schema.Table(st.Table)
		return into != nil && slices.ContainsFunc(into.Keys, func(k *tree.Key) bool { return t.keyed(keyOfNew(st, row, k)) })
	case *tree.Merge:
		return false
	}
	return true
}

// ownByNew returns the columns of the row that fires the trigger which a condition equates with columns of the others.
func ownByNew(where tree.Expr) (fixed []string) {
	for _, c := range tree.Conjuncts(where) {
		for _, pair := range pairs(c) {
			for i := range pair {
				if _, plain := pair[1-i].(*tree.Column); plain && ofNew(pair[i]) != "" && ofNew(pair[1-i]) == "" {
					fixed = append(fixed, ofNew(pair[i]))
				}
			}
		}
	}
	return fixed
}

// firedRow returns the values of an INSERT of one row.
func firedRow(in *tree.Insert) []tree.Expr {
	switch {
	case in.Source == nil:
		return nil
	case len(in.Source.Values) == 1:
		return in.Source.Values[0]
	case in.Source.Values == nil && in.Source.SetOp == "" && len(in.Source.From) == 0:
		return results(in.Source.Items)
	}
	return []tree.Expr{&tree.Column{Table: "new"}} // several rows, of which nothing is known
}

// keyOfNew returns the columns of the row that fires the trigger which the columns of a key get.
func keyOfNew(in *tree.Insert, row []tree.Expr, k *tree.Key) (columns []string) {
	if k.Where != nil {
		return nil
	}
	for _, part := range k.Parts {
		c, ok := part.(*tree.Column)
		n := slices.IndexFunc(in.Columns, func(name string) bool { return ok && strings.EqualFold(name, c.Name) })
		if n >= 0 && n < len(row) && ofNew(row[n]) != "" {
			columns = append(columns, ofNew(row[n]))
		}
	}
	return columns
}

// ofNew returns the column of the row that fires a trigger which an expression is, "" for another.
func ofNew(e tree.Expr) string {
	c, ok := e.(*tree.Column)
	if !ok || !strings.EqualFold(c.Table, "new") {
		return ""
	}
	return strings.ToLower(c.Name)
}

// readsNew reports whether an expression depends on the row that fires a trigger.
func readsNew(e tree.Expr) (found bool) {
	tree.Exprs(e, func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Column:
			found = found || strings.EqualFold(e.Table, "new") || strings.EqualFold(e.Name, "new")
		case *tree.Star:
			found = found || strings.EqualFold(e.Table, "new")
		case *tree.Raw:
			found = true
		}
		return !found
	})
	return found
}
