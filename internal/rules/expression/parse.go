package expression

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/spelling"
	"github.com/semel-dev/semel/internal/rules/sqltext"
)

const (
	// MaxBytes is the longest expression.
	MaxBytes = 300
	// maxNesting bounds the nesting of functions.
	maxNesting = 8
	// MaxNameBytes is the longest name of a column, that of MySQL.
	MaxNameBytes = 64
	// MaxConstantBytes is the longest constant.
	MaxConstantBytes = 100
)

// Error says what is wrong with an expression and what to write instead.
type Error struct {
	// Text is the expression.
	Text string
	// Offset is the position of the error, in bytes.
	Offset int
	// Message describes the error, Fix the remedy.
	Message, Fix string
}

// Error writes the error as one line.
func (e *Error) Error() string {
	return fmt.Sprintf("expression %s: %s (%s)", e.Text, e.Message, e.Fix)
}

// Parse reads an expression. The error is an [*Error].
func Parse(s string) (Expr, error) {
	p := &parser{text: s}
	if len(s) > MaxBytes {
		return Expr{}, p.wrong(0, "shorten it, or store the value in a column", "it has %d bytes, more than %d", len(s), MaxBytes)
	}
	if err := p.scan(); err != nil {
		return Expr{}, err
	}
	e, err := p.expr(0)
	if err != nil {
		return Expr{}, err
	}
	if p.peek().Kind != sqltext.End {
		return Expr{}, p.trailing()
	}
	return e, checkTop(p, e)
}

// checkTop refuses an expression that says nothing about a row.
func checkTop(p *parser, e Expr) error {
	switch {
	case e.kind == constant:
		return p.wrong(0, "name a column", "a constant is the same in every row")
	case e.gives() == instant:
		return p.wrong(0, "write the column itself, or date(utc(x))", "utc(x) alone says the same as the column")
	}
	return nil
}

// parser reads the language of rules files.
type parser struct {
	text   string
	tokens []sqltext.Token
	next   int
}

func (p *parser) wrong(at int, fix, format string, args ...any) *Error {
	return &Error{Text: p.text, Offset: at, Message: fmt.Sprintf(format, args...), Fix: fix}
}

func (p *parser) peek() sqltext.Token { return p.tokens[p.next] }

func (p *parser) takeToken() sqltext.Token {
	t := p.tokens[p.next]
	if t.Kind != sqltext.End {
		p.next++
	}
	return t
}

// scan splits a text into tokens, of which the last is the end.
func scan(d dialect.Dialect, s string) ([]sqltext.Token, error) {
	tokens, err := sqltext.Scan(d, s)
	return append(tokens, sqltext.Token{Kind: sqltext.End, Start: len(s), End: len(s)}), err
}

// scan splits the text.
func (p *parser) scan() error {
	tokens, err := scan(sqltext.RulesFile, p.text)
	if err != nil {
		return p.wrong(len(p.text), "close it", "a quote is open")
	}
	p.tokens = tokens
	for _, t := range tokens {
		if err := p.checkToken(t); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) checkToken(t sqltext.Token) error {
	switch t.Kind {
	case sqltext.Word, sqltext.Name:
		if t.Text == "" || len(t.Text) > MaxNameBytes || strings.ContainsFunc(t.Text, isControl) {
			return p.wrong(t.Start, "write the name of a column of the table", "a name is empty, longer than %d bytes or holds control characters", MaxNameBytes)
		}
	case sqltext.String:
		if len(t.Text) > MaxConstantBytes || strings.ContainsFunc(t.Text, isControl) || strings.Contains(t.Text, `\`) {
			return p.wrong(t.Start, "write a short plain text", "a constant is longer than %d bytes, or holds control characters or a backslash, which databases read differently", MaxConstantBytes)
		}
	case sqltext.Number:
		if !IsWhole(t.Text) {
			return p.wrong(t.Start, "write a whole number of 64 bits without leading zeros, or a text in single quotes", "%s is not a number for an index", t.Text)
		}
	case sqltext.Symbol:
		if !strings.Contains("(),", t.Text) {
			return p.strange(t)
		}
	case sqltext.End:
	}
	return nil
}

func isControl(c rune) bool {
	return unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || c == unicode.ReplacementChar
}

// strange explains a mark that the language does not have.
func (p *parser) strange(t sqltext.Token) error {
	switch {
	case t.Text == "||":
		message, fix, _ := notHere("concat")
		return p.wrong(t.Start, fix, "|| %s", message)
	case t.Text == "::":
		message, fix, _ := notHere("cast")
		return p.wrong(t.Start, fix, "a cast %s", message)
	case t.Text == ".":
		return p.wrong(t.Start, "write the column without its table: a rule is about one table", "a name has a dot")
	case strings.Contains("+-*/%", t.Text):
		return p.wrong(t.Start, "store the value in a column, and name the column", "arithmetic differs between databases")
	}
	return p.wrong(t.Start, "use columns, constants and "+strings.Join(Functions(), ", "), "%q means nothing here", t.Text)
}

func (p *parser) trailing() error {
	t := p.peek()
	if t.Is("as") || t.Is("from") || t.Is("collate") || t.Is("at") {
		return p.wrong(t.Start, "write it for each dialect: {postgresql: …, mysql: …, sqlite: …, columns: […]}", "%q is SQL that databases read differently", t.Text)
	}
	return p.wrong(t.Start, "write one column or function; separate fields by commas in the list", "something follows where the expression ends")
}

func (p *parser) expr(depth int) (Expr, error) {
	if depth > maxNesting {
		return Expr{}, p.wrong(p.peek().Start, "store the value in a column, and name the column", "functions are nested deeper than %d", maxNesting)
	}
	t := p.takeToken()
	switch t.Kind {
	case sqltext.String:
		return Expr{kind: constant, constant: Constant{Text: t.Text}}, nil
	case sqltext.Number:
		return Expr{kind: constant, constant: Constant{Text: t.Text, Number: true}}, nil
	case sqltext.Name:
		return Column(t.Text), nil
	case sqltext.Word:
		if p.peek().Is("(") {
			return p.call(t, depth)
		}
		if meansMore(t.Text) {
			message, fix, _ := notHere(t.Text)
			if p.peek().Kind == sqltext.End {
				fix = `write "` + t.Text + `" in double quotes if it is a column; else ` + fix
			}
			return Expr{}, p.wrong(t.Start, fix, "%s %s", t.Text, message)
		}
		return Column(t.Text), nil
	case sqltext.Symbol:
		if t.Is("(") {
			return p.parenthesised(depth)
		}
	case sqltext.End:
	}
	return Expr{}, p.wrong(t.Start, "write a column, or a function of one such as lower(email)", "a column is missing")
}

// meansMore reports whether a word without quotes is not a column.
func meansMore(word string) bool {
	_, _, known := notHere(word)
	return known && (strings.HasPrefix(strings.ToLower(word), "current_") || strings.EqualFold(word, "select"))
}

func (p *parser) parenthesised(depth int) (Expr, error) {
	e, err := p.expr(depth + 1)
	if err != nil {
		return Expr{}, err
	}
	return e, p.close()
}

func (p *parser) close() error {
	if t := p.takeToken(); !t.Is(")") {
		if t.Kind == sqltext.End {
			return p.wrong(t.Start, "close it", "a parenthesis is open")
		}
		p.next--
		return p.trailing()
	}
	return nil
}

// call reads the arguments of the function that name says.
func (p *parser) call(name sqltext.Token, depth int) (Expr, error) {
	f, ok := functionNamed(strings.ToLower(name.Text))
	if !ok {
		return Expr{}, p.unknown(name)
	}
	p.takeToken()
	var args []Expr
	for !p.peek().Is(")") || len(args) > 0 {
		arg, err := p.expr(depth + 1)
		if err != nil {
			return Expr{}, err
		}
		args = append(args, arg)
		if !p.peek().Is(",") {
			break
		}
		p.takeToken()
	}
	if err := p.close(); err != nil {
		return Expr{}, err
	}
	if err := p.checkCall(name, f, args); err != nil || f.name != collated {
		return newCall(f.name, args...), err
	}
	if depth > 0 {
		return Expr{}, p.wrong(name.Start, "write collated(column) alone", "collated says how a whole field compares, so nothing goes around it")
	}
	return Collated(args[0].name), nil
}

func (p *parser) unknown(name sqltext.Token) error {
	if message, fix, known := notHere(name.Text); known {
		return p.wrong(name.Start, fix, "%s %s", name.Text, message)
	}
	fix := "use one of " + strings.Join(Functions(), ", ") + ", or write it for each dialect: {postgresql: …, mysql: …, sqlite: …, columns: […]}"
	fix = spelling.Ask(spelling.Nearest(strings.ToLower(name.Text), Functions()), fix)
	return p.wrong(name.Start, fix, "the function %q is not known", name.Text)
}

// checkCall reports arguments that the function does not take.
func (p *parser) checkCall(name sqltext.Token, f function, args []Expr) error {
	if f.name == "coalesce" {
		return p.checkCoalesce(name, args)
	}
	switch {
	case len(args) != 1:
		return p.wrong(name.Start, "write "+f.name+"(column)", "%s takes one argument, not %d", f.name, len(args))
	case args[0].kind == constant:
		return p.wrong(name.Start, "name a column", "%s of a constant is the same in every row", f.name)
	case f.takesColumn && args[0].kind != column, !f.accepts(args[0].gives()):
		return p.wrong(name.Start, "write "+f.name+" of a column", "%s cannot be taken of %s", f.name, args[0])
	}
	return nil
}

func (p *parser) checkCoalesce(name sqltext.Token, args []Expr) error {
	const fix = "write coalesce(column, 'constant')"
	if len(args) != 2 || args[0].kind == constant || args[1].kind != constant {
		return p.wrong(name.Start, fix, "coalesce takes a column and a constant")
	}
	f, _ := functionNamed("coalesce")
	got := args[0].gives()
	if !f.accepts(got) || args[0].kind == call && args[0].name == "coalesce" {
		return p.wrong(name.Start, fix, "coalesce cannot be taken of %s", args[0])
	}
	if got == text && args[1].constant.Number || got == whole && !args[1].constant.Number {
		return p.wrong(name.Start, "write a constant of the same kind", "%s is not a value that %s has", args[1], args[0])
	}
	return nil
}

func (f function) accepts(r result) bool {
	return slices.Contains(f.takes, r)
}
