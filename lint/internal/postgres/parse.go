package postgres

import (
	"errors"
	"fmt"
	"strings"

	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// maxStatementBytes bounds the text of a statement that is parsed, and with it the depth of the recursion.
const maxStatementBytes = 1 << 20

// Parse splits a text into statements and translates each. It never fails: a statement that
// cannot be parsed is a [tree.Opaque] with the reason.
func Parse(text string) []tree.Parsed {
	return parseAll(text, inClient)
}

// executor says who executes a text.
type executor uint8

const (
	inClient   executor = iota
	inFunction          // placeholders are $n alone
	inTrigger           // likewise, and old and new are rows
)

// parseAll translates all statements of a text.
func parseAll(text string, in executor) []tree.Parsed {
	var all []tree.Parsed
	for _, c := range split(text) {
		all = append(all, parseChunk(text, c, in)...)
	}
	return all
}

// parseChunk translates one statement, and those within it if it was joined from several by mistake.
func parseChunk(text string, c chunk, in executor) []tree.Parsed {
	statement, err := parseOne(text[c.start:c.end], c.shifted(), in)
	if err == nil {
		return []tree.Parsed{{Start: c.start, End: c.end, Statement: statement}}
	}
	if parts := c.parts(); len(parts) > 1 {
		var all []tree.Parsed
		for _, part := range parts {
			all = append(all, parseChunk(text, part, in)...)
		}
		return all
	}
	return []tree.Parsed{{Start: c.start, End: c.end, Statement: &tree.Opaque{Why: err.Error()}}}
}

// parseOne translates the text of one statement.
func parseOne(text string, tokens []token, in executor) (statement tree.Statement, err error) {
	defer func() {
		if r := recover(); r != nil {
			statement, err = nil, fmt.Errorf("cannot be translated: %v", r)
		}
	}()
	if len(text) > maxStatementBytes {
		return nil, fmt.Errorf("the statement is longer than the %d KiB that are read of one", maxStatementBytes>>10)
	}
	if strings.ContainsRune(text, 0) {
		return nil, errors.New("syntax error: holds a zero byte")
	}
	if parentheses(tokens) > maxParentheses {
		return nil, errors.New("nested too deeply")
	}
	if ambiguous(text, tokens) {
		return nil, errors.New("a string ends elsewhere without standard_conforming_strings")
	}
	rewritten, params := text, map[int]string(nil)
	if in == inClient {
		rewritten, params = rewrite(text, tokens)
	}
	result, err := pg.Parse(rewritten)
	if err != nil {
		return nil, errors.New("syntax error: " + strings.TrimPrefix(err.Error(), "syntax error "))
	}
	if len(result.GetStmts()) != 1 {
		return nil, fmt.Errorf("syntax error: %d statements", len(result.GetStmts()))
	}
	node := result.GetStmts()[0].GetStmt()
	names, err := survey(node)
	if err != nil {
		return nil, err
	}
	t := &translator{source: text, params: params, scope: names}
	if in == inTrigger {
		t.scope.rows()
	}
	return t.statement(node), nil
}

// ambiguous reports whether a string without E has a backslash before a quote: without
// standard_conforming_strings the string does not end there.
func ambiguous(text string, tokens []token) bool {
	for _, t := range tokens {
		if t.kind == pg.Token_SCONST && text[t.start] == '\'' && strings.Contains(text[t.start:t.end], `\'`) {
			return true
		}
	}
	return false
}

// maxParentheses bounds their nesting: the parser takes the square of it in time.
const maxParentheses = 1_000

// parentheses returns how deeply they are nested.
func parentheses(tokens []token) (deepest int) {
	depth := 0
	for _, t := range tokens {
		switch t.kind { //nolint:exhaustive // the others do not matter
		case pg.Token_ASCII_40, pg.Token_ASCII_91:
			depth++
		case pg.Token_ASCII_41, pg.Token_ASCII_93:
			depth--
		default:
		}
		deepest = max(deepest, depth)
	}
	return deepest
}

// Expression translates one expression, as the catalogs print them.
func Expression(text string) (tree.Expr, error) {
	return expression(text, inClient)
}

func expression(text string, in executor) (tree.Expr, error) {
	text = "SELECT (" + text + "\n)"
	chunks := split(text)
	if len(chunks) != 1 {
		return nil, errors.New("syntax error: not one expression")
	}
	c := chunks[0]
	statement, err := parseOne(text[c.start:c.end], c.shifted(), in)
	if err != nil {
		return nil, err
	}
	query, ok := statement.(*tree.Select)
	if !ok || len(query.Items) != 1 || query.Items[0].As != "" || query.From != nil || query.Where != nil ||
		query.SetOp != "" || query.Limit != nil || query.OrderBy != nil {
		return nil, errors.New("syntax error: not one expression")
	}
	return query.Items[0].Expr, nil
}

// translator translates one statement.
type translator struct {
	source  string         // as written, before placeholders were rewritten
	params  map[int]string // names of placeholders by their number
	scope   scope
	windows []map[string]*pg.WindowDef // of the queries around, innermost last
	sources map[*pg.Node]tree.Expr     // translated right sides of SET (a, b) = …
}
