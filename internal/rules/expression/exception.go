package expression

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
	tokens, at, ok := scan(s, rulesFile)
	if !ok {
		return Condition{}, p.wrong(at, "close it", "a quote is open")
	}
	p.tokens = tokens
	for _, t := range tokens {
		if t.kind == tokenMark && t.text != "=" {
			return Condition{}, p.unexcepted(t, fix)
		}
		if t.kind != tokenMark {
			if err := p.checkToken(t); err != nil {
				return Condition{}, err
			}
		}
	}
	name := p.take()
	if name.kind != tokenWord && name.kind != tokenQuoted {
		return Condition{}, p.wrong(name.at, fix, "a column is missing")
	}
	c, err := p.exception(Condition{Column: name.text}, fix)
	if err != nil {
		return Condition{}, err
	}
	if t := p.peek(); t.kind != tokenEnd {
		return Condition{}, p.unexcepted(t, fix)
	}
	return c, nil
}

// exception reads what follows the column.
func (p *parser) exception(c Condition, fix string) (Condition, error) {
	operator := p.take()
	if operator.is("=") {
		value := p.take()
		if value.kind != tokenText && value.kind != tokenNumber {
			return c, p.wrong(value.at, "write a text in single quotes or a whole number", "the value to compare %s with is missing", c.Column)
		}
		c.Test, c.Value = Differs, Constant{Text: value.text, Number: value.kind == tokenNumber}
		return c, nil
	}
	if !operator.is("is") {
		return c, p.unexcepted(operator, fix)
	}
	switch word := p.take(); {
	case word.is("set"):
		c.Test = Null
	case word.is("null"):
		c.Test = NotNull
	case word.is("true"):
		c.Test = NotTrue
	case word.is("false"):
		c.Test = NotFalse
	case word.is("not"):
		return c, p.wrong(word.at, "write is set for is not null, is null for is not set, is false for is not true", "exceptions have no not")
	default:
		return c, p.unexcepted(word, fix)
	}
	return c, nil
}

// unexcepted explains syntax that exceptions do not have.
func (p *parser) unexcepted(t token, fix string) error {
	switch {
	case t.kind == tokenEnd:
		return p.wrong(t.at, fix, "it says nothing about the column")
	case t.is("and"), t.is("or"):
		return p.wrong(t.at, "write one exception for each; a row does not count when one of them holds", "exceptions have no %s", t.text)
	case t.is("("), t.is(")"):
		return p.wrong(t.at, "store the value in a column, and name the column", "exceptions look at a column, not at an expression")
	}
	return p.wrong(t.at, fix, "%q means nothing in an exception", t.text)
}
