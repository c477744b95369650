package expression

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/semel-dev/semel/internal/rules/spelling"
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
	if p.peek().kind != tokenEnd {
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

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenQuoted // a quoted name
	tokenText   // a constant
	tokenNumber
	tokenMark
)

type token struct {
	kind tokenKind
	text string // without quotes
	at   int
}

// is reports whether the token is this mark, or this word in whatever case.
func (t token) is(text string) bool {
	return (t.kind == tokenMark || t.kind == tokenWord) && strings.EqualFold(t.text, text)
}

// parser reads the language of rules files.
type parser struct {
	text   string
	tokens []token
	next   int
}

func (p *parser) wrong(at int, fix, format string, args ...any) *Error {
	return &Error{Text: p.text, Offset: at, Message: fmt.Sprintf(format, args...), Fix: fix}
}

func (p *parser) peek() token { return p.tokens[p.next] }

func (p *parser) take() token {
	t := p.tokens[p.next]
	if t.kind != tokenEnd {
		p.next++
	}
	return t
}

// scan splits the text; the last token is the end.
func (p *parser) scan() error {
	tokens, at, ok := scan(p.text, rulesFile)
	if !ok {
		return p.wrong(at, "close it", "a quote is open")
	}
	p.tokens = tokens
	for _, t := range tokens {
		if err := p.checkToken(t); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) checkToken(t token) error {
	switch t.kind {
	case tokenWord, tokenQuoted:
		if t.text == "" || len(t.text) > MaxNameBytes || strings.ContainsFunc(t.text, isControl) {
			return p.wrong(t.at, "write the name of a column of the table", "a name is empty, longer than %d bytes or holds control characters", MaxNameBytes)
		}
	case tokenText:
		if len(t.text) > MaxConstantBytes || strings.ContainsFunc(t.text, isControl) || strings.Contains(t.text, `\`) {
			return p.wrong(t.at, "write a short plain text", "a constant is longer than %d bytes, or holds control characters or a backslash, which databases read differently", MaxConstantBytes)
		}
	case tokenNumber:
		if !isWhole(t.text) {
			return p.wrong(t.at, "write a whole number of 64 bits without leading zeros, or a text in single quotes", "%s is not a number for an index", t.text)
		}
	case tokenMark:
		if !strings.Contains("(),", t.text) {
			return p.strange(t)
		}
	case tokenEnd:
	}
	return nil
}

func isControl(c rune) bool {
	return unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || c == unicode.ReplacementChar
}

// strange explains a mark that the language does not have.
func (p *parser) strange(t token) error {
	switch {
	case t.text == "||":
		message, fix, _ := notHere("concat")
		return p.wrong(t.at, fix, "|| %s", message)
	case t.text == "::":
		message, fix, _ := notHere("cast")
		return p.wrong(t.at, fix, "a cast %s", message)
	case t.text == ".":
		return p.wrong(t.at, "write the column without its table: a rule is about one table", "a name has a dot")
	case strings.Contains("+-*/%", t.text):
		return p.wrong(t.at, "store the value in a column, and name the column", "arithmetic differs between databases")
	}
	return p.wrong(t.at, "use columns, constants and "+strings.Join(Functions(), ", "), "%q means nothing here", t.text)
}

func (p *parser) trailing() error {
	t := p.peek()
	if t.is("as") || t.is("from") || t.is("collate") || t.is("at") {
		return p.wrong(t.at, "write it for each dialect: {postgresql: …, mysql: …, sqlite: …, columns: […]}", "%q is SQL that databases read differently", t.text)
	}
	return p.wrong(t.at, "write one column or function; separate fields by commas in the list", "something follows where the expression ends")
}

func (p *parser) expr(depth int) (Expr, error) {
	if depth > maxNesting {
		return Expr{}, p.wrong(p.peek().at, "store the value in a column, and name the column", "functions are nested deeper than %d", maxNesting)
	}
	t := p.take()
	switch t.kind {
	case tokenText:
		return Expr{kind: constant, constant: Constant{Text: t.text}}, nil
	case tokenNumber:
		return Expr{kind: constant, constant: Constant{Text: t.text, Number: true}}, nil
	case tokenQuoted:
		return Column(t.text), nil
	case tokenWord:
		if p.peek().is("(") {
			return p.call(t, depth)
		}
		if meansMore(t.text) {
			message, fix, _ := notHere(t.text)
			if p.peek().kind == tokenEnd {
				fix = `write "` + t.text + `" in double quotes if it is a column; else ` + fix
			}
			return Expr{}, p.wrong(t.at, fix, "%s %s", t.text, message)
		}
		return Column(t.text), nil
	case tokenMark:
		if t.is("(") {
			return p.parenthesised(depth)
		}
	case tokenEnd:
	}
	return Expr{}, p.wrong(t.at, "write a column, or a function of one such as lower(email)", "a column is missing")
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
	if t := p.take(); !t.is(")") {
		if t.kind == tokenEnd {
			return p.wrong(t.at, "close it", "a parenthesis is open")
		}
		p.next--
		return p.trailing()
	}
	return nil
}

// call reads the arguments of the function that name says.
func (p *parser) call(name token, depth int) (Expr, error) {
	f, ok := functionNamed(strings.ToLower(name.text))
	if !ok {
		return Expr{}, p.unknown(name)
	}
	p.take()
	var args []Expr
	for !p.peek().is(")") || len(args) > 0 {
		arg, err := p.expr(depth + 1)
		if err != nil {
			return Expr{}, err
		}
		args = append(args, arg)
		if !p.peek().is(",") {
			break
		}
		p.take()
	}
	if err := p.close(); err != nil {
		return Expr{}, err
	}
	e := newCall(f.name, args...)
	return e, p.checkCall(name, f, args)
}

func (p *parser) unknown(name token) error {
	if message, fix, known := notHere(name.text); known {
		return p.wrong(name.at, fix, "%s %s", name.text, message)
	}
	fix := "use one of " + strings.Join(Functions(), ", ") + ", or write it for each dialect: {postgresql: …, mysql: …, sqlite: …, columns: […]}"
	if near := spelling.Nearest(strings.ToLower(name.text), Functions()); near != "" {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	return p.wrong(name.at, fix, "the function %q is not known", name.text)
}

// checkCall reports arguments that the function does not take.
func (p *parser) checkCall(name token, f function, args []Expr) error {
	if f.name == "coalesce" {
		return p.checkCoalesce(name, args)
	}
	switch {
	case len(args) != 1:
		return p.wrong(name.at, "write "+f.name+"(column)", "%s takes one argument, not %d", f.name, len(args))
	case args[0].kind == constant:
		return p.wrong(name.at, "name a column", "%s of a constant is the same in every row", f.name)
	case f.takesColumn && args[0].kind != column, !f.accepts(args[0].gives()):
		return p.wrong(name.at, "write "+f.name+" of a column", "%s cannot be taken of %s", f.name, args[0])
	}
	return nil
}

func (p *parser) checkCoalesce(name token, args []Expr) error {
	const fix = "write coalesce(column, 'constant')"
	if len(args) != 2 || args[0].kind == constant || args[1].kind != constant {
		return p.wrong(name.at, fix, "coalesce takes a column and a constant")
	}
	f, _ := functionNamed("coalesce")
	got := args[0].gives()
	if !f.accepts(got) || args[0].kind == call && args[0].name == "coalesce" {
		return p.wrong(name.at, fix, "coalesce cannot be taken of %s", args[0])
	}
	if got == text && args[1].constant.Number || got == whole && !args[1].constant.Number {
		return p.wrong(name.at, "write a constant of the same kind", "%s is not a value that %s has", args[1], args[0])
	}
	return nil
}

func (f function) accepts(r result) bool {
	return slices.Contains(f.takes, r)
}
