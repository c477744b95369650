package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// A DELETE may ask for rows of a table that its foreign key then deletes with the rows found:
//
//	DELETE FROM parent WHERE NOT EXISTS (SELECT 1 FROM child WHERE child.parent_id = parent.id)
//
// What such a query finds for a row that stays is the same at the second run: a cascade deletes the children of the
// deleted rows alone.

// cascades returns the foreign keys by which the rows of a table are deleted with the target's; nil if something else
// may change them.
func (j *judge) cascades(child string, t *target) (list []*tree.Foreign) {
	if t.table == nil || j.ripple == nil || j.ripple.hidden != "" || j.ripple.tables[child] || j.ripple.tables[t.name] || len(writesOf(j.st)) != 1 {
		return nil
	}
	if slices.ContainsFunc(t.table.Foreign, func(f *tree.Foreign) bool { return j.changed[j.base(f.Table)] && j.acts(f) }) {
		return nil
	}
	for _, r := range j.schema.Acting() {
		if r.From != child || !j.changed[j.base(r.Table)] || !j.acts(r.Foreign) {
			continue
		}
		if j.base(r.Table) != t.name || r.OnDelete != "cascade" {
			return nil
		}
		list = append(list, r.Foreign)
	}
	return list
}

// ownChildren reports whether a query within a DELETE reads the children of the row that it is about, and no others.
func (j *judge) ownChildren(s, in *tree.Select, child string, t *target) bool {
	if j.childless[child] {
		return true
	}
	list := j.cascades(child, t)
	return len(list) == 1 && s == in && j.ofOneTable(s) && !hasQuery(s.Where) && j.links(s, tree.Conjuncts(s.Where), list[0], t) > 0
}

// ofOneTable reports whether a query has one row for each that it finds in one table.
func (j *judge) ofOneTable(s *tree.Select) bool {
	if len(s.From) != 1 || s.SetOp != "" || s.Values != nil || len(s.With) > 0 || len(s.GroupBy) > 0 || s.Having != nil || s.Limit != nil || s.Offset != nil || len(s.DistinctOn) > 0 {
		return false
	}
	ref, ok := s.From[0].(*tree.TableRef)
	return ok && j.with[strings.ToLower(ref.Name.Name)] == nil
}

// links counts the conditions that equate the columns of a foreign key with those of the target's row; 0 if one is missing.
func (j *judge) links(s *tree.Select, conditions []tree.Expr, f *tree.Foreign, t *target) (n int) {
	ref, ok := s.From[0].(*tree.TableRef)
	if !ok || t.aliases[strings.ToLower(sourceName(ref))] {
		return 0
	}
	child, targets := j.schema.Table(ref.Name), namedBy(f, t.table)
	theirs := func(e tree.Expr, column string) bool {
		c, ok := e.(*tree.Column)
		return ok && strings.EqualFold(c.Name, column) && (strings.EqualFold(c.Table, sourceName(ref)) || c.Table == "" && schema.Column(child, column) != nil)
	}
	own := func(e tree.Expr, column string) bool {
		c, ok := e.(*tree.Column)
		return ok && strings.EqualFold(c.Name, column) && (t.aliases[strings.ToLower(c.Table)] || c.Table == "" && schema.Column(child, column) == nil)
	}
	if len(targets) != len(f.Columns) {
		return 0
	}
	for i, column := range f.Columns {
		found := slices.ContainsFunc(conditions, func(e tree.Expr) bool {
			op, ok := e.(*tree.Op)
			return ok && op.Name == "=" && len(op.Args) == 2 &&
				(theirs(op.Args[0], column) && own(op.Args[1], targets[i]) || theirs(op.Args[1], column) && own(op.Args[0], targets[i]))
		})
		if !found {
			return 0
		}
		n++
	}
	return n
}

// namedBy returns the columns that a foreign key to a table names: without any, those of its primary key.
func namedBy(f *tree.Foreign, t *tree.Table) []string {
	targets := slices.Clip(f.Targets)
	if len(targets) > 0 {
		return targets
	}
	for _, k := range t.Keys {
		for _, part := range k.Parts {
			if c, ok := part.(*tree.Column); ok && k.Primary {
				targets = append(targets, c.Name)
			}
		}
	}
	return targets
}

// noteChildless notes the tables of which a DELETE finds rows without any children, by whichever foreign key:
//
//	NOT EXISTS (SELECT 1 FROM edge WHERE edge.source = node.id OR edge.target = node.id)
func (j *judge) noteChildless(where tree.Expr, t *target) {
	for _, c := range tree.Conjuncts(where) {
		not, ok := c.(*tree.Op)
		if !ok || not.Name != "not" || len(not.Args) != 1 {
			continue
		}
		q, ok := not.Args[0].(*tree.Query)
		if !ok || q.Kind != tree.Exists || !j.ofOneTable(q.Select) || q.Select.Where == nil {
			continue
		}
		ways := []tree.Expr{q.Select.Where}
		if or, ok := q.Select.Where.(*tree.Op); ok && or.Name == "or" {
			ways = or.Args
		}
		ref, ok := q.Select.From[0].(*tree.TableRef)
		if !ok {
			continue
		}
		child := j.base(ref.Name)
		list := j.cascades(child, t)
		covered := func(f *tree.Foreign) bool {
			return slices.ContainsFunc(ways, func(e tree.Expr) bool {
				all := tree.Conjuncts(e)
				return j.links(q.Select, all, f, t) == len(all)
			})
		}
		if len(list) > 0 && !slices.ContainsFunc(list, func(f *tree.Foreign) bool { return !covered(f) }) {
			j.childless[child] = true
		}
	}
}
