package dedupe

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

// foreseen is a unique key of a child, with a query of the rows that meet in it: l1, l2 … name a row, w1, w2 … the one that keeps
// the place.
type foreseen struct {
	*table
	*key

	rows string
}

// foresee writes which rows will meet, table by table, without changing anything. Of rows that meet because others did in the
// same table, and of tables in a circle, it sees the first ones only: a run decides.
func (s *site) foresee() (with []string, all []foreseen) {
	root := s.tables[0]
	maps := map[*table]string{root: "semel_map0"}
	with = []string{"semel_map0 AS " + root.once() + "(" + s.members() + ")"}
	for _, t := range s.tables[1:] {
		var merged []string
		for i, k := range t.keys {
			rows := s.meeting(t, k, maps)
			if rows == "" {
				continue
			}
			name := "semel_meet" + strconv.Itoa(t.number) + "_" + strconv.Itoa(i)
			with = append(with, name+" AS ("+rows+")")
			all = append(all, foreseen{t, k, name})
			if t.merging(k) {
				merged = append(merged, "SELECT * FROM "+name)
			}
		}
		if merged != nil {
			maps[t] = "semel_map" + strconv.Itoa(t.number)
			with = append(with, maps[t]+" AS "+t.once()+"("+strings.Join(merged, " UNION ")+")")
		}
	}
	return with, all
}

// meeting selects the rows of a child that meet in a key when references follow the maps of their parents, the one that keeps
// its place among them.
func (s *site) meeting(t *table, k *key, maps map[*table]string) string {
	from, met := t.path+" AS t", []string(nil)
	values := map[string]string{}
	var moved []string
	for i, e := range s.edges {
		if e.child != t || e.parent == t || maps[e.parent] == "" || len(overlap(k.moves, e.cols)) == 0 {
			continue
		}
		alias := "m" + strconv.Itoa(i)
		a, b := numbered(alias, "a", len(e.cols)), numbered(alias, "b", len(e.cols))
		on := equal(a, cast(of("t", e.cols), e.casts))
		if e.where != "" {
			on += " AND EXISTS (SELECT 1 FROM (SELECT * FROM " + t.path + " WHERE " + e.where + ") AS x WHERE " + equal(of("x", t.id), of("t", t.id)) + ")"
		}
		from += " LEFT JOIN (" + e.mapped(maps[e.parent]) + ") AS " + alias + " ON " + on
		met = append(met, a[0]+" IS NOT NULL")
		moved = append(moved, "("+a[0]+" IS NOT NULL AND "+e.parent.differ(b, a)+")")
		for j, name := range e.cols {
			values[name] = "CASE WHEN " + a[0] + " IS NULL THEN " + cmp.Or(values[name], "t."+quote(name)) + " ELSE " + b[j] + " END"
			if strings.HasPrefix(e.casts[j], " COLLATE ") { // of the key: the child's decides what meets
				values[name] += " COLLATE " + cmp.Or(t.column(name).Collation, "BINARY")
			}
		}
	}
	if met == nil {
		return ""
	}
	if len(met) == 1 {
		from = strings.Replace(from, " LEFT JOIN ", " JOIN ", 1)
	}
	columns := append([]string{"CASE WHEN " + strings.Join(moved, " OR ") + " THEN 1 ELSE 0 END AS semel_moved"}, as(of("t", t.id), "semel_o")...) // a key may be the reference
	for _, c := range t.catalog.Columns {
		columns = append(columns, cmp.Or(values[c.Name], "t."+quote(c.Name))+" AS "+quote(c.Name))
	}
	where := " WHERE (" + strings.Join(met, " OR ") + ")"
	if t.marks && slices.ContainsFunc(s.edges, func(e *edge) bool { return e.child == t && e.live() }) {
		where += " AND t." + quote(mergedInto) + " IS NULL"
	}
	id := numbered("", "semel_o", len(t.id))
	age := append([]string{"semel_moved"}, id...)
	if k.alone && t.aged() {
		age = t.byAge(t.yields.keep == "newest", id)
	}
	class := list(k.parts)
	rows := "SELECT " + list(as(id, "l"), as(texts.Of(id, func(c string) string { return "first_value(" + c + ") OVER semel_class" }), "w"), []string{"count(*) OVER (PARTITION BY " + class + ") AS n"}) +
		" FROM (SELECT " + list(columns) + " FROM " + from + where + ") AS " + quote(t.catalog.Name) + k.counted() + " WINDOW semel_class AS (PARTITION BY " + class + " ORDER BY " + list(age) + ")"
	n := len(t.id)
	return "SELECT " + list(numbered("", "l", n), numbered("", "w", n)) + " FROM (" + rows + ") AS k WHERE n > 1"
}

// mapped selects the references to a parent, a1, a2 …, and what they become, b1, b2 and so on, from a map of its rows.
func (e *edge) mapped(rows string) string {
	p, n := e.parent, len(e.parent.id)
	if slices.Equal(e.refs, p.id) {
		return "SELECT " + list(as(numbered("", "l", n), "a"), as(numbered("", "w", n), "b")) + " FROM " + rows
	}
	return "SELECT " + list(as(of("r", e.refs), "a"), as(of("s", e.refs), "b")) + " FROM " + rows + " AS m JOIN " + p.path + " AS r ON " + equal(of("r", p.id), numbered("m", "l", n)) +
		" JOIN " + p.path + " AS s ON " + equal(of("s", p.id), numbered("m", "w", n))
}

// collisions counts the rows of children that meet, and reads an example of each key.
func (s *dbSession) collisions(ctx context.Context, found *site, p *Plan) error {
	with, all := found.foresee()
	if p.Losers == 0 || len(all) == 0 {
		return nil
	}
	counts, values := make([]string, len(all)), make([]int64, len(all))
	into := make([]any, len(all))
	for i, one := range all {
		n := len(one.id)
		counts[i], into[i] = "(SELECT count(*) FROM (SELECT DISTINCT "+list(numbered("", "l", n))+" FROM "+one.rows+" WHERE "+one.differ(numbered("", "l", n), numbered("", "w", n))+") AS c)", &values[i]
	}
	begin := "WITH " + strings.Join(with, ", ") + " SELECT "
	if err := s.one(ctx, begin+list(counts), nil, into...); err != nil {
		return err
	}
	for i, one := range all {
		c := Collision{Table: one.table.name, Key: one.key.name, Rows: values[i], Does: one.does(one.key)}
		if c.Rows > 0 {
			n := len(one.id)
			l, w := numbered("", "l", n), numbered("", "w", n)
			query := begin + list([]string{one.table.key(w), one.table.key(l)}) + " FROM " + one.rows + " AS k WHERE " + one.differ(l, w) + " ORDER BY " + list(w, l) + " LIMIT 1"
			var keeps, other string
			if err := s.one(ctx, query, nil, &keeps, &other); err != nil {
				return err
			}
			differ, err := s.differences(ctx, one.table, []string{keeps, other})
			if err != nil {
				return err
			}
			c.Sample, c.Differences = []string{keeps, other}, slices.DeleteFunc(differ, func(d Difference) bool { return slices.Contains(one.table.moves, d.Column) })
		}
		p.Collisions = append(p.Collisions, c)
	}
	return nil
}

// does says what happens to rows that meet in a key.
func (t *table) does(k *key) string {
	switch {
	case !t.merging(k) && t.yields == nil:
		return "their groups are refused: " + k.name + " allows one for each " + strings.Join(k.moves, ", ") + " (" + t.yieldHint() + ")"
	case !t.merging(k):
		return strings.Join(texts.Of(t.sets(), func(name string) string { return "get another " + name }), ", ") + "; the " + t.yields.row() + " stays as it is"
	case t.marks:
		return "marked as merged"
	}
	return "deleted, and kept in the audit"
}

// row names the row that keeps its place.
func (y *yielding) row() string {
	if y.keep == keepWinner {
		return "winner's"
	}
	return y.keep
}
