// Package sqltext cuts the text of SQL into tokens, as each dialect quotes and
// comments, for callers that need to find a few things in it. It knows no
// grammar.
package sqltext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/semel-dev/semel/internal/dialect"
)

// Kind is the kind of a token.
type Kind uint8

// Kinds of tokens.
const (
	Word   Kind = iota // a keyword or a name without quotes
	Name               // a name in quotes
	String             // a text
	Number             // starts with a digit
	Symbol             // an operator such as <=>, or one character of anything else
	End                // no token: a parser's mark for the end of the text
)

// RulesFile is the dialect of expressions in rules files: it has no comments and no
// quotes but ' and ".
const RulesFile dialect.Dialect = 0

// Token is a piece of SQL that is neither space nor comment.
type Token struct {
	Kind Kind
	// Text is its text; of quoted names and texts, without the quotes.
	Text string
	// Start and End are its bytes in the text, quotes included.
	Start, End int
	// Line counts from 1.
	Line int
}

// Is reports whether the token is this keyword or symbol.
func (t Token) Is(word string) bool {
	return (t.Kind == Word || t.Kind == Symbol) && strings.EqualFold(t.Text, word)
}

// IsName reports whether the token can name a table or a column.
func (t Token) IsName() bool { return t.Kind == Word || t.Kind == Name }

// Error says where a text cannot be cut.
type Error struct {
	Line int
	What string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// Scan cuts a text into tokens. The error is an [*Error]; the tokens before it
// are returned with it.
func Scan(d dialect.Dialect, text string) ([]Token, error) {
	s := &scanner{dialect: d, text: text, line: 1}
	for {
		if err := s.skip(); err != nil {
			return s.tokens, err
		}
		if s.at >= len(s.text) {
			return s.tokens, nil
		}
		if err := s.token(); err != nil {
			return s.tokens, err
		}
	}
}

// Split cuts tokens at a symbol outside of parentheses.
func Split(tokens []Token, symbol string) [][]Token {
	var parts [][]Token
	depth, start := 0, 0
	for i, t := range tokens {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth == 0 && t.Is(symbol):
			parts = append(parts, tokens[start:i])
			start = i + 1
		}
	}
	return append(parts, tokens[start:])
}

// Closing is the index of the parenthesis that closes the one at open, or -1.
func Closing(tokens []Token, open int) int {
	depth := 0
	for i := open; i < len(tokens); i++ {
		switch {
		case tokens[i].Is("("):
			depth++
		case tokens[i].Is(")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// Source is the piece of text that the tokens were cut from, with what is
// between them.
func Source(text string, tokens []Token) string {
	if len(tokens) == 0 {
		return ""
	}
	return text[tokens[0].Start:tokens[len(tokens)-1].End]
}

type scanner struct {
	dialect dialect.Dialect
	text    string
	at      int
	line    int
	tokens  []Token
}

func (s *scanner) rest() string { return s.text[s.at:] }

// move goes on by n bytes and counts their lines.
func (s *scanner) move(n int) {
	s.line += strings.Count(s.text[s.at:s.at+n], "\n")
	s.at += n
}

// skip goes over spaces and comments.
func (s *scanner) skip() error {
	for s.at < len(s.text) {
		rest := s.rest()
		switch {
		case strings.ContainsRune(" \t\r\n\f\v\ufeff", firstRune(rest)):
			s.move(utf8.RuneLen(firstRune(rest)))
		case s.dialect == RulesFile:
			return nil
		case s.lineComment(rest):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			s.move(end)
		case strings.HasPrefix(rest, "/*"):
			if err := s.blockComment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (s *scanner) lineComment(rest string) bool {
	if s.dialect != dialect.MySQL {
		return strings.HasPrefix(rest, "--")
	}
	return rest[0] == '#' || strings.HasPrefix(rest, "--") && (len(rest) == 2 || unicode.IsSpace(rune(rest[2])))
}

// blockComment goes over a comment. PostgreSQL nests them; MySQL runs what is in
// those that start with an exclamation mark.
func (s *scanner) blockComment() error {
	rest := s.rest()
	if s.dialect == dialect.MySQL && (strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!")) {
		return &Error{s.line, "a comment that some servers run (/*! … */)"}
	}
	depth := 0
	for i := 0; i+1 < len(rest); i++ {
		switch {
		case rest[i:i+2] == "/*" && (depth == 0 || s.dialect == dialect.PostgreSQL):
			depth, i = depth+1, i+1
		case rest[i:i+2] == "*/":
			depth, i = depth-1, i+1
			if depth == 0 {
				s.move(i + 1)
				return nil
			}
		}
	}
	return &Error{s.line, "a comment that does not end"}
}

// token reads one token.
func (s *scanner) token() error {
	rest := s.rest()
	first := firstRune(rest)
	switch {
	case s.dialect == dialect.PostgreSQL && first == '$':
		if tag, ok := dollarTag(rest); ok {
			return s.until(String, tag, tag)
		}
	case s.dialect == dialect.PostgreSQL && len(rest) > 1 && (first == 'e' || first == 'E') && rest[1] == '\'':
		return s.quoted(String, 1, '\'', true)
	case first == '\'':
		return s.quoted(String, 0, '\'', s.dialect == dialect.MySQL)
	case first == '"' && s.dialect == dialect.MySQL:
		return s.quoted(String, 0, '"', true)
	case first == '"', first == '`' && (s.dialect == dialect.MySQL || s.dialect == dialect.SQLite):
		return s.quoted(Name, 0, rest[0], false)
	case first == '[' && s.dialect == dialect.SQLite:
		return s.until(Name, "[", "]")
	}
	switch digits := strings.TrimPrefix(rest, "-"); {
	case digits != "" && digits[0] >= '0' && digits[0] <= '9':
		s.takeWord(Number)
	case isWord(first):
		s.takeWord(Word)
	default:
		size := 1
		for _, operator := range []string{"<=>", "::", "||", "&&", "<>", "!=", "<=", ">="} {
			if strings.HasPrefix(rest, operator) {
				size = len(operator)
				break
			}
		}
		s.add(Symbol, rest[:size], size)
	}
	return nil
}

// isWord reports whether a rune can be in a name without quotes.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '$' || r >= utf8.RuneSelf
}

// takeWord reads a word or a number.
func (s *scanner) takeWord(kind Kind) {
	rest := s.rest()
	end := strings.IndexFunc(rest[1:], func(r rune) bool { return !isWord(r) }) + 1
	if end == 0 {
		end = len(rest)
	}
	s.add(kind, rest[:end], end)
}

// quoted reads from a quote to the next that is not doubled, or escaped by a
// backslash where those escape.
func (s *scanner) quoted(kind Kind, prefix int, mark byte, backslash bool) error {
	rest := s.rest()
	var text strings.Builder
	for i := prefix + 1; i < len(rest); i++ {
		switch {
		case backslash && rest[i] == '\\' && i+1 < len(rest):
			i++
			escaped, ok := s.escaped(rest[i])
			if !ok {
				return &Error{s.line, "an escape by the number of a character"}
			}
			text.WriteString(escaped)
		case rest[i] != mark:
			text.WriteByte(rest[i])
		case i+1 < len(rest) && rest[i+1] == mark:
			i++
			text.WriteByte(mark)
		default:
			s.add(kind, text.String(), i+1)
			return nil
		}
	}
	return &Error{s.line, "a quote that does not end"}
}

// escaped returns the text of a backslash and the character after it. An escape
// that goes on after that character is not read.
func (s *scanner) escaped(c byte) (text string, ok bool) {
	switch i := strings.IndexByte("bnrt", c); {
	case i >= 0:
		return "\b\n\r\t"[i : i+1], true
	case s.dialect == dialect.PostgreSQL && c == 'f':
		return "\f", true
	case s.dialect == dialect.PostgreSQL && strings.IndexByte("01234567xuU", c) >= 0:
		return "", false
	case s.dialect == dialect.MySQL && c == '0':
		return "\x00", true
	case s.dialect == dialect.MySQL && c == 'Z':
		return "\x1a", true
	case s.dialect == dialect.MySQL && (c == '%' || c == '_'): // of LIKE
		return "\\" + string(c), true
	}
	return string([]byte{c}), true
}

// until reads what is between two marks that cannot be escaped.
func (s *scanner) until(kind Kind, start, end string) error {
	rest := s.rest()
	length := strings.Index(rest[len(start):], end)
	if length < 0 {
		return &Error{s.line, "a quote that does not end"}
	}
	s.add(kind, rest[len(start):len(start)+length], len(start)+length+len(end))
	return nil
}

func (s *scanner) add(kind Kind, text string, size int) {
	s.tokens = append(s.tokens, Token{kind, text, s.at, s.at + size, s.line})
	s.move(size)
}

// dollarTag is the mark that starts a text in dollars: $$ or $body$.
func dollarTag(text string) (string, bool) {
	end := strings.IndexByte(text[1:], '$')
	if end < 0 {
		return "", false
	}
	tag := text[1 : 1+end]
	for i, r := range tag {
		if !unicode.IsLetter(r) && r != '_' && (i == 0 || !unicode.IsDigit(r)) {
			return "", false
		}
	}
	return text[:end+2], true
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}
