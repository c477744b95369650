package mysql

import (
	"slices"
	"strconv"
	"strings"
)

// source is a statement as the parser gets it: a copy without comments in which everything else is
// where it was in the original, or shorter with blanks after it.
type source struct {
	text    string
	tokens  []token
	params  map[int]string    // names by the place of the ?
	types   map[string]string // types that the parser does not know, by column
	collate map[string]string // collations that the parser does not know, by those in their place
	refused string            // why it must not be parsed
	marks   int               // of the params, those without a name
}

func prepare(text string, one piece, f flavor) *source {
	l := &lexer{text: text, pos: one.start, until: one.end, delimiter: "\x00none", flavor: f}
	s := &source{params: map[int]string{}, types: map[string]string{}, collate: map[string]string{}}
	for t := l.next(); t.kind != end; t = l.next() {
		s.tokens = append(s.tokens, token{t.kind, t.start - one.start, t.end - one.start})
	}
	from := text[one.start:one.end]
	copied := []byte(strings.Repeat(" ", len(from)))
	for i, t := range s.tokens {
		switch {
		case t.kind == param:
			copied[t.start] = '?'
			s.params[t.start] = s.paramName(from[t.start:t.end])
		case t.kind == word && s.unknownType(from, i):
			copy(copied[t.start:], "date")
		case t.kind == word && i > 2 && lower(from, t) == "persistent" && lower(from, s.tokens[i-1]) == ")":
			copy(copied[t.start:], "stored") // as MariaDB has it
		case (t.kind == word || t.kind == name || t.kind == quoted) && i > 0:
			copy(copied[t.start:], s.knownCharset(from, i))
		default:
			copy(copied[t.start:], from[t.start:t.end])
		}
	}
	s.text = string(copied)
	switch {
	case s.ambiguous(from, f):
		s.refused = "a string ends elsewhere under the sql_mode NO_BACKSLASH_ESCAPES"
	case l.strange:
		s.refused = "a byte 0 in the statement"
	case l.hints:
		s.refused = "a hint that sets a variable"
	default:
		s.refused = s.excessive()
	}
	return s
}

// ambiguous reports whether a server that takes a backslash for a character like any other reads other strings,
// and closes all of them.
func (s *source) ambiguous(text string, f flavor) bool {
	if !slices.ContainsFunc(s.tokens, func(t token) bool {
		return t.kind == quoted && quotedLen(text[t.start:], false) != t.end-t.start
	}) {
		return false
	}
	l := &lexer{text: text, until: len(text), delimiter: "\x00none", flavor: f, verbatim: true}
	for t := l.next(); t.kind != end; t = l.next() {
		if t.kind == quoted && (t.end-t.start < 2 || text[t.end-1] != text[t.start]) {
			return false
		}
	}
	return true
}

func (s *source) paramName(written string) string {
	if written == "?" {
		s.marks++
		return strconv.Itoa(s.marks)
	}
	return written[1:]
}

// afterType are the words and marks that follow a type.
var afterType = words( //nolint:gochecknoglobals // constant
	", ) not null default primary unique key generated as comment check references first after on invisible")

// notColumn are the words before a name that is not a type.
var notColumn = words( //nolint:gochecknoglobals // constant
	"add column modify change key index unique constraint exists drop primary after rename to as")

func words(list string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		all[w] = true
	}
	return all
}

// unknownType reports whether a word is a type of MariaDB in the definition of a column, and notes the
// column.
func (s *source) unknownType(text string, i int) bool {
	if i < 2 {
		return false
	}
	switch lower(text, s.tokens[i]) {
	case "uuid", "inet4", "inet6":
	default:
		return false
	}
	if first := lower(text, s.tokens[0]); first != "create" && first != "alter" {
		return false
	}
	switch lower(text, s.tokens[1]) {
	case "table", "temporary", "or", "online", "ignore":
	default:
		return false
	}
	if i+1 < len(s.tokens) && !afterType[lower(text, s.tokens[i+1])] {
		return false
	}
	column := s.tokens[i-1]
	if column.kind != name && (column.kind != word || notColumn[lower(text, column)]) {
		return false
	}
	switch lower(text, s.tokens[i-2]) {
	case "(", ",", "add", "column", "modify", "exists":
	default:
		if i < 4 || s.tokens[i-2].kind == mark {
			return false
		}
		if w := lower(text, s.tokens[i-3]); w != "column" && w != "change" {
			return false
		}
	}
	s.types[unquote(text[column.start:column.end])] = lower(text, s.tokens[i])
	return true
}

// unquote returns a name as names are compared.
func unquote(name string) string {
	if strings.HasPrefix(name, "`") {
		name = strings.ReplaceAll(strings.Trim(name, "`"), "``", "`")
	}
	return strings.ToLower(name)
}

// before returns the token that ends before the place, brackets left out.
func (s *source) before(place int) string {
	found := ""
	for lo, hi := 0, len(s.tokens); lo < hi; {
		mid := (lo + hi) / 2
		if s.tokens[mid].end <= place {
			found = lower(s.text, s.tokens[mid])
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return found
}
