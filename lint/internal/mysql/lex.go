package mysql

import "strings"

type kind uint8

const (
	end kind = iota
	word
	name   // in backquotes
	quoted // a string
	param  // ? or :name
	mark   // anything else: one byte, or || or :=
	delimiter
)

type token struct {
	kind       kind
	start, end int
}

// flavor is a server that may read an executable comment.
type flavor uint8

const (
	plain   flavor = iota // an old server of either kind
	mySQL                 // a recent MySQL
	mariaDB               // a recent MariaDB
	anyone                // includes what any of them reads; to split a text
)

// reads reports whether the flavor executes a comment for servers of the version. MariaDB passes over
// those for MySQL 5.7 and later, MySQL over those for MariaDB.
func (f flavor) reads(version int, forMariaDB bool) bool {
	switch {
	case version == clientVersion:
		return false
	case forMariaDB || version >= 100000 && version < 200000:
		return f == mariaDB || f == anyone
	case version >= 50700:
		return f == mySQL || f == anyone
	}
	return true
}

// clientVersion marks comments in the dumps of MariaDB that only its client reads.
const clientVersion = 999999

// lexer finds the tokens of a text, outside of comments.
type lexer struct {
	text      string
	pos       int
	until     int
	delimiter string
	flavor    flavor
	verbatim  bool // a backslash is a character like any other
	inside    bool // an executable comment
	versioned bool // a comment was met that not all servers read
	strange   bool // a byte 0, which ends a statement for the parser
	hints     bool // a hint was met that sets a variable
	opened    int  // where the last executable comment starts
	partial   bool // not all servers read it
	from      int  // of the statement
	opener    int  // of the comment that the first token of the statement is in, or -1
}

func (l *lexer) next() token {
	l.blanks()
	if l.pos >= l.until {
		return token{end, l.until, l.until}
	}
	rest, start := l.text[l.pos:l.until], l.pos
	c := rest[0]
	switch {
	case strings.HasPrefix(rest, l.delimiter):
		l.pos += len(l.delimiter)
		return token{delimiter, start, l.pos}
	case c == '\'' || c == '"':
		l.pos += quotedLen(rest, !l.verbatim)
		return token{quoted, start, l.pos}
	case c == '`':
		l.pos += quotedLen(rest, false)
		return token{name, start, l.pos}
	case isWord(c):
		return l.word()
	case c == '?':
		l.pos++
		return token{param, start, l.pos}
	case c == ':' && len(rest) > 1 && isLetter(rest[1]) && !l.label():
		l.pos++
		l.word()
		return token{param, start, l.pos}
	case strings.HasPrefix(rest, "||"), strings.HasPrefix(rest, ":="):
		l.pos++
	case c == 0:
		l.strange = true
	}
	l.pos++
	return token{mark, start, l.pos}
}

// label reports whether the colon at the position ends a label.
func (l *lexer) label() bool { return l.pos > 0 && isWord(l.text[l.pos-1]) }

func (l *lexer) word() token {
	start := l.pos
	for l.pos < l.until && isWord(l.text[l.pos]) {
		if l.delimiter != ";" && l.pos > start && strings.HasPrefix(l.text[l.pos:l.until], l.delimiter) {
			break
		}
		l.pos++
	}
	return token{word, start, l.pos}
}

// blanks passes over blanks and comments.
func (l *lexer) blanks() {
	for l.pos < l.until {
		rest := l.text[l.pos:l.until]
		switch {
		case strings.IndexByte(" \t\r\n\f\v", rest[0]) >= 0:
			l.pos++
		case rest[0] == '#', strings.HasPrefix(rest, "--") && (len(rest) == 2 || rest[2] <= ' '):
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				l.pos += i + 1
			} else {
				l.pos = l.until
			}
		case strings.HasPrefix(rest, "/*"):
			l.comment(rest)
		case l.inside && strings.HasPrefix(rest, "*/"):
			l.inside = false
			l.pos += 2
		default:
			return
		}
	}
}

// comment passes over a comment, or only over the start of one that is executed.
func (l *lexer) comment(rest string) {
	body := rest[2:]
	forMariaDB := strings.HasPrefix(body, "M!")
	if forMariaDB {
		body = body[1:]
	}
	if !l.inside && strings.HasPrefix(body, "!") {
		body = body[1:]
		digits, version := 0, 0
		for digits < 6 && digits < len(body) && body[digits] >= '0' && body[digits] <= '9' {
			version = version*10 + int(body[digits]-'0')
			digits++
		}
		if digits < 5 {
			digits, version = 0, 0
		}
		partial := plain.reads(version, forMariaDB) != anyone.reads(version, forMariaDB)
		l.versioned = l.versioned || partial
		if l.flavor.reads(version, forMariaDB) {
			l.inside, l.opened, l.partial = true, l.pos, partial
			l.pos += len(rest) - len(body) + digits
			return
		}
	}
	closed := strings.Index(rest[2:], "*/")
	if closed < 0 {
		l.pos = l.until
		return
	}
	if strings.HasPrefix(rest, "/*+") && strings.Contains(strings.ToLower(rest[:closed]), "set_var") {
		l.hints = true
	}
	l.pos += closed + 4
}

// quotedLen returns the length of the string or name that the text starts with.
func quotedLen(text string, escapes bool) int {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case text[i] == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}

func isLetter(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

func isWord(c byte) bool { return isLetter(c) || c == '$' || '0' <= c && c <= '9' }
