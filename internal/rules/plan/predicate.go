package plan

import (
	"github.com/semel-dev/semel/internal/rules/catalog"
	"github.com/semel-dev/semel/internal/rules/expression"
)

// columnTypes tells the language of expressions what the columns are.
func columnTypes(t *catalog.Table) expression.ColumnTypes {
	types := make(expression.ColumnTypes, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		types[c.Name] = expression.ColumnType{Type: c.Type, NotNull: !c.Nullable}
	}
	return types
}

// setPredicate works out which rows count: those for which no exception holds.
func (s *shape) setPredicate() *Refusal {
	for _, exception := range s.rule.Except {
		if _, refused := findColumn(s.table, exception.Counts.Column); refused != nil {
			return refused
		}
	}
	s.predicate = s.rule.Predicate()
	where, err := s.predicate.Render(s.dialect, s.types)
	if err != nil {
		return unsayable(err)
	}
	s.where = where
	return nil
}
