package mysql

import "strings"

// piece is one statement of a text before it is parsed.
type piece struct {
	start, end int
	versioned  bool // see [lexer]
	torn       bool // starts within a comment that not all servers read
}

// maxTries bounds the ends that are tried for a statement with a body.
const maxTries = 200

// split finds the statements of a text. The body of a trigger or routine ends where the
// parser is satisfied first, as in the server, unless the text changes the delimiter as
// the mysql client wants it.
func (p *reader) split(text string) []piece {
	l := &lexer{text: text, until: len(text), delimiter: ";", flavor: anyone}
	var all []piece
	for l.pos < len(text) {
		if l.setDelimiter() {
			continue
		}
		found, ok := p.statement(l)
		if ok {
			all = append(all, found)
		}
	}
	return all
}

// setDelimiter reads the command of the mysql client.
func (l *lexer) setDelimiter() bool {
	ahead := *l
	first := ahead.next()
	if first.kind != word || !strings.EqualFold(l.text[first.start:first.end], "delimiter") {
		return false
	}
	line, _, _ := strings.Cut(l.text[first.end:], "\n")
	fields := strings.Fields(line)
	if len(fields) == 0 || line[0] != ' ' && line[0] != '\t' {
		return false
	}
	l.delimiter = fields[0]
	l.pos = first.end + len(line)
	return true
}

// statement reads up to the next delimiter.
func (p *reader) statement(l *lexer) (piece, bool) {
	l.versioned, l.from = false, l.pos
	var (
		tokens []token
		depth  int
		tries  ends
	)
	for {
		t := l.next()
		switch t.kind { //nolint:exhaustive // the others are in the statement
		case end:
			if tries.count > 0 {
				return tries.first(l), true
			}
			return bound(tokens, l), len(tokens) > 0
		case delimiter:
			if len(tokens) == 0 {
				return piece{}, false
			}
			if l.delimiter != ";" || !compound(l.text, tokens) {
				return bound(tokens, l), true
			}
			if found, ok := p.ended(l, bound(tokens, l), depth, &tries); ok {
				return found, true
			}
		default:
			if len(tokens) == 0 {
				l.enter()
			}
			depth += nesting(l.text, tokens, t)
		}
		tokens = append(tokens, t)
	}
}

// ends are the delimiters that may end a statement with a body.
type ends struct {
	count int
	piece piece // up to the first
	after lexer
}

// first ends the statement at the first of them.
func (e *ends) first(l *lexer) piece {
	*l = e.after
	return e.piece
}

// ended reports whether a statement with a body ends at a delimiter.
func (p *reader) ended(l *lexer, here piece, depth int, tries *ends) (piece, bool) {
	if depth > 0 {
		return piece{}, false
	}
	tries.count++
	if p.complete(l.text, here) {
		return here, true
	}
	if tries.count == 1 {
		tries.piece, tries.after = here, *l
	}
	if tries.count == maxTries {
		return tries.first(l), true
	}
	return piece{}, false
}

// enter notes the comment that a statement starts in.
func (l *lexer) enter() {
	l.opener = -1
	if l.inside {
		l.opener = l.opened
	}
}

func bound(tokens []token, l *lexer) piece {
	if len(tokens) == 0 {
		return piece{}
	}
	found := piece{start: tokens[0].start, end: tokens[len(tokens)-1].end, versioned: l.versioned}
	switch {
	case l.opener < 0: // the first token is in no comment
	case l.opener >= l.from:
		found.start = l.opener
	default:
		found.torn = l.partial
	}
	return found
}

// nesting tells how a word changes the depth of BEGIN and CASE.
func nesting(text string, before []token, t token) int {
	if t.kind != word {
		return 0
	}
	last := ""
	if len(before) > 0 {
		last = lower(text, before[len(before)-1])
	}
	switch w := lower(text, t); {
	case w == "begin", w == "case" && last != "end":
		return 1
	case w == "end":
		return -1
	case last == "end" && (w == "if" || w == "loop" || w == "while" || w == "repeat"):
		return 1 // takes back what END did
	}
	return 0
}

// compound reports whether a statement may have semicolons in it.
func compound(text string, tokens []token) bool {
	switch lower(text, tokens[0]) {
	case "begin":
		return len(tokens) > 1 && lower(text, tokens[1]) == "not"
	case "create":
	default:
		return false
	}
	for i, t := range tokens[1:min(len(tokens), 16)] {
		switch lower(text, t) {
		case "trigger", "procedure", "function", "event":
			return true
		case "table", "index", "view", "database":
			return i > 8
		}
	}
	return false
}

// lower returns the text of a token in lower case; of quoted ones, nothing that is a keyword.
func lower(text string, t token) string {
	return strings.ToLower(text[t.start:t.end])
}
