package plan

// sqlite writes the statements for SQLite, which has no way to do them while
// others write: they are to run in one transaction.
func (m *maker) sqlite(step *Step, s *shape, nullable []string) {
	if len(nullable) > 0 {
		step.Refused = refusal("make the table anew with the column NOT NULL (sqlite.org/lang_altertable.html, section 7)",
			"SQLite cannot forbid NULL in a column of a table that is there: %s.%s", s.display, nullable[0])
		return
	}
	name := s.beside(s.index)
	if old, ok := s.table.Index(s.index); ok {
		step.up("The index of this name enforces something else.", "DROP INDEX "+name)
		step.lost(old)
	}
	text := "CREATE UNIQUE INDEX " + name + " ON " + s.dialect.Quote(s.table.Name) + " (" + s.keys() + ")"
	if s.where != "" {
		text += " WHERE " + s.where
	}
	step.up("Nobody else writes while it runs.", text)
	step.Down = []Statement{{SQL: "DROP INDEX " + name}}
}
