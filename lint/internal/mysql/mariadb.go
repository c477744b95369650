package mysql

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/marino/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// parsed is a statement as the parser read it, with what was cut from it.
type parsed struct {
	node      ast.StmtNode
	returning ast.StmtNode // SELECT of the list of RETURNING; may be nil
	replaces  bool         // OR REPLACE was cut
}

// parse parses a statement. One that the parser refuses is tried without the clauses of MariaDB.
func (p *reader) parse(s *source) (parsed, error) {
	node, refused := p.one(s.text)
	if refused == nil {
		return parsed{node: node}, nil
	}
	if cut, list := s.cutReturning(); cut != "" {
		node, err := p.one(cut)
		if err != nil {
			return parsed{}, err
		}
		returning, err := p.one(list)
		return parsed{node: node, returning: returning}, err
	}
	if cut := s.cutReplace(); cut != "" {
		node, err := p.one(cut)
		return parsed{node: node, replaces: true}, err
	}
	return parsed{}, refused
}

// cutReturning cuts a statement before RETURNING, and returns its list as a query, everything
// at its place.
func (s *source) cutReturning() (before, list string) {
	first := lower(s.text, s.tokens[0])
	if first != "insert" && first != "replace" && first != "delete" {
		return "", ""
	}
	depth := 0
	for _, t := range s.tokens {
		switch w := lower(s.text, t); {
		case t.kind == mark && w == "(":
			depth++
		case t.kind == mark && w == ")":
			depth--
		case t.kind == word && w == "returning" && depth == 0:
			return s.text[:t.start], strings.Repeat(" ", t.start) + "SELECT   " + s.text[t.end:]
		}
	}
	return "", ""
}

// cutReplace cuts OR REPLACE from CREATE.
func (s *source) cutReplace() string {
	if s.word(0) != "create" || s.word(1) != "or" || s.word(2) != "replace" {
		return ""
	}
	from, to := s.tokens[1].start, s.tokens[2].end
	return s.text[:from] + strings.Repeat(" ", to-from) + s.text[to:]
}

// word returns the token of the number in lower case.
func (s *source) word(i int) string {
	if i >= len(s.tokens) {
		return ""
	}
	return lower(s.text, s.tokens[i])
}

// assemble translates a statement and adds what was cut.
func (t *translator) assemble(p parsed) tree.Statement {
	s := t.statement(p.node)
	if p.replaces {
		d, ok := s.(*tree.Define)
		if !ok {
			t.fail("OR REPLACE of something that is not made")
		}
		d.Guarded = true
		d.Destructive = d.Kind == "create table" || d.Kind == "create index"
	}
	if p.returning == nil {
		return s
	}
	q, ok := t.statement(p.returning).(*tree.Select)
	if !ok || !reflect.DeepEqual(*q, tree.Select{Items: q.Items}) {
		t.fail("RETURNING with more than a list")
	}
	switch s := s.(type) {
	case *tree.Insert:
		s.Returning = q.Items
	case *tree.Delete:
		s.Returning = q.Items
	case *tree.Opaque:
	default:
		t.fail("RETURNING of a statement that has none")
	}
	return s
}
