package dedupe_test

import (
	"fmt"
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

// model returns the number of rows that each table is to have: it unites rows until no unique key makes two the same.
func (w *world) model() []int {
	same := classes{}
	rows := make([][]map[string]string, len(w.tables))
	name := func(r *randomTable, row map[string]string, columns []string) string {
		return r.name + "(" + strings.Join(each(columns, func(c string) string { return row[c] }), ",") + ")"
	}
	for i, r := range w.tables {
		columns := []string{"tenant", "id", "k", "pos", "label"}
		for _, ref := range r.refs {
			for _, c := range ref.cols {
				if !slices.Contains(columns, c) {
					columns = append(columns, c)
				}
			}
		}
		rows[i] = w.rowsOf(r, columns)
	}
	for changed := true; changed; {
		changed = false
		for i, r := range w.tables {
			keys := slices.Clone(r.unique)
			if r.pk[0] == "r0" {
				keys = append(keys, r.pk)
			}
			if i == 0 {
				keys = append(keys, []string{"k"})
			}
			for n, key := range keys {
				seen := map[string]string{}
				for _, row := range rows[i] {
					own := name(r, row, r.pk)
					value, ok := w.future(r, row, own, key, same, name)
					if !ok {
						continue
					}
					value = fmt.Sprint(n, value)
					if other := seen[value]; other != "" {
						changed = same.unite(own, other) || changed
					} else {
						seen[value] = own
					}
				}
			}
		}
	}
	counts := make([]int, len(w.tables))
	for i, r := range w.tables {
		roots := map[string]bool{}
		for _, row := range rows[i] {
			roots[same.of(name(r, row, r.pk))] = true
		}
		counts[i] = len(roots)
	}
	return counts
}

// future is the value of a key when all references are moved; it is not one where a column is NULL.
func (w *world) future(r *randomTable, row map[string]string, own string, key []string, same classes, name func(*randomTable, map[string]string, []string) string) (string, bool) {
	value := ""
	for _, column := range key {
		text := row[column]
		for _, ref := range r.refs {
			if ref.cols[len(ref.cols)-1] != column && (column != "r0" || ref.cols[0] != "r0a") || text == "" {
				continue
			}
			target := map[string]string{}
			for i, c := range ref.parent.pk {
				target[c] = row[ref.cols[i]]
			}
			parent := name(ref.parent, target, ref.parent.pk)
			text = same.of(parent)
			if ref.parent == r && text == same.of(own) && parent != own {
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
