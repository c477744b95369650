package dedupe

import (
	"slices"
	"strconv"

	"github.com/semel-dev/semel/internal/texts"
)

// The fate of a table's rows in one batch is a temporary table. It has a row for each row that is merged, or whose
// references move, and for each that they meet:
//
//	grp, item    the group and the loser that caused it (0 for a row that is met)
//	o1, o2 …     the row's columns, in the order of [table.columns]
//	n1, n2 …     the same after the merge
//	w1, w2 …     the identity of the row that it is merged into; its own for a row that stays
//	v1, v2 …     the values of its checks
//
// It is filled before anything changes, and under locks of all its rows. [table.forget] empties it.

func (t *table) fate() string { return "semel_dedupe_fate_" + strconv.Itoa(t.number) }

// at returns alias.prefixN of the columns.
func (t *table) at(alias, prefix string, names []string) []string {
	all := t.columns()
	if alias != "" {
		alias += "."
	}
	return texts.Of(names, func(name string) string { return alias + prefix + strconv.Itoa(slices.Index(all, name)+1) })
}

func (t *table) oldID(alias string) []string { return numbered(alias, "o", len(t.id)) }
func (t *table) newID(alias string) []string { return numbered(alias, "n", len(t.id)) }
func (t *table) winner(alias string) []string {
	return numbered(alias, "w", len(t.id))
}

// lost holds for the fate of a row that is merged into another one.
func (t *table) lost(alias string) string { return t.differ(t.winner(alias), t.oldID(alias)) }

// moved holds for the fate f of a row whose references change.
func (t *table) moved() string {
	condition := t.differ(t.at("f", "n", t.moves), t.at("f", "o", t.moves))
	if !t.losersMove() {
		condition += " AND NOT " + t.lost("f")
	}
	return condition
}

// losersMove reports whether merged rows that stay need new references, because those that they have are deleted.
func (t *table) losersMove() bool { return t.marks && t.leaves }

// forget empties the fate.
func (t *table) forget() string { return t.empties() + t.fate() }

// insertFate adds rows of the table, which are locked, unless they are there: from and where name them as t.
func (t *table) insertFate(grp, item, from, where string) string {
	return t.insertInto(grp, item, of("t", t.columns()), from, where+"NOT EXISTS (SELECT 1 FROM "+t.fate()+" AS f WHERE "+equal(t.oldID("f"), of("t", t.id))+")")
}

// insertInto adds rows of the table, which are locked, with their columns after the merge.
func (t *table) insertInto(grp, item string, after []string, from, where string) string {
	return "INSERT INTO " + t.fate() + " SELECT " + list([]string{grp, item}, of("t", t.columns()), after, of("t", t.id), t.values("t")) +
		" FROM " + from + " WHERE " + where + t.locking()
}

// values are those of the checks.
func (t *table) values(alias string) []string {
	return texts.Of(t.checks, func(name string) string {
		if name == "" {
			return "1"
		}
		return "coalesce(" + t.decimal(alias+"."+quote(name)) + ", 0)"
	})
}

// insertRoot adds the members of groups.
func (s *site) insertRoot(groups []int64) string {
	root := s.tables[0]
	in := " FROM semel_dedupe_map WHERE run = $1 AND " + groupsIn("grp", groups)
	return "INSERT INTO " + root.fate() + " SELECT " + list([]string{"m.grp", "m.item"}, of("t", root.columns()), of("t", root.columns()), root.unkey("m.winner"), root.values("t")) +
		" FROM (SELECT grp, item, loser AS me, winner" + in + " UNION ALL SELECT DISTINCT grp, 0, winner, winner" + in + ") AS m JOIN " + root.path + " AS t ON " +
		equal(of("t", root.id), root.unkey("m.me")) + " ORDER BY " + list(of("t", root.id)) + root.locking()
}

// changedGroups are the groups whose rows are not the same any more, or are gone.
func (s *site) changedGroups(groups []int64) string {
	root, terms := s.tables[0], len(s.request.Terms)
	return "SELECT m.grp FROM (SELECT grp, count(*) + 1 AS n FROM semel_dedupe_map WHERE run = $1 AND " + groupsIn("grp", groups) + " GROUP BY grp) AS m LEFT JOIN (" +
		"SELECT grp, sum(n) AS n FROM (SELECT f.grp, count(*) AS n FROM " + root.fate() + " AS f JOIN (" + s.counted() + ") AS t ON " + equal(root.oldID("f"), numbered("t", "semel_k", len(root.id))) +
		" GROUP BY " + list([]string{"f.grp"}, numbered("t", "semel_e", terms)) + ") AS g GROUP BY grp HAVING count(*) = 1) AS g ON g.grp = m.grp AND g.n = m.n WHERE g.grp IS NULL"
}

// counted are the rows that count, with the terms of their group.
func (s *site) counted() string {
	root := s.tables[0]
	return "SELECT " + list(as(texts.Of(root.id, quote), "semel_k"), as(s.request.Terms, "semel_e")) + " FROM " + root.path + whereOf(s.request.Where)
}

// mapping selects the references of a child that change: semel_a1, semel_a2 … become semel_b1, semel_b2 …, as the row
// semel_t1, semel_t2 … has them.
func (e *edge) mapping() string {
	p := e.parent
	a, b := p.at("r", "o", e.refs), p.at("w", "n", e.refs)
	return "SELECT " + list([]string{"r.grp AS semel_grp", "r.item AS semel_item"}, as(a, "semel_a"), as(b, "semel_b"), as(p.oldID("w"), "semel_t")) + " FROM " + p.fate() + " AS r JOIN " + p.fate() + " AS w ON " +
		equal(p.oldID("w"), p.winner("r")) + " WHERE " + p.differ(a, b)
}

// movers adds the rows of the child whose reference moves, and gives them their new references.
func (e *edge) movers() []string {
	from, where := e.moving()
	return []string{e.child.insertFate("m.semel_grp", "m.semel_item", from, where), e.setMovers()}
}

// firstMovers does the same while the fate of the child is empty, and the child is not the parent.
func (e *edge) firstMovers() []string {
	from, where := e.moving()
	names := e.child.columns()
	after := of("t", names)
	for i, name := range e.cols {
		after[slices.Index(names, name)] = "m.semel_b" + strconv.Itoa(i+1)
	}
	return []string{e.child.insertInto("m.semel_grp", "m.semel_item", after, from, where+"1 = 1")}
}

// moving are the rows of the child whose reference moves: FROM and the beginning of WHERE.
func (e *edge) moving() (from, where string) {
	if e.live() {
		where = "t." + quote(mergedInto) + " IS NULL AND "
	}
	if e.where != "" {
		where += "(" + e.where + ") AND "
	}
	return "(" + e.mapping() + ") AS m JOIN " + e.child.path + " AS t ON " + equal(numbered("m", "semel_a", len(e.cols)), cast(of("t", e.cols), e.casts)), where
}

// setMovers gives rows of the child their new references. A row does not come to refer to itself where NULL can avoid it.
func (e *edge) setMovers() string {
	c := e.child
	values := numbered("m", "semel_b", len(e.cols))
	for i, name := range e.cols {
		if c == e.parent && c.nullable(name) && !slices.Contains(c.id, name) && !e.shared(name) {
			values[i] = "CASE WHEN " + equal(numbered("m", "semel_t", len(c.id)), c.winner("f")) + " THEN NULL ELSE " + values[i] + " END"
		}
	}
	where := equal(numbered("m", "semel_a", len(e.cols)), cast(c.at("f", "o", e.cols), e.casts)) + " AND " + c.differ(cast(c.at("f", "n", e.cols), e.casts), values)
	if e.where != "" {
		where += " AND EXISTS (SELECT 1 FROM (SELECT * FROM " + c.path + " WHERE " + e.where + ") AS t WHERE " + equal(of("t", c.id), c.oldID("f")) + ")"
	}
	return c.update(c.fate(), "f", c.at("", "n", e.cols), values, "("+e.mapping()+") AS m", where)
}

// shared reports whether a column of a reference to the own table belongs to its identity on the other side, such as a tenant.
func (e *edge) shared(name string) bool { return len(e.cols) > 1 && slices.Contains(e.refs, name) }
