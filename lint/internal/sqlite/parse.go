package sqlite

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sqlc-dev/meyer/parser"

	"github.com/semel-dev/semel/internal/lint/tree"
)

var errIncomplete = errors.New("a NUL ends the expression")

// Parse splits a text into statements and translates each. It never fails: a statement that
// cannot be read is a [tree.Opaque] with the reason.
func Parse(text string) []tree.Parsed {
	text = expandMacros(text)
	var all []tree.Parsed
	for _, p := range split(text) {
		parsed := tree.Parsed{Start: p.start, End: p.end}
		if p.why != "" {
			parsed.Statement = &tree.Opaque{Why: p.why}
		} else {
			parsed.Statement = statement(text[p.start:p.end])
		}
		all = append(all, parsed)
	}
	return all
}

// Expression translates one expression, as the schema of a database keeps it.
func Expression(text string) (e tree.Expr, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, err = nil, fmt.Errorf("read expression: %v", r)
		}
	}()
	if strings.IndexByte(text, 0) >= 0 {
		return nil, errIncomplete // the parser would leave out what follows
	}
	parsed, err := parser.ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("read expression: %w", err)
	}
	t := &translator{}
	e = t.expr(parsed)
	if t.why != "" {
		return nil, errors.New(t.why)
	}
	return e, nil
}

func statement(text string) (s tree.Statement) {
	defer func() {
		if r := recover(); r != nil {
			s = &tree.Opaque{Why: fmt.Sprintf("the parser panicked: %v", r)}
		}
	}()
	parsed, err := parser.Options{UpdateDeleteLimit: true}.ParseStatement(text)
	if err != nil {
		return &tree.Opaque{Why: "syntax error: " + strings.TrimSuffix(err.Error(), ": syntax error")}
	}
	return translate(parsed)
}
