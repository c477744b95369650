package rewrite

import (
	"bytes"
	"html"
	"strconv"
	"unicode/utf8"
)

// tagScan is the state of the tokenizer in a tag, after its name.
type tagScan uint8

const (
	beforeName  tagScan = iota // of an attribute
	inName                     // of an attribute
	afterName                  // of an attribute
	beforeValue                // after "="
	doubleQuoted
	singleQuoted
	unquoted
	afterQuoted
	afterSlash
)

// scan returns the index of the ">" that ends the tag, and true; or the end of p.
func (t *tagScan) scan(p []byte, i int) (int, bool) {
	now := *t
	for i < len(p) {
		c := p[i]
		switch now { //nolint:exhaustive // the others go byte by byte
		case doubleQuoted, singleQuoted:
			n := bytes.IndexByte(p[i:], now.quote())
			if n < 0 {
				*t = now
				return len(p), false
			}
			i += n
			now = afterQuoted
		case inName: // most bytes of a tag are in names and quotes
			for !endsName(c) && c != '=' {
				if i++; i == len(p) {
					*t = now
					return i, false
				}
				c = p[i]
			}
			fallthrough
		default:
			if c == '>' {
				*t = now
				return i, true
			}
			now = now.next(c)
		}
		i++
	}
	*t = now
	return i, false
}

func (t tagScan) quote() byte {
	if t == singleQuoted {
		return '\''
	}
	return '"'
}

// next is the state after one byte that is not ">", outside of quotes.
func (t tagScan) next(c byte) tagScan {
	switch t { //nolint:exhaustive // see default
	case inName, afterName:
		switch {
		case c == '=':
			return beforeValue
		case c == '/':
			return afterSlash
		case isSpace(c):
			return afterName
		}
		return inName
	case beforeValue:
		switch {
		case c == '"':
			return doubleQuoted
		case c == '\'':
			return singleQuoted
		case isSpace(c):
			return beforeValue
		}
		return unquoted
	case unquoted:
		if isSpace(c) {
			return beforeName
		}
		return unquoted
	default: // beforeName, afterQuoted, afterSlash; "=" begins a name here
		switch {
		case c == '/':
			return afterSlash
		case isSpace(c):
			return beforeName
		}
		return inName
	}
}

// attributes are those of one whole tag, not decoded, in their order.
type attributes struct {
	rest []byte // from behind the name of the tag, or of the attribute before, to the ">" and with it
}

// attributesOf takes a whole tag, from "<" to ">".
func attributesOf(tag []byte) attributes {
	end := min(1, len(tag))
	for end < len(tag) && !endsName(tag[end]) {
		end++
	}
	return attributes{rest: tag[end:]}
}

// next returns the name as it is written and the raw value of the next attribute, and false when there is none.
func (a *attributes) next() (name, value []byte, ok bool) {
	s, i := a.rest, 0
	for i < len(s) && (s[i] == '/' || isSpace(s[i])) {
		i++
	}
	if i == len(s) || s[i] == '>' {
		return nil, nil, false
	}
	start := i
	for i++; i < len(s) && s[i] != '=' && !endsName(s[i]); i++ { // a name may begin with "="
	}
	name = s[start:i]
	i = skipSpace(s, i)
	if i == len(s) || s[i] != '=' {
		a.rest = s[i:]
		return name, nil, true
	}
	i = skipSpace(s, i+1)
	switch {
	case i == len(s) || s[i] == '>':
		a.rest = s[i:]
	case s[i] == '"' || s[i] == '\'':
		value, a.rest, _ = bytes.Cut(s[i+1:], s[i:i+1])
	default:
		start = i
		for i < len(s) && s[i] != '>' && !isSpace(s[i]) {
			i++
		}
		value, a.rest = s[start:i], s[i:]
	}
	return name, value, true
}

func skipSpace(s []byte, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

// attribute is one that a caller looks for.
type attribute struct {
	name  string // lower case
	raw   []byte // as the tag has it
	value []byte // decoded
	has   bool
}

// find fills in the attributes by their first occurrence. The tag is whole, from "<" to ">". The values lie in what was
// appended to room, which is returned.
func find(tag, room []byte, wanted ...*attribute) []byte {
	all := attributesOf(tag)
	for {
		name, value, ok := all.next()
		if !ok {
			return room
		}
		for _, w := range wanted {
			if !w.has && equalFold(name, w.name) {
				start := len(room)
				room = appendDecoded(room, value)
				w.raw, w.value, w.has = value, room[start:len(room):len(room)], true
			}
		}
	}
}

// equalFold compares as HTML does: only A to Z have another case.
func equalFold(s []byte, lowered string) bool {
	if len(s) != len(lowered) {
		return false
	}
	for i := range s {
		if lower(s[i]) != lowered[i] {
			return false
		}
	}
	return true
}

// keyword is the known keyword that a value is, whatever its case, or else the first one.
func keyword(value []byte, known ...string) string {
	for _, k := range known {
		if equalFold(value, k) {
			return k
		}
	}
	return known[0]
}

// appendDecoded appends a raw attribute value as a parser reads it: line ends become line feeds, NUL the replacement
// character, and character references their characters.
func appendDecoded(to, raw []byte) []byte {
	for {
		n := 0 // values are short: looking at each byte beats a search
		for n < len(raw) && raw[n] != '&' && raw[n] != '\r' && raw[n] != 0 {
			n++
		}
		if n == len(raw) {
			return append(to, raw...)
		}
		to = append(to, raw[:n]...)
		c := raw[n]
		raw = raw[n:]
		switch length := 1; c {
		case '&':
			length = referenceLength(raw)
			to = appendReferred(to, raw[:length], raw[length:])
			raw = raw[length:]
		case '\r':
			to = append(to, '\n')
			raw = bytes.TrimPrefix(raw[length:], []byte("\n"))
		default:
			to = utf8.AppendRune(to, utf8.RuneError)
			raw = raw[length:]
		}
	}
}

// referenceLength is the length of what may be a character reference at the start of s, which begins with "&".
func referenceLength(s []byte) int {
	n := 1
	if n < len(s) && s[n] == '#' {
		n++
	}
	for n < len(s) && isAlphanumeric(s[n]) {
		n++
	}
	if n > 1 && n < len(s) && s[n] == ';' {
		n++
	}
	return n
}

// appendReferred decodes one reference in an attribute value. In there, and only there, a name without semicolon that is
// followed by "=", a letter or a digit stays as it is: /a?x=1&copy=2 means what it says.
func appendReferred(to, reference, rest []byte) []byte {
	if len(reference) > 2 && reference[1] == '#' {
		return appendNumeric(to, reference)
	}
	switch string(reference) { // those that pages are full of, without asking the library, which would allocate
	case "&amp;":
		return append(to, '&')
	case "&quot;":
		return append(to, '"')
	case "&":
		return append(to, reference...)
	}
	text := html.UnescapeString(string(reference))
	last := text[len(text)-1]
	switch {
	case bytes.HasSuffix(reference, []byte(";")): // a shorter name inside leaves the semicolon
		if last == ';' && string(reference) != "&semi;" {
			return append(to, reference...)
		}
	case isAlphanumeric(last), bytes.HasPrefix(rest, []byte("=")):
		return append(to, reference...)
	}
	return append(to, text...)
}

// appendNumeric decodes "&#" and what follows; digits end where they end.
func appendNumeric(to, reference []byte) []byte {
	digits, base := reference[2:], rune(10)
	if lower(digits[0]) == 'x' {
		digits, base = digits[1:], 16
	}
	n, value := 0, rune(0)
	for ; n < len(digits); n++ {
		digit := digitOf(digits[n])
		if digit >= base {
			break
		}
		value = min(value*base+digit, utf8.MaxRune+1)
	}
	switch {
	case n == 0:
		return append(to, reference...)
	case value == 0 || value > utf8.MaxRune:
		to = utf8.AppendRune(to, utf8.RuneError)
	case 0x80 <= value && value < 0xA0: // the library knows what windows-1252 becomes
		to = append(to, html.UnescapeString("&#"+strconv.Itoa(int(value))+";")...)
	default: // surrogates become the replacement character as well
		to = utf8.AppendRune(to, value)
	}
	return append(to, bytes.TrimPrefix(digits[n:], []byte(";"))...)
}

// digitOf returns 99 for a character that is not a digit in any base.
func digitOf(c byte) rune {
	switch c = lower(c); {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10
	default:
		return 99
	}
}

func isAlphanumeric(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }
