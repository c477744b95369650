// Package sfv reads structured field values of HTTP (RFC 9651, of which RFC 8941 is a part):
// a key with its parameters.
package sfv

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// text reads the string at the start of wire, which begins with a double quote, and
// returns its text and the rest.
func text(wire string) (name, rest string, err error) {
	if end := strings.IndexAny(wire[1:], `"\`); end >= 0 && wire[1+end] == '"' {
		return wire[1 : 1+end], wire[2+end:], nil
	}
	var b strings.Builder
	for i := 1; i < len(wire); i++ {
		switch c := wire[i]; c {
		case '"':
			return b.String(), wire[i+1:], nil
		case '\\':
			i++
			if i == len(wire) || (wire[i] != '"' && wire[i] != '\\') {
				return "", "", errors.New("a backslash may only escape a double quote or a backslash")
			}
			b.WriteByte(wire[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errors.New("the closing double quote is missing")
}

// parameters reads the parameters of an item (RFC 9651 section 4.2.3.2) and returns the
// rest. They are not kept.
func parameters(s string) (rest string, ok bool) {
	for strings.HasPrefix(s, ";") {
		s = strings.TrimLeft(s[1:], " ")
		if s == "" || (!isLower(s[0]) && s[0] != '*') {
			return "", false
		}
		s = skipBytes(s, func(c byte) bool {
			return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0
		})
		if !strings.HasPrefix(s, "=") {
			continue
		}
		if s, ok = skipBareItem(s[1:]); !ok {
			return "", false
		}
	}
	return s, true
}

// skipBareItem reads one value of any type and returns what follows it.
func skipBareItem(s string) (rest string, ok bool) {
	if s == "" {
		return "", false
	}
	switch c := s[0]; {
	case c == '"':
		_, rest, err := text(s)
		return rest, err == nil
	case c == '?':
		return s[min(2, len(s)):], len(s) > 1 && (s[1] == '0' || s[1] == '1')
	case c == ':':
		return skipByteSequence(s[1:])
	case c == '@':
		rest, whole, ok := skipNumber(s[1:])
		return rest, ok && whole
	case c == '%':
		return skipDisplayString(s[1:])
	case c == '-' || isDigit(c):
		rest, _, ok := skipNumber(s)
		return rest, ok
	case c == '*' || isLower(c|0x20):
		return skipBytes(s, isTokenByte), true
	}
	return "", false
}

// skipByteSequence reads base64 up to a colon.
func skipByteSequence(s string) (rest string, ok bool) {
	text, rest, ok := strings.Cut(s, ":")
	if !ok {
		return "", false
	}
	_, err := base64.StdEncoding.DecodeString(text)
	return rest, err == nil
}

// skipNumber reads an integer of up to 15 digits or a decimal of up to 12 and
// 3; whole is true for an integer.
func skipNumber(s string) (rest string, whole, ok bool) {
	s = strings.TrimPrefix(s, "-")
	rest = skipBytes(s, isDigit)
	digits := len(s) - len(rest)
	if !strings.HasPrefix(rest, ".") {
		return rest, true, 1 <= digits && digits <= 15
	}
	fraction := rest[1:]
	rest = skipBytes(fraction, isDigit)
	places := len(fraction) - len(rest)
	return rest, false, 1 <= digits && digits <= 12 && 1 <= places && places <= 3
}

// skipDisplayString reads UTF-8 in double quotes, with lower-case percent
// escapes, after the leading percent sign.
func skipDisplayString(s string) (rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", false
	}
	var decoded []byte
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return s[i+1:], utf8.Valid(decoded)
		case '%':
			if i+2 >= len(s) || !isLowerHex(s[i+1]) || !isLowerHex(s[i+2]) {
				return "", false
			}
			decoded = append(decoded, hexValue(s[i+1])<<4|hexValue(s[i+2]))
			i += 2
		default:
			decoded = append(decoded, s[i])
		}
	}
	return "", false
}

// skipBytes removes the bytes at the start that are wanted.
func skipBytes(s string, wanted func(byte) bool) string {
	i := 0
	for i < len(s) && wanted(s[i]) {
		i++
	}
	return s[i:]
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isTokenByte(c byte) bool {
	return isLower(c|0x20) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
}

func isLowerHex(c byte) bool { return isDigit(c) || ('a' <= c && c <= 'f') }

// hexValue returns the value of a lower-case hexadecimal digit.
func hexValue(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c - 'a' + 10
}

// Key reads the value of an Idempotency-Key header, without the white space around
// it: a string (RFC 8941 section 3.3.3) whose parameters are ignored, but must be
// well formed, or, unless strict, raw text.
func Key(wire string, strict bool) (string, error) {
	for i := range len(wire) {
		if wire[i] < 0x20 || wire[i] > 0x7E {
			return "", fmt.Errorf("byte %d is not printable ASCII", i)
		}
	}
	switch {
	case strings.HasPrefix(wire, `"`):
		name, rest, err := text(wire)
		if err != nil {
			return "", err
		}
		return name, ended(rest)
	case strict:
		return "", errors.New("the value must be a quoted string, such as \"8e03978e\"")
	case strings.IndexByte(wire, '"') >= 0 || strings.IndexByte(wire, ',') >= 0:
		return "", errors.New("an unquoted key may hold neither comma nor double quote (two header lines joined?)")
	}
	return wire, nil
}

// ended checks that nothing but parameters follows a string.
func ended(rest string) error {
	rest, ok := parameters(rest)
	switch {
	case !ok:
		return errors.New("the parameters after the closing double quote are malformed")
	case strings.HasPrefix(strings.TrimLeft(rest, " "), ","):
		return errors.New("more than one key in the header")
	case rest != "":
		return errors.New("unexpected text after the closing double quote")
	}
	return nil
}

// Printable reports whether a scope or a key that a program made is UTF-8 without control characters.
func Printable(s string) bool {
	var all byte
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7F {
			return false
		}
		all |= s[i]
	}
	return all < utf8.RuneSelf || utf8.ValidString(s)
}
