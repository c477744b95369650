package cli

import (
	"fmt"
	"strings"
	"unicode"
)

// Plain makes text safe to print on a terminal: text from a caller may contain control sequences.
func Plain(s string) string {
	if strings.ContainsFunc(s, unprintable) {
		var b strings.Builder
		for _, r := range s {
			if unprintable(r) {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		return b.String()
	}
	return s
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// OrDash returns the text, or a dash for an empty one, for tables.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// PlainLine puts text from a file or a database on one line.
func PlainLine(s string) string { return Plain(strings.Join(strings.Fields(s), " ")) }
