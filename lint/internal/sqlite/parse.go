package sqlite

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/meyer/parser"

	"github.com/semel-dev/semel/lint/internal/tree"
)

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
