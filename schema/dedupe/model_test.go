package dedupe_test

import (
	"maps"
	"slices"
	"strings"
)

// rowsOf are the rows of a random table: column, then value; "" is NULL.
func (w *world) rowsOf(r *randomTable, columns []string) []map[string]string {
	var all []map[string]string
	text := w.text("SELECT concat_ws('|', " + strings.Join(each(columns, func(c string) string { return "coalesce(" + w.by(c+"::text", "cast("+c+" AS char)", c) + ", '')" }), ", ") + ") FROM " + r.name + " ORDER BY " + strings.Join(r.pk, ", "))
	for line := range strings.FieldsSeq(text) {
		row := map[string]string{}
		for i, value := range strings.Split(line, "|") {
			row[columns[i]] = value
		}
		all = append(all, row)
	}
	return all
}

func each(all []string, f func(string) string) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = f(all[i])
	}
	return out
}

// classes is a union of rows that are the same.
type classes map[string]string

func (c classes) of(row string) string {
	for c[row] != "" && c[row] != row {
		row = c[row]
	}
	return row
}

func (c classes) unite(a, b string) bool {
	a, b = c.of(a), c.of(b)
	if a == b {
		return false
	}
	c[max(a, b)] = min(a, b)
	return true
}

// model holds the rows of a random schema, and which of them are the same.
type model struct {
	*world

	rows [][]map[string]string
	same classes
	// crowded says that rows which are not the same have one place.
	crowded bool
}

func (w *world) model() *model {
	m := &model{world: w}
	for _, r := range w.tables {
		columns := []string{"tenant", "id", "k", "pos", "label", "main", "tag"}
		for _, ref := range r.refs {
			for _, c := range ref.cols {
				if !slices.Contains(columns, c) {
					columns = append(columns, c)
				}
			}
		}
		m.rows = append(m.rows, w.rowsOf(r, columns))
	}
	return m
}

func nameOf(r *randomTable, row map[string]string) string {
	return r.name + "(" + strings.Join(each(r.pk, func(c string) string { return row[c] }), ",") + ")"
}

// of is the class of a row with this tag.
func (m *model) of(table, tag string) string {
	for i, r := range m.tables {
		for _, row := range m.rows[i] {
			if r.name == table && row["tag"] == tag {
				return m.same.of(nameOf(r, row))
			}
		}
	}
	return ""
}

// count is the number of rows that a table is to have.
func (m *model) count(i int) int {
	roots := map[string]bool{}
	for _, row := range m.rows[i] {
		roots[m.same.of(nameOf(m.tables[i], row))] = true
	}
	return len(roots)
}

// solve unites rows until no unique key makes two the same, but leaves the groups of these terms as they are.
func (m *model) solve(left []string) {
	m.same, m.crowded = classes{}, false
	for changed := true; changed; {
		changed = false
		for i, r := range m.tables {
			if !r.one || r.follows && !strings.Contains(r.yields, ":") {
				for _, key := range r.unique {
					changed = m.unite(i, key, nil) || changed
				}
			}
			if r.pk[0] == "r0" {
				changed = m.unite(i, r.pk, nil) || changed
			}
			if i == 0 {
				changed = m.unite(i, []string{"k"}, left) || changed
			}
		}
	}
	for i, r := range m.tables {
		if r.one && !r.follows {
			same := m.same
			m.same = maps.Clone(same)
			m.crowded = m.unite(i, r.unique[0], nil) || m.crowded
			m.same = same
		}
	}
}

// unite unites rows of a table with the same values, other than these; it reports whether there were any.
func (m *model) unite(i int, key, other []string) (changed bool) {
	r, seen := m.tables[i], map[string]string{}
	for _, row := range m.rows[i] {
		own := nameOf(r, row)
		value, ok := m.future(r, row, own, key)
		if !ok || r.partial && key[0] != "k" && row["main"] != "1" || slices.Contains(other, row["k"]) {
			continue
		}
		if before := seen[value]; before != "" {
			changed = m.same.unite(own, before) || changed
		} else {
			seen[value] = own
		}
	}
	return changed
}

// future is the value of a key when all references are moved; it is not one where a column is NULL.
func (m *model) future(r *randomTable, row map[string]string, own string, key []string) (string, bool) {
	value := ""
	for _, column := range key {
		text := row[column]
		if column == "label" && r.folds {
			text = strings.ToLower(text)
		}
		for _, ref := range r.refs {
			if ref.own() != column && (column != "r0" || ref.cols[0] != "r0a") || text == "" {
				continue
			}
			target := map[string]string{}
			for i, c := range ref.parent.pk {
				target[c] = row[ref.cols[i]]
			}
			parent := nameOf(ref.parent, target)
			text = m.same.of(parent)
			if ref.parent == r && text == m.same.of(own) && parent != own {
				text = ""
			}
		}
		if text == "" {
			return "", false
		}
		value += "|" + text
	}
	return value, true
}
