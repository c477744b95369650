package rewrite

import (
	"bytes"
	"html"
	"strconv"
	"unicode/utf8"
)

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
