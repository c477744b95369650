package serversql

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/internal/rules/sqltext"
)

const (
	// maxBytes is the longest text of a catalogue that is read.
	maxBytes = 16 << 10
	// maxNesting bounds the nesting of its expressions.
	maxNesting = 64
)

// node is a piece of SQL as a catalogue has it.
type node struct {
	// op is column, constant, null, true, false, call, cast, extract, zone, case,
	// array, not, and, or, a comparison, or "is" with the word in name.
	op   string
	name string // of a column, function, type, part or zone; what follows IS
	text expression.Constant
	args []node
}

// parser reads what the servers write back, and what people write into
// SQLite's catalogue. What it does not know it does not guess: bad is set.
type parser struct {
	tokens []sqltext.Token
	next   int
	depth  int
	bad    bool
}

// parse reads one expression; ok is false if any part of it is unknown.
func parse(d dialect.Dialect, s string) (n node, ok bool) {
	if len(s) > maxBytes {
		return node{}, false
	}
	if d == dialect.MySQL && strings.Contains(s, `_utf8mb4\'`) { // MySQL 8 escapes in information_schema
		s = strings.ReplaceAll(s, `\'`, `'`)
	}
	tokens, err := scan(d, s)
	if err != nil {
		return node{}, false
	}
	p := &parser{tokens: tokens}
	n = p.or()
	return n, !p.bad && p.peek().Kind == sqltext.End
}

// scan splits SQL, and ends it.
func scan(d dialect.Dialect, s string) ([]sqltext.Token, error) {
	tokens, err := sqltext.Scan(d, s)
	return append(tokens, sqltext.Token{Kind: sqltext.End, Start: len(s), End: len(s)}), err
}

func (p *parser) peek() sqltext.Token { return p.tokens[p.next] }

func (p *parser) takeToken() sqltext.Token {
	t := p.tokens[p.next]
	if t.Kind != sqltext.End {
		p.next++
	}
	return t
}

// accept takes the words, in this order, or nothing.
func (p *parser) accept(words ...string) bool {
	for i, word := range words {
		if p.next+i >= len(p.tokens) || !p.tokens[p.next+i].Is(word) {
			return false
		}
	}
	p.next += len(words)
	return true
}

func (p *parser) need(word string) {
	if !p.accept(word) {
		p.bad = true
	}
}

func (p *parser) or() node {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxNesting {
		p.bad = true
	}
	if p.bad {
		return node{}
	}
	n := p.and()
	for p.accept("or") {
		n = node{op: "or", args: []node{n, p.and()}}
	}
	return n
}

func (p *parser) and() node {
	n := p.not()
	for p.accept("and") || p.accept("&&") {
		n = node{op: "and", args: []node{n, p.not()}}
	}
	return n
}

func (p *parser) not() node {
	negative := false
	for p.accept("not") {
		negative = !negative
	}
	n := p.comparison()
	if negative {
		return node{op: "not", args: []node{n}}
	}
	return n
}

func (p *parser) comparison() node {
	n := p.postfix()
	for !p.bad {
		switch {
		case p.accept("isnull"), p.accept("is", "null"):
			n = node{op: "is", name: "null", args: []node{n}}
		case p.accept("notnull"), p.accept("not", "null"), p.accept("is", "not", "null"):
			n = node{op: "is", name: "not null", args: []node{n}}
		case p.accept("is", "not", "distinct", "from"), p.accept("<=>"):
			n = node{op: "same", args: []node{n, p.postfix()}}
		case p.accept("is", "distinct", "from"):
			n = node{op: "differs", args: []node{n, p.postfix()}}
		case p.accept("is", "not", "true"), p.accept("is", "not", "false"), p.accept("is", "true"), p.accept("is", "false"):
			name := strings.ToLower(p.tokens[p.next-1].Text)
			if p.tokens[p.next-2].Is("not") {
				name = "not " + name
			}
			n = node{op: "is", name: name, args: []node{n}}
		case p.accept("is", "not"): // SQLite
			n = node{op: "differs", args: []node{n, p.postfix()}}
		case p.accept("is"):
			n = node{op: "same", args: []node{n, p.postfix()}}
		case p.accept("<>"), p.accept("!="):
			n = p.unequal(n)
		case p.accept("="), p.accept("=", "="):
			n = node{op: "=", args: []node{n, p.postfix()}}
		case p.accept("not", "in"):
			n = node{op: "not in", args: append([]node{n}, p.list("(", ")")...)}
		default:
			return n
		}
	}
	return n
}

// unequal reads what follows <>: a value, or ALL of an array, as PostgreSQL
// writes NOT IN.
func (p *parser) unequal(n node) node {
	if !p.accept("all") {
		return node{op: "<>", args: []node{n, p.postfix()}}
	}
	p.need("(")
	array := p.or()
	p.need(")")
	if array.op == "cast" {
		array = array.args[0]
	}
	if array.op != "array" {
		p.bad = true
	}
	return node{op: "not in", args: append([]node{n}, array.args...)}
}

// list reads a comma-separated list between two marks.
func (p *parser) list(opens, closes string) []node {
	p.need(opens)
	var all []node
	for !p.bad && !p.accept(closes) {
		all = append(all, p.or())
		if !p.accept(",") && !p.peek().Is(closes) {
			p.bad = true
		}
	}
	return all
}

// postfix reads a value with casts and zones after it.
func (p *parser) postfix() node {
	n := p.primary()
	for !p.bad {
		switch {
		case p.accept("::"):
			n = node{op: "cast", name: p.typeName(), args: []node{n}}
		case p.accept("at", "time", "zone"):
			zone := p.postfix()
			if zone.op == "cast" {
				zone = zone.args[0]
			}
			n = node{op: "zone", name: zone.text.Text, args: []node{n}}
		default:
			return n
		}
	}
	return n
}

// typeName reads a type, such as character varying(40)[].
func (p *parser) typeName() string {
	first := p.takeToken()
	if first.Kind != sqltext.Word && first.Kind != sqltext.Name {
		p.bad = true
		return ""
	}
	name := strings.ToLower(first.Text)
	for _, more := range [][]string{{"varying"}, {"precision"}, {"without", "time", "zone"}, {"with", "time", "zone"}} {
		if p.accept(more...) {
			name = strings.Join(append([]string{name}, more...), " ")
		}
	}
	if p.accept("(") { // a length may cut values
		name += "()"
		for !p.bad && !p.accept(")") {
			p.bad = p.takeToken().Kind == sqltext.End
		}
	}
	if p.accept("[", "]") {
		name += "[]"
	}
	return name
}

func (p *parser) primary() node {
	t := p.takeToken()
	switch t.Kind {
	case sqltext.Name:
		return node{op: "column", name: t.Text}
	case sqltext.String:
		return node{op: "constant", text: expression.Constant{Text: t.Text}}
	case sqltext.Number:
		if !expression.IsWhole(t.Text) {
			p.bad = true
		}
		return node{op: "constant", text: expression.Constant{Text: t.Text, Number: true}}
	case sqltext.Word:
		return p.word(t)
	case sqltext.Symbol:
		switch t.Text {
		case "(":
			n := p.or()
			p.need(")")
			return n
		case "!":
			return node{op: "not", args: []node{p.postfix()}}
		}
	case sqltext.End:
	}
	p.bad = true
	return node{}
}

// word reads what starts with a word: a column, a keyword or a function.
func (p *parser) word(t sqltext.Token) node {
	name := strings.ToLower(t.Text)
	switch {
	case name == "null", name == "true", name == "false":
		return node{op: name}
	case name == "case":
		return p.when()
	case name == "array":
		return node{op: "array", args: p.list("[", "]")}
	case strings.HasPrefix(name, "_") && p.peek().Kind == sqltext.String: // a character set
		return p.primary()
	case !p.peek().Is("("):
		return node{op: "column", name: t.Text}
	case name == "cast":
		p.need("(")
		n := node{op: "cast", args: []node{p.or()}}
		p.need("as")
		n.name = p.typeName()
		p.need(")")
		return n
	case name == "extract":
		p.need("(")
		n := node{op: "extract", name: strings.ToLower(p.takeToken().Text)}
		p.need("from")
		n.args = []node{p.or()}
		p.need(")")
		return n
	case name == "trim":
		p.need("(")
		_ = p.accept("both") && p.accept("from")
		n := node{op: "call", name: name, args: []node{p.or()}}
		p.need(")")
		return n
	}
	return node{op: "call", name: name, args: p.list("(", ")")}
}

// when reads CASE with one WHEN; without ELSE, or with ELSE NULL.
func (p *parser) when() node {
	p.need("when")
	n := node{op: "case", args: []node{p.or()}}
	p.need("then")
	n.args = append(n.args, p.or())
	if p.accept("else") && p.or().op != "null" {
		p.bad = true
	}
	p.need("end")
	return n
}

// isTextType reports whether a cast to the type leaves texts as they are.
func isTextType(name string) bool {
	return slices.Contains([]string{"text", "character varying", "varchar", "bpchar", "character", "char", "citext"}, name)
}

// isNumberType reports whether a whole number stays one in a type.
func isNumberType(name string) bool {
	return slices.Contains([]string{"integer", "int", "int4", "bigint", "int8", "smallint", "int2", "numeric", "signed", "unsigned", "double precision"}, name)
}
