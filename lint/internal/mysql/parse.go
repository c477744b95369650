package mysql

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/sqlc-dev/marino/ast"
	"github.com/sqlc-dev/marino/parser"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// Parse splits a text into statements and translates each. It never fails: a statement that the
// parser refuses is a [tree.Opaque] with the reason.
func Parse(text string) []tree.Parsed {
	p := &reader{parser: parser.New()}
	pieces := p.split(text)
	all := make([]tree.Parsed, 0, len(pieces))
	for _, one := range pieces {
		if s := p.read(text, one); s != nil {
			all = append(all, tree.Parsed{Start: one.start, End: one.end, Statement: s})
		}
	}
	return all
}

// reader parses statements.
type reader struct {
	parser *parser.Parser
}

// read translates a statement, as all servers read it or not at all.
func (p *reader) read(text string, one piece) tree.Statement {
	if one.torn {
		return &tree.Opaque{Why: "executable comment: not all servers execute it"}
	}
	s := p.translate(text, one, plain)
	if !one.versioned {
		return s
	}
	for _, f := range []flavor{mySQL, mariaDB} {
		other := p.translate(text, one, f)
		switch {
		case s == nil:
			s = other
		case other != nil && !reflect.DeepEqual(s, other):
			return prepare(text, one, plain).unread("executable comments: not all servers read the same statement")
		}
	}
	if _, neutral := s.(*tree.Neutral); s != nil && !neutral && p.translate(text, one, plain) == nil {
		return &tree.Opaque{Why: "executable comment: not all servers execute it"}
	}
	return s
}

// untranslatable carries the reason from [translator.fail] to the top.
type untranslatable string

// translate returns nil for a statement that is empty for the flavor.
func (p *reader) translate(text string, one piece, f flavor) (s tree.Statement) {
	src := prepare(text, one, f)
	defer func() {
		switch v := recover().(type) {
		case nil:
		case untranslatable:
			s = src.unread(string(v))
		default:
			s = src.unread(fmt.Sprintf("the parser failed: %v", v))
			p.parser = parser.New()
		}
	}()
	if len(src.tokens) == 0 {
		return nil
	}
	if src.refused != "" {
		return src.unread(src.refused)
	}
	t := &translator{source: src, schemas: map[string]string{}}
	read, err := p.parse(src)
	if err != nil {
		return src.unread(syntaxError(err))
	}
	return t.assemble(read)
}

// one parses one statement.
func (p *reader) one(text string) (ast.StmtNode, error) {
	nodes, _, err := p.parser.ParseSQL(text)
	if err != nil {
		return nil, err
	}
	if len(nodes) != 1 {
		return nil, fmt.Errorf("%d statements in one", len(nodes))
	}
	return nodes[0], nil
}

// complete reports whether the parser accepts the statement as it is.
func (p *reader) complete(text string, one piece) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
			p.parser = parser.New()
		}
	}()
	src := prepare(text, one, mySQL)
	if src.refused != "" {
		return false
	}
	_, err := p.parse(src)
	return err == nil
}

// syntaxError shortens a message of the parser, which quotes all that follows.
func syntaxError(err error) string {
	const most = 120
	msg := strings.Join(strings.Fields(err.Error()), " ")
	if runes := []rune(msg); len(runes) > most {
		msg = string(runes[:most]) + "…"
	}
	return "syntax error: " + msg
}
