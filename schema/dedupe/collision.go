package dedupe

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

// future are the rows of a fate as they will be, with the terms of a unique key: semel_grp, semel_moved, semel_o…,
// semel_w…, semel_e…, and semel_c1 for the time of their creation where their age counts. Only a key that may read any column needs the rows themselves.
func (t *table) future(k *key) string {
	decided := slices.Concat(t.moves, t.sets())
	columns := slices.Concat([]string{"f.grp AS semel_grp", t.differ(t.at("f", "n", k.moves), t.at("f", "o", k.moves)) + " AS semel_moved"},
		as(t.oldID("f"), "semel_o"), as(t.winner("f"), "semel_w"))
	from := t.fate() + " AS f"
	if k.seen == nil {
		from += " JOIN " + t.path + " AS t ON " + equal(of("t", t.id), t.oldID("f"))
	}
	for _, c := range t.catalog.Columns {
		switch name := c.Name; {
		case slices.Contains(decided, name):
			columns = append(columns, t.at("f", "n", []string{name})[0]+" AS "+quote(name))
		case k.seen == nil:
			columns = append(columns, "t."+quote(name))
		case slices.Contains(k.seen, name):
			columns = append(columns, t.at("f", "o", []string{name})[0]+" AS "+quote(name))
		}
	}
	var age []string
	if name := t.created(); t.aged() && name != "" {
		age = []string{"semel_c1"}
		columns = append(columns, as(t.at("f", "o", []string{name}), "semel_c")...)
	}
	rows := "(SELECT " + list(columns) + " FROM " + from + ") AS " + quote(t.catalog.Name)
	n := len(t.id)
	return "SELECT " + list([]string{"semel_grp", "semel_moved"}, numbered("", "semel_o", n), numbered("", "semel_w", n), age, as(k.parts, "semel_e")) + " FROM " + rows + k.counted()
}

// counted is the WHERE of the rows that a key compares.
func (k *key) counted() string {
	var conditions []string
	if k.where != "" {
		conditions = append(conditions, "("+k.where+")")
	}
	if !k.nullsSame {
		conditions = append(conditions, texts.Of(k.parts, func(p string) string { return p + " IS NOT NULL" })...)
	}
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

// insertMet adds the rows that have a place already which a row moves to.
func (t *table) insertMet(k *key) string {
	terms := numbered("v", "semel_e", len(k.parts))
	operator := " = "
	if k.nullsSame {
		operator = " IS NOT DISTINCT FROM "
	}
	from := "(SELECT min(v.semel_grp) AS semel_grp, " + list(terms) + " FROM (" + t.future(k) + ") AS v WHERE v.semel_moved GROUP BY " + list(terms) + ") AS v JOIN " + t.path + " AS t ON " +
		pairs(k.parts, terms, operator, " AND ")
	where := strings.TrimPrefix(k.counted(), " WHERE ")
	if where != "" {
		where += " AND "
	}
	return t.insertFate("v.semel_grp", "0", from, where)
}

// collide merges rows that a key makes the same: into the one that has precedence.
// Where two rows that others are merged into would be merged into each other, one of the two directions counts.
func (t *table) collide(k *key) string {
	n := len(t.id)
	w, keep, other := numbered("v", "semel_w", n), numbered("p", "keep", n), numbered("p", "was", n)
	firsts := texts.Of(w, func(column string) string { return "first_value(" + column + ") OVER semel_class" })
	ranked := "SELECT " + list(as(w, "was"), as(firsts, "keep")) + " FROM (" + t.future(k) + ") AS v WINDOW semel_class AS (PARTITION BY " +
		list(numbered("v", "semel_e", len(k.parts))) + " ORDER BY " + list(t.precedence(k)) + ")"
	placed := "SELECT " + list(other, keep) + ", row_number() OVER (PARTITION BY " + list(other) + " ORDER BY " + list(keep) + ") AS place FROM ranked AS p WHERE " + t.differ(other, keep)
	merged := "SELECT * FROM placed AS p WHERE place = 1"
	rows := "(WITH ranked AS (" + ranked + "), placed AS (" + placed + "), merged AS (" + merged + ") SELECT " + list(other, keep) + " FROM merged AS p WHERE NOT EXISTS (SELECT 1 FROM merged AS q WHERE " +
		equal(numbered("q", "was", n), keep) + ") OR (" + list(other) + ") > (" + list(keep) + ")) AS p"
	return t.update(t.fate(), "f", t.winner(""), keep, rows, equal(t.winner("f"), other))
}

// compress lets merged rows name the row that stays, where the one they name is itself merged.
func (t *table) compress() string {
	lost := "(SELECT " + list(t.oldID("r"), t.winner("r")) + " FROM " + t.fate() + " AS r WHERE " + t.lost("r") + ") AS r"
	return t.update(t.fate(), "f", t.winner(""), t.winner("r"), lost, equal(t.oldID("r"), t.winner("f")))
}
