package expression

import "github.com/semel-dev/semel/internal/rules/sqltext"

// ParseException reads which rows do not count, as a rules file says it, and
// returns the condition of those that do:
//
//	deleted_at is set       archived is true       status = 'cancelled'
//	published_at is null    active is false        kind = 3
//
// The error is an [*Error].
func ParseException(s string) (Condition, error) {
	const fix = "write: column is set, column is null, column is true, column is false, or column = 'value'"
	p := &parser{text: s}
	if len(s) > MaxBytes {
		return Condition{}, p.wrong(0, fix, "it has %d bytes, more than %d", len(s), MaxBytes)
	}
	tokens, err := scan(sqltext.RulesFile, s)
	if err != nil {
		return Condition{}, p.wrong(len(s), "close it", "a quote is open")
	}
	p.tokens = tokens
	for _, t := range tokens {
		if t.Kind == sqltext.Symbol && t.Text != "=" {
			return Condition{}, p.unexcepted(t, fix)
		}
		if t.Kind != sqltext.Symbol {
			if err := p.checkToken(t); err != nil {
				return Condition{}, err
			}
		}
	}
	name := p.takeToken()
	if name.Kind != sqltext.Word && name.Kind != sqltext.Name {
		return Condition{}, p.wrong(name.Start, fix, "a column is missing")
	}
	c, err := p.exception(Condition{Column: name.Text}, fix)
	if err != nil {
		return Condition{}, err
	}
	if t := p.peek(); t.Kind != sqltext.End {
		return Condition{}, p.unexcepted(t, fix)
	}
	return c, nil
}

// exception reads what follows the column.
func (p *parser) exception(c Condition, fix string) (Condition, error) {
	operator := p.takeToken()
	if operator.Is("=") {
		value := p.takeToken()
		if value.Kind != sqltext.String && value.Kind != sqltext.Number {
			return c, p.wrong(value.Start, "write a text in single quotes or a whole number", "the value to compare %s with is missing", c.Column)
		}
		c.Test, c.Value = Differs, Constant{Text: value.Text, Number: value.Kind == sqltext.Number}
		return c, nil
	}
	if !operator.Is("is") {
		return c, p.unexcepted(operator, fix)
	}
	switch word := p.takeToken(); {
	case word.Is("set"):
		c.Test = Null
	case word.Is("null"):
		c.Test = NotNull
	case word.Is("true"):
		c.Test = NotTrue
	case word.Is("false"):
		c.Test = NotFalse
	case word.Is("not"):
		return c, p.wrong(word.Start, "write is set for is not null, is null for is not set, is false for is not true", "exceptions have no not")
	default:
		return c, p.unexcepted(word, fix)
	}
	return c, nil
}

// unexcepted explains syntax that exceptions do not have.
func (p *parser) unexcepted(t sqltext.Token, fix string) error {
	switch {
	case t.Kind == sqltext.End:
		return p.wrong(t.Start, fix, "it says nothing about the column")
	case t.Is("and"), t.Is("or"):
		return p.wrong(t.Start, "write one exception for each; a row does not count when one of them holds", "exceptions have no %s", t.Text)
	case t.Is("("), t.Is(")"):
		return p.wrong(t.Start, "store the value in a column, and name the column", "exceptions look at a column, not at an expression")
	}
	return p.wrong(t.Start, fix, "%q means nothing in an exception", t.Text)
}
