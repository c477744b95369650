package dedupe

import (
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

// The steps of the audit.
const (
	stepMoved   = 1
	stepMerged  = 2
	stepKept    = 3
	stepYielded = 4
)

const auditInto = `INSERT INTO semel_dedupe_audit (run, grp, item, step, tbl, "key", winner, whole, old, new) SELECT `

// audit begins a statement that writes the audit of rows of the table.
func (t *table) audit(step string) string {
	return auditInto + t.integer("$1") + ", f.grp, f.item, " + step + ", " + t.literal(t.name) + ", "
}

// auditMerges keeps the rows that are about to be merged, and the winners of groups, as they are, with the columns that change.
func (t *table) auditMerges() string {
	stored := t.stored()
	either := func(loser, winner string) string {
		if loser == winner {
			return loser
		}
		return "CASE WHEN " + t.lost("f") + " THEN " + loser + " ELSE " + winner + " END"
	}
	marked, kept := [2]string{"NULL", "NULL"}, [2]string{"NULL", "NULL"}
	if t.marks {
		names := t.markColumns()
		marked = [2]string{t.row(names, of("t", names)), t.row(names, t.markValues("f"))}
	}
	if names := texts.Of(t.fills, func(p policy) string { return p.column }); len(names) > 0 {
		kept = [2]string{t.row(names, t.at("f", "o", names)), t.row(names, t.at("f", "n", names))}
	}
	return t.audit(either(strconv.Itoa(stepMerged), strconv.Itoa(stepKept))) + either(t.key(t.oldID("f")), t.key(t.newID("f"))) + ", " + either(t.key(t.newID("w")), "NULL") + ", " +
		t.row(stored, of("t", stored)) + ", " + either(marked[0], kept[0]) + ", " + either(marked[1], kept[1]) +
		" FROM " + t.fate() + " AS f JOIN " + t.fate() + " AS w ON " + equal(t.oldID("w"), t.winner("f")) + " JOIN " + t.path + " AS t ON " + equal(of("t", t.id), t.oldID("f")) +
		" WHERE " + t.lost("f") + " OR " + t.wins("f")
}

// wins holds for the fate of a row that others are merged into.
func (t *table) wins(alias string) string {
	return "EXISTS (SELECT 1 FROM " + t.fate() + " AS l WHERE " + equal(t.winner("l"), t.oldID(alias)) + " AND " + t.lost("l") + ")"
}

// auditMoved keeps the references that move.
func (t *table) auditMoved() string {
	return t.audit(strconv.Itoa(stepMoved)) + t.key(t.newID("f")) + ", NULL, NULL, " + t.row(t.moves, t.at("f", "o", t.moves)) + ", " + t.row(t.moves, t.at("f", "n", t.moves)) + " FROM " + t.fate() + " AS f WHERE " + t.moved()
}

// markColumns are the columns that mark a merged row; merged_at and merge_run where the table has them.
func (t *table) markColumns() []string {
	names := []string{mergedInto}
	for _, name := range []string{mergedAt, mergeRun} {
		if _, ok := t.catalog.Column(name); ok {
			names = append(names, name)
		}
	}
	return names
}

func (t *table) markValues(alias string) []string {
	return texts.Of(t.markColumns(), func(name string) string {
		switch name {
		case mergedAt:
			return t.now(t.column(name))
		case mergeRun:
			return t.integer("$1")
		}
		return t.winner(alias)[0]
	})
}

// write is a statement that changes rows of a table. due says which: a condition on the fates f, or for an undo a part of the audit a.
type write struct {
	*table

	statement, due string
}

// marks marks the merged rows of the tables that keep them. It comes first: what is marked is in no unique key's way.
func (s *site) marks() (all []write) {
	for _, t := range s.tables {
		if t.marks {
			due := t.lost("f")
			all = append(all, write{t, t.update(t.path, "t", texts.Of(t.markColumns(), quote), t.markValues("f"), t.fate()+" AS f", equal(of("t", t.id), t.oldID("f"))+" AND "+due), due})
		}
	}
	return all
}

// moves deletes the merged rows that are not marked, and then moves the references of all tables: a row can take over the
// place of one that is deleted.
func (s *site) moves() (all []write) {
	for _, t := range s.tables {
		if t.deep && !t.marks {
			all = append(all, write{t, t.remove(t, t.lost("f")), t.lost("f")})
		}
	}
	for _, t := range s.tables {
		if len(t.moves) > 0 {
			due := t.moved()
			all = append(all, write{t, t.update(t.path, "t", texts.Of(t.moves, quote), t.at("f", "n", t.moves), t.fate()+" AS f", equal(of("t", t.id), t.oldID("f"))+" AND "+due), due})
		}
	}
	return all
}

// fillings change the columns of winners.
func (s *site) fillings() (all []write) {
	for _, t := range s.tables {
		if len(t.fills) > 0 {
			names := texts.Of(t.fills, func(p policy) string { return p.column })
			due := t.wins("f") + " AND " + t.differ(t.at("f", "n", names), t.at("f", "o", names))
			all = append(all, write{t, t.update(t.path, "t", texts.Of(names, quote), t.at("f", "n", names), t.fate()+" AS f", equal(of("t", t.id), t.newID("f"))+" AND "+due), due})
		}
	}
	return all
}

// together is one statement of several that each end with a condition: each runs when those before it have. It returns the
// number of rows that each changed, and then numbers.
func together(statements, numbers []string) string {
	var with, counts []string
	for i, statement := range statements {
		if i > 0 {
			statement += " AND (SELECT count(*) FROM semel_" + strconv.Itoa(i-1) + ") >= 0"
		}
		name := "semel_" + strconv.Itoa(i)
		with = append(with, name+" AS ("+statement+" RETURNING 1)")
		counts = append(counts, "(SELECT count(*) FROM "+name+")")
	}
	return "WITH " + strings.Join(with, ", ") + " SELECT " + list(counts, numbers)
}

// fill computes the new value of a column of winners from the rows of their groups, the winner first.
func (t *table) fill(p policy) string {
	n := len(t.id)
	column, order := quote(p.column), "semel_lost, "+t.age(false)
	// The rows of a group are all that is in scope of an expression.
	names := texts.Of(t.catalog.Columns, func(c catalog.Column) string { return "t." + quote(c.Name) })
	winners := "(SELECT DISTINCT " + list(as(t.winner("l"), "semel_w")) + " FROM " + t.fate() + " AS l WHERE " + t.lost("l") + ") AS l"
	rows := "(SELECT " + list(names, as(t.winner("g"), "semel_w"), []string{"CASE WHEN " + t.lost("g") + " THEN 1 ELSE 0 END AS semel_lost"}) + " FROM " + winners + " JOIN " + t.fate() + " AS g ON " +
		equal(t.winner("g"), numbered("l", "semel_w", n)) + " JOIN " + t.path + " AS t ON " + equal(of("t", t.id), t.oldID("g")) + ") AS t"
	group := numbered("t", "semel_w", n)
	best := func(where, order string) string {
		return "(SELECT * FROM (SELECT " + list(group) + ", " + column + " AS semel_value, row_number() OVER (PARTITION BY " + list(group) + " ORDER BY " + order + ") AS semel_place FROM " + rows + where + ") AS t WHERE semel_place = 1)"
	}
	aggregate := func(value string) string {
		return "(SELECT " + list(group) + ", " + value + " AS semel_value FROM " + rows + " GROUP BY " + list(group) + ")"
	}
	filled := " WHERE " + column + " IS NOT NULL"
	values := best(filled, order)
	switch p.kind {
	case "longest":
		values = best(filled, t.length(column)+" DESC, "+order)
	case "latest":
		values = best("", t.age(true))
	case "sum":
		values = aggregate("sum(" + column + ")")
	default:
		if text, ok := strings.CutPrefix(p.kind, sqlPolicy); ok {
			values = aggregate(text)
		}
	}
	return t.update(t.fate(), "f", t.at("", "n", []string{p.column}), []string{"q.semel_value"}, values+" AS q", equal(numbered("q", "semel_w", n), t.oldID("f")))
}

// age orders rows by the time of their creation, and then by their identity.
func (t *table) age(newest bool) string { return list(t.byAge(newest, texts.Of(t.id, quote))) }

// byAge does the same, with the identity in other columns.
func (t *table) byAge(newest bool, id []string) []string {
	direction := ""
	if newest {
		direction = " DESC"
	}
	var terms []string
	if name := t.created(); name != "" {
		terms = append(terms, quote(name)+" IS NULL", quote(name)+direction)
	}
	for _, name := range id {
		terms = append(terms, name+direction)
	}
	return terms
}

// created is the column with the time of a row's creation, or "".
func (t *table) created() string {
	for _, name := range []string{"created_at", "created_on", "created", "inserted_at"} {
		if c, ok := t.catalog.Column(name); ok {
			return c.Name
		}
	}
	return ""
}

// lostChecks are the groups in which a value that must not change is not kept: the group, and the key of the winner.
func (t *table) lostChecks() []string {
	var all []string
	for i, name := range t.checks {
		v, now := "v"+strconv.Itoa(i+1), "1"
		if name != "" {
			now = "coalesce(" + t.decimal("t."+quote(name)) + ", 0)"
		}
		all = append(all, "SELECT f.grp, "+t.key(t.newID("f"))+" FROM (SELECT "+list(t.winner("f"), []string{"sum(f." + v + ") AS v"})+" FROM "+t.fate()+
			" AS f GROUP BY "+list(t.winner("f"))+") AS g JOIN "+t.fate()+" AS f ON "+equal(t.winner("g"), t.oldID("f"))+" JOIN "+t.path+" AS t ON "+equal(of("t", t.id), t.newID("f"))+
			" WHERE g.v <> "+now+" ORDER BY f.grp")
	}
	return all
}

// cycle finds the youngest row that became part of a circle of references to its own table, with its group.
func (e *edge) cycle() string {
	t := e.child
	moved := t.differ(t.at("f", "n", e.cols), t.at("f", "o", e.cols)) + " AND NOT " + t.lost("f")
	n := len(e.refs)
	self, next := numbered("w", "s", n), cast(numbered("w", "p", n), e.casts)
	return "WITH RECURSIVE semel_walk AS (SELECT " + list(as(t.at("f", "n", e.refs), "s"), as(t.at("f", "n", e.cols), "p")) + " FROM " + t.fate() + " AS f WHERE " + moved +
		" UNION SELECT " + list(self, of("t", e.cols)) + " FROM semel_walk AS w JOIN " + t.path + " AS t ON " + equal(of("t", e.refs), next) +
		" WHERE " + t.differ(next, self) + ") SELECT f.grp, " + t.key(t.newID("f")) + " FROM semel_walk AS w JOIN " + t.fate() + " AS f ON " + equal(t.at("f", "n", e.refs), self) +
		" WHERE " + equal(next, self) + " AND " + moved + " AND NOT (" + equal(cast(t.at("f", "n", e.cols), e.casts), t.at("f", "n", e.refs)) + ") ORDER BY " + list(descending(t.newID("f"))) + " LIMIT 1"
}

func descending(names []string) []string {
	return texts.Of(names, func(name string) string { return name + " DESC" })
}

// cut sets the reference of one row to NULL, in its table and in its fate.
func (e *edge) cut(row string) []string {
	t := e.child
	var names, nulls []string
	for _, name := range e.cols {
		if t.nullable(name) {
			names = append(names, name)
			nulls = append(nulls, "NULL")
		}
	}
	if names == nil {
		return nil
	}
	key := t.unkey(t.literal(row))
	return []string{
		"UPDATE " + t.path + " AS t SET " + pairs(texts.Of(names, quote), nulls, " = ", ", ") + " WHERE " + equal(of("t", t.id), key),
		"UPDATE " + t.fate() + " AS f SET " + pairs(t.at("", "n", names), nulls, " = ", ", ") + " WHERE " + equal(t.newID("f"), key),
	}
}
