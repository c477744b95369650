package expression

import (
	"errors"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/sqltext"
)

// CheckSQL reports why a piece of SQL cannot be the expression of an index, as
// far as the text shows: part of it gives another value every time, or it is not
// a single expression. The error is an [*Error].
func CheckSQL(d dialect.Dialect, s string) error {
	p := &parser{text: s}
	if len(s) > MaxBytes {
		return p.wrong(0, "store the value in a column, and name the column", "it has %d bytes, more than %d", len(s), MaxBytes)
	}
	tokens, err := scan(d, s)
	if wrong, ok := errors.AsType[*sqltext.Error](err); ok && !strings.Contains(wrong.What, "comment") {
		return p.wrong(len(s), "close it", "a quote is open")
	}
	open, end := 0, 0
	for i, t := range tokens {
		comment := strings.TrimSpace(s[end:t.Start]) != ""
		end = t.End
		switch {
		case comment:
			return p.wrong(t.Start, "write the expression alone", "it holds the end of a statement or a comment")
		case t.Is("("):
			open++
		case t.Is(")"):
			open--
		case t.Is(";"), strings.HasPrefix(s[t.Start:], "--"), t.Is("#"):
			return p.wrong(t.Start, "write the expression alone", "it holds the end of a statement or a comment")
		case t.Kind == sqltext.Word:
			if err := p.checkWord(t, tokens[i+1]); err != nil {
				return err
			}
		}
		if open < 0 || strings.ContainsFunc(t.Text, isControl) {
			return p.wrong(t.Start, "write the expression alone, on one line", "parentheses do not match, or it holds control characters")
		}
	}
	if open > 0 {
		return p.wrong(len(s), "close it", "a parenthesis is open")
	}
	return nil
}

// checkWord reports a word of SQL that no database can index, whatever
// surrounds it.
func (p *parser) checkWord(t, next sqltext.Token) error {
	message, fix, known := notHere(t.Text)
	isCall := next.Is("(") || strings.HasPrefix(strings.ToLower(t.Text), "current_")
	if known && (isCall && strings.Contains(message, "index") || t.Is("select")) {
		return p.wrong(t.Start, fix, "%s %s", t.Text, message)
	}
	return nil
}
