package plan

import "strings"

// sqlite writes the statements for SQLite, which has no way to do them while
// others write: they are to run in one transaction.
func (m *maker) sqlite(step *RuleStep, s *shape, nullable []string) {
	if len(nullable) > 0 {
		step.Refused = refusal("make the table anew with the column NOT NULL (sqlite.org/lang_altertable.html, section 7)",
			"SQLite cannot forbid NULL in a column of a table that is there: %s.%s", s.display, nullable[0])
		return
	}
	if strings.HasPrefix(strings.ToLower(s.index), "sqlite_") {
		step.Refused = refusal("write another index: into the rule; the constraint goes when the table is made anew without it (sqlite.org/lang_altertable.html, section 7)",
			"%s belongs to a constraint of %s, and SQLite neither drops nor makes indexes of such a name", s.index, s.display)
		return
	}
	name := s.sibling(s.index)
	if old, ok := s.table.Index(s.index); ok {
		step.up("The index of this name enforces something else.", "DROP INDEX "+name)
		step.lost(old)
	}
	text := "CREATE " + s.kind() + " " + name + " ON " + s.dialect.Quote(s.table.Name) + " (" + s.keys() + ")"
	if s.where != "" {
		text += " WHERE " + s.where
	}
	step.up("No other connection writes while it runs.", text)
	step.Down = []Statement{{SQL: "DROP INDEX " + name}}
}
