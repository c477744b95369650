package dedupe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/schema/catalog"
)

// fills gives each table the policies of its columns.
func (v *surveyor) fills() error {
	policies, err := v.site.request.policies()
	if err != nil {
		return err
	}
	for _, p := range policies {
		t, err := v.merged(p.table, "column")
		if err != nil {
			return err
		}
		c, ok := t.catalog.Column(p.column)
		switch {
		case !ok:
			return fmt.Errorf("column: %w", t.catalog.NoColumn(p.column))
		case c.Generated != "":
			return fmt.Errorf("column: %s of %s is generated", p.column, t.name)
		case p.kind == askPolicy && t != v.site.tables[0]:
			return fmt.Errorf("column: %s of %s: ask is for columns of %s, because which other rows become the same shows during the run", p.column, t.name, v.site.tables[0].name)
		case slices.Contains(t.changing(), c.Name):
			return fmt.Errorf("column: %s of %s is a key or a reference, which no policy changes", p.column, t.name)
		}
		if x := taken(t, c.Name); x != "" {
			return fmt.Errorf("column: %s of %s is in the unique index %s, which counts merged rows, so that a winner cannot take it over (delete losers, or let the index leave out merged rows)", p.column, t.name, x)
		}
		p.table, p.column = t.name, c.Name
		t.fills = append(t.fills, p)
		v.site.policies = append(v.site.policies, p)
	}
	return nil
}

// taken returns the unique index in which the mark of a loser keeps its value from the winner.
func taken(t *table, column string) string {
	if !t.marks {
		return ""
	}
	for i := range t.catalog.Indexes {
		x := &t.catalog.Indexes[i]
		if x.Unique && !strings.Contains(x.Where, mergedInto) && !slices.ContainsFunc(x.Parts, func(p catalog.Part) bool { return strings.Contains(t.column(p.Column).Generated, mergedInto) }) && slices.ContainsFunc(x.Parts, func(p catalog.Part) bool {
			return p.Column == column || strings.Contains(p.Expression, column)
		}) {
			return x.Name
		}
	}
	return ""
}

// merged returns a table of which rows can be merged.
func (v *surveyor) merged(name, what string) (*table, error) {
	c, err := v.find(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	t := v.byName[fullName(c)]
	if t != nil && !t.deep && t.crowds() {
		return nil, fmt.Errorf("%s: no rows of %s are merged by this plan (%s)", what, t.name, t.yieldHint())
	}
	if t == nil || !t.deep {
		return nil, fmt.Errorf("%s: no rows of %s are merged by this plan", what, fullName(c))
	}
	return t, nil
}

// checks gives each table what must not change.
func (v *surveyor) checks() error {
	for _, text := range v.site.request.Checks {
		name, column := text, ""
		if _, ok := v.schema.Table(text); !ok {
			if dot := strings.LastIndexByte(text, '.'); dot >= 0 {
				name, column = text[:dot], text[dot+1:]
			}
		}
		c, err := v.find(name)
		if err != nil {
			return fmt.Errorf("check %s: %w", text, err)
		}
		t := v.byName[fullName(c)]
		if t == nil {
			return fmt.Errorf("check %s: the plan does not touch %s", text, fullName(c))
		}
		if column != "" {
			found, ok := c.Column(column)
			if !ok {
				return fmt.Errorf("check %s: %w", text, c.NoColumn(column))
			}
			column = found.Name
		}
		t.checks = append(t.checks, column)
	}
	return nil
}

// describe returns the site as lines, which a run compares with those of its plan.
func (s *site) describe() []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, t := range s.tables {
		add("table %s, identified by %s, merged rows are marked: %t", t.name, strings.Join(t.id, ", "), t.marks)
		for _, c := range t.catalog.Columns {
			add("column %s.%s %s, NULL %t, generated %q", t.name, c.Name, c.Type, c.Nullable, c.Generated)
		}
		for _, k := range t.keys {
			add("key %s of %s (%s) where %q, NULL equals NULL: %t, over a reference alone: %t", k.name, t.name, strings.Join(k.parts, ", "), k.where, k.nullsSame, k.alone)
		}
	}
	for _, e := range s.edges {
		add("reference %s of %s (%s) to %s (%s) where %q", e.name, e.child.name, strings.Join(e.cols, ", "), e.parent.name, strings.Join(e.refs, ", "), e.where)
	}
	for _, t := range s.triggers {
		add("%s", t)
	}
	slices.Sort(lines)
	return lines
}

// drift returns the first difference between two descriptions, or "".
func drift(planned, now []string) string {
	for _, line := range now {
		if !slices.Contains(planned, line) {
			return "new: " + line
		}
	}
	for _, line := range planned {
		if !slices.Contains(now, line) {
			return "gone: " + line
		}
	}
	return ""
}
