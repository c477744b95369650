package plan

import (
	"strings"

	"github.com/semel-dev/semel/internal/rules/catalog"
)

func (s *Step) up(comment, text string) {
	s.Up = append(s.Up, Statement{Comment: comment, SQL: text})
}

func (s *Step) session(comment, text string) {
	s.Up = append(s.Up, Statement{Comment: comment, SQL: text, Session: true})
}

// lost says in the undo that it does not bring back the index that the plan
// replaces.
func (s *Step) lost(old *catalog.Index) {
	parts := make([]string, len(old.Parts))
	for i, p := range old.Parts {
		parts[i] = p.Column + p.Expression
	}
	text := "an index on (" + strings.Join(parts, ", ") + ")"
	if old.Unique {
		text = "a unique index on (" + strings.Join(parts, ", ") + ")"
	}
	if old.Where != "" {
		text += " where " + old.Where
	}
	s.Notes = append(s.Notes, "The undo does not bring back the index "+old.Name+" as it was: "+text+".")
}
