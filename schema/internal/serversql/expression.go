package serversql

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/internal/rules/sqltext"
)

// Expression reads an expression as the dialect's server writes it back, or as
// a person typed it into SQLite. ok is false for SQL that this language cannot
// express: compare such texts with [Same].
func Expression(d dialect.Dialect, s string) (e expression.Expr, ok bool) {
	n, ok := parse(d, s)
	if !ok {
		return e, false
	}
	e, ok = n.expr()
	if _, isConstant := e.Constant(); !ok || isConstant || e.IsInstant() {
		return expression.Expr{}, false
	}
	return e, true
}

// expr turns SQL into an expression.
func (n node) expr() (expression.Expr, bool) {
	switch n.op {
	case "column":
		return expression.Column(n.name), true
	case "constant":
		return expression.Literal(n.text), true
	case "is":
		if name, ok := n.args[0].column(); ok && n.name == "null" {
			return expression.IsNull(name), true
		}
	case "zone":
		if n.name == "UTC" {
			return n.args[0].wrap("utc")
		}
	case "extract":
		if expression.IsPart(n.name) {
			return n.args[0].wrap(n.name)
		}
	case "cast":
		return n.cast()
	case "call":
		return n.call()
	}
	return expression.Expr{}, false
}

// column returns the column when the SQL is one, with or without a cast to text.
func (n node) column() (string, bool) {
	if n.op == "cast" && isTextType(n.name) {
		return n.args[0].column()
	}
	return n.name, n.op == "column"
}

// cast turns a cast into its effect, if that is known.
func (n node) cast() (expression.Expr, bool) {
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
	c, isConstant := e.Constant()
	switch {
	case !ok:
		return expression.Expr{}, false
	case isConstant && isNumberType(n.name) && expression.IsWhole(c.Text):
		return expression.Literal(expression.Constant{Text: c.Text, Number: true}), true
	case isConstant, isTextType(n.name) && e.MayBeText(), isNumberType(n.name) && e.IsNumber():
		return e, true
	}
	return expression.Expr{}, false
}

// strftimePart is the part that SQLite's strftime takes out.
func (n node) strftimePart() (string, bool) {
	if n.op != "call" || n.name != "strftime" || len(n.args) != 2 {
		return "", false
	}
	part, ok := map[string]string{"%Y": "year", "%m": "month", "%d": "day", "%H": "hour"}[n.args[0].text.Text]
	return part, ok
}

// call turns the call of a function into one of ours.
func (n node) call() (expression.Expr, bool) {
	if part, ok := n.strftimePart(); ok {
		return n.args[1].wrap(part)
	}
	switch {
	case n.name == "date_part" && len(n.args) == 2:
		part := n.args[0]
		if part.op == "cast" {
			part = part.args[0]
		}
		if expression.IsPart(part.text.Text) {
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
	return expression.Expr{}, false
}

// plain takes a cast away.
func (n node) plain() node {
	if n.op == "cast" {
		return n.args[0].plain()
	}
	return n
}

func (n node) coalesce() (expression.Expr, bool) {
	x, ok := n.args[0].expr()
	c, okConstant := n.args[1].expr()
	constant, isConstant := c.Constant()
	if !ok || !okConstant || !isConstant || !x.Accepted("coalesce") {
		return expression.Expr{}, false
	}
	return expression.Coalesce(x, constant), true
}

// wrap makes the function of the SQL, if it is one of ours and takes it.
func (n node) wrap(name string) (expression.Expr, bool) {
	x, ok := n.expr()
	if !ok || name == "coalesce" || !x.Accepted(name) {
		return expression.Expr{}, false
	}
	return expression.Call(name, x), true
}

// Same reports whether two pieces of SQL differ in nothing but white space,
// parentheses, quotes of names, casts to text, and the case of words. It is for
// SQL that expressions cannot represent. It may report false for equal SQL, but true for
// different SQL only if the two differ in what parentheses group.
func Same(d dialect.Dialect, a, b string) bool {
	left, ok := words(d, a)
	right, okToo := words(d, b)
	return ok && okToo && slices.Equal(left, right)
}

// words are the tokens of SQL that count.
func words(d dialect.Dialect, s string) ([]sqltext.Token, bool) {
	if len(s) > maxBytes {
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
			p := &parser{tokens: tokens, next: i + 1}
			if name := p.typeName(); !p.bad && isTextType(name) {
				i = p.next - 1
				continue
			}
		case t.Kind == sqltext.Name:
			t.Kind = sqltext.Word
			t.Text = expression.Fold(d, t.Text)
		case t.Kind == sqltext.Word:
			t.Text = strings.ToLower(t.Text)
		}
		out = append(out, t)
	}
	return out, err == nil
}
