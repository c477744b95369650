package expression

import (
	"errors"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/sqltext"
)

// FromCatalog reads an expression as the dialect's server writes it back, or as
// a person typed it into SQLite. ok is false for SQL that this language cannot
// express: compare such texts with [SameSQL].
func FromCatalog(d dialect.Dialect, s string) (e Expr, ok bool) {
	n, ok := readSQL(d, s)
	if !ok {
		return Expr{}, false
	}
	e, ok = n.expr()
	if !ok || e.kind == constant || e.gives() == instant {
		return Expr{}, false
	}
	return e, true
}

// expr turns SQL into an expression.
func (n node) expr() (Expr, bool) {
	switch n.op {
	case "column":
		return Column(n.name), true
	case "constant":
		return Expr{kind: constant, constant: n.text}, true
	case "is":
		if name, ok := n.args[0].column(); ok && n.name == "null" {
			return IsNull(name), true
		}
	case "zone":
		if n.name == "UTC" {
			return n.args[0].wrap("utc")
		}
	case "extract":
		if isPart(n.name) {
			return n.args[0].wrap(n.name)
		}
	case "cast":
		return n.cast()
	case "call":
		return n.call()
	}
	return Expr{}, false
}

// column returns the column when the SQL is one, with or without a cast to text.
func (n node) column() (string, bool) {
	if n.op == "cast" && isTextType(n.name) {
		return n.args[0].column()
	}
	return n.name, n.op == "column"
}

// cast turns a cast into its effect, if that is known.
func (n node) cast() (Expr, bool) {
	x := n.args[0]
	if part, ok := x.strftimePart(); ok && isNumberType(n.name) {
		return x.args[1].wrap(part)
	}
	if n.name == "date" {
		if x.op == "constant" || x.op == "cast" && x.args[0].op == "constant" {
			return x.expr()
		}
		return x.wrap("date")
	}
	e, ok := x.expr()
	switch {
	case !ok:
		return Expr{}, false
	case e.kind == constant && isNumberType(n.name) && isWhole(e.constant.Text):
		e.constant.Number = true
		return e, true
	case e.kind == constant, isTextType(n.name) && e.gives() <= text, isNumberType(n.name) && e.gives() == whole:
		return e, true
	}
	return Expr{}, false
}

// strftimePart is the part that SQLite's strftime takes out.
func (n node) strftimePart() (string, bool) {
	if n.op != "call" || n.name != "strftime" || len(n.args) != 2 {
		return "", false
	}
	for _, part := range []string{"year", "month", "day", "hour"} {
		if n.args[0].text.Text == strftime(part) {
			return part, true
		}
	}
	return "", false
}

// call turns the call of a function into one of ours.
func (n node) call() (Expr, bool) {
	if part, ok := n.strftimePart(); ok {
		return n.args[1].wrap(part)
	}
	switch {
	case n.name == "date_part" && len(n.args) == 2:
		part := n.args[0]
		if part.op == "cast" {
			part = part.args[0]
		}
		if isPart(part.text.Text) {
			return n.args[1].wrap(part.text.Text)
		}
	case n.name == "timezone" && len(n.args) == 2:
		return node{op: "zone", name: n.args[0].plain().text.Text, args: n.args[1:]}.expr()
	case (n.name == "coalesce" || n.name == "ifnull") && len(n.args) == 2:
		return n.coalesce()
	case len(n.args) == 1:
		name := n.name
		if ours, ok := map[string]string{"lcase": "lower", "ucase": "upper", "btrim": "trim", "dayofmonth": "day", "isnull": "is_null"}[name]; ok {
			name = ours
		}
		return n.args[0].wrap(name)
	}
	return Expr{}, false
}

// plain takes a cast away.
func (n node) plain() node {
	if n.op == "cast" {
		return n.args[0].plain()
	}
	return n
}

func (n node) coalesce() (Expr, bool) {
	x, ok := n.args[0].expr()
	c, okConstant := n.args[1].expr()
	f, _ := functionNamed("coalesce")
	if !ok || !okConstant || x.kind == constant || c.kind != constant || !f.accepts(x.gives()) {
		return Expr{}, false
	}
	return Coalesce(x, c.constant), true
}

// wrap makes the function of the SQL, if it is one of ours and takes it.
func (n node) wrap(name string) (Expr, bool) {
	x, ok := n.expr()
	f, known := functionNamed(name)
	if !ok || !known || name == "coalesce" || x.kind == constant || f.takesColumn && x.kind != column || !f.accepts(x.gives()) {
		return Expr{}, false
	}
	return newCall(name, x), true
}

// SameSQL reports whether two pieces of SQL differ in nothing but white space,
// parentheses, quotes of names, casts to text, and the case of words. It is for
// SQL that this language cannot express. It may call the same different, but
// never the different same, unless they differ in what parentheses group.
func SameSQL(d dialect.Dialect, a, b string) bool {
	left, ok := words(d, a)
	right, okToo := words(d, b)
	return ok && okToo && slices.Equal(left, right)
}

// words are the tokens of SQL that count.
func words(d dialect.Dialect, s string) ([]sqltext.Token, bool) {
	if len(s) > maxSQLBytes {
		return nil, false
	}
	tokens, err := scan(d, s)
	var out []sqltext.Token
	for i := 0; i < len(tokens); i++ {
		t := sqltext.Token{Kind: tokens[i].Kind, Text: tokens[i].Text}
		switch {
		case t.Is("("), t.Is(")"):
			continue
		case t.Is("::"):
			p := &sqlParser{tokens: tokens, next: i + 1}
			if name := p.typeName(); !p.bad && isTextType(name) {
				i = p.next - 1
				continue
			}
		case t.Kind == sqltext.Name:
			t.Kind = sqltext.Word
			t.Text = fold(d, t.Text)
		case t.Kind == sqltext.Word:
			t.Text = fold(dialect.SQLite, t.Text)
		}
		out = append(out, t)
	}
	return out, err == nil
}

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
