package plan

import (
	"strings"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

func (s *RuleStep) up(comment, text string) {
	s.Up = append(s.Up, Statement{Comment: comment, SQL: text})
}

func (s *RuleStep) session(comment, text string) {
	s.Up = append(s.Up, Statement{Comment: comment, SQL: text, Session: true})
}

// lost says in the undo that it does not bring back the index that the plan
// replaces.
func (s *RuleStep) lost(old *catalog.Index) {
	text := "an index on ("
	if old.Unique {
		text = "a unique index on ("
	}
	text += strings.Join(texts.Of(old.Parts, func(p catalog.Part) string { return p.Column + p.Expression }), ", ") + ")"
	if old.Where != "" {
		text += " where " + old.Where
	}
	s.Notes = append(s.Notes, "The undo does not bring back the index "+old.Name+" as it was: "+text+".")
}
