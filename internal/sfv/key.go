package sfv

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

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
