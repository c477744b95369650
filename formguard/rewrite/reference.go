package rewrite

import (
	"html"
	"strings"
	"unicode/utf8"
)

// decode makes of a raw attribute value what a parser makes of it: line ends become line feeds, NUL the replacement
// character, and character references what they stand for.
func decode(raw string) string {
	if strings.IndexByte(raw, '\r') >= 0 {
		raw = strings.ReplaceAll(strings.ReplaceAll(raw, "\r\n", "\n"), "\r", "\n")
	}
	if strings.IndexByte(raw, 0) >= 0 {
		raw = strings.ReplaceAll(raw, "\x00", string(utf8.RuneError))
	}
	i := strings.IndexByte(raw, '&')
	if i < 0 {
		return raw
	}
	var b strings.Builder
	for ; i >= 0; i = strings.IndexByte(raw, '&') {
		b.WriteString(raw[:i])
		raw = raw[i:]
		n := referenceLength(raw)
		b.WriteString(dereference(raw[:n], raw[n:]))
		raw = raw[n:]
	}
	b.WriteString(raw)
	return b.String()
}

// referenceLength is the length of what may be a character reference at the start of s, which begins with "&".
func referenceLength(s string) int {
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

// dereference decodes one reference in an attribute value. In there, and only there, a name without semicolon that is
// followed by "=", a letter or a digit stays as it is: /a?x=1&copy=2 means what it says.
func dereference(reference, rest string) string {
	if len(reference) > 2 && reference[1] == '#' {
		return numeric(reference)
	}
	text := html.UnescapeString(reference)
	last := text[len(text)-1]
	switch {
	case strings.HasSuffix(reference, ";"): // a shorter name inside leaves the semicolon
		if last == ';' && reference != "&semi;" {
			return reference
		}
	case isAlphanumeric(last), strings.HasPrefix(rest, "="):
		return reference
	}
	return text
}

// numeric decodes "&#" and what follows; digits end where they end.
func numeric(reference string) string {
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
	if n == 0 {
		return reference
	}
	rest := strings.TrimPrefix(digits[n:], ";")
	if value > utf8.MaxRune {
		return string(utf8.RuneError) + rest
	}
	// The library knows what windows-1252, surrogates and NUL become.
	return html.UnescapeString(reference[:len(reference)-len(digits)+n]+";") + rest
}

// digitOf returns 99 for what is no digit in any base.
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
