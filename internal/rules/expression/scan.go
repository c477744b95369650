package expression

import (
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

// rulesFile is the language of rules files, among the dialects of [scan].
const rulesFile dialect.Dialect = 0

// scan splits text into tokens, of which the last is the end. It reports where a
// quote is open.
func scan(s string, d dialect.Dialect) (tokens []token, at int, ok bool) {
	for i := 0; i < len(s); {
		t := token{at: i}
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case c == '\'':
			t.kind, t.text, i = tokenText, "", quotedEnd(s, i, d == dialect.MySQL)
			if i > 0 {
				t.text = unquote(s[t.at:i], d == dialect.MySQL)
			}
		case c == '"' || c == '`' && d != rulesFile:
			t.kind, i = tokenQuoted, quotedEnd(s, i, false)
			if i > 0 {
				t.text = unquote(s[t.at:i], false)
			}
		case c == '[' && d == dialect.SQLite:
			t.kind = tokenQuoted
			name, _, found := strings.Cut(s[i+1:], "]")
			if t.text, i = name, i+len(name)+2; !found {
				i = -1
			}
		case isDigit(c) || c == '-' && i+1 < len(s) && isDigit(s[i+1]):
			t.kind, i = tokenNumber, wordEnd(s, i+1)
			t.text = s[t.at:i]
		case isWordByte(c):
			t.kind, i = tokenWord, wordEnd(s, i)
			t.text = s[t.at:i]
		default:
			t.kind, t.text = tokenMark, mark(s[i:])
			i += len(t.text)
		}
		if i < 0 {
			return nil, t.at, false
		}
		tokens = append(tokens, t)
	}
	return append(tokens, token{kind: tokenEnd, at: len(s)}), 0, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 || isDigit(c)
}

// wordEnd returns the end of the word at i.
func wordEnd(s string, i int) int {
	for i < len(s) && isWordByte(s[i]) {
		i++
	}
	return i
}

// mark returns the mark at the start of s, one byte unless it is a known longer
// one.
func mark(s string) string {
	for _, m := range []string{"<=>", "::", "||", "&&", "<>", "!=", "<=", ">="} {
		if strings.HasPrefix(s, m) {
			return m
		}
	}
	return s[:1]
}

// quotedEnd returns the end of the quotes that open at i, or -1. A quote inside
// is doubled, or, where escapes are read, follows a backslash.
func quotedEnd(s string, i int, escapes bool) int {
	quote := s[i]
	for i++; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return -1
}

// unquote returns the text within quotes.
func unquote(s string, escapes bool) string {
	quote := s[:1]
	s = strings.ReplaceAll(s[1:len(s)-1], quote+quote, quote)
	if !escapes || !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
