package command

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/semel-dev/semel"
)

// digestShown limits the printed digits of a digest: enough to identify one record among millions.
const digestShown = 12

func stateText(rec *semel.Record) string {
	if rec.Lapsed() {
		return "unknown (lapsed)"
	}
	return rec.State.String()
}

// plain makes text safe to print on a terminal: text from a caller may contain control sequences.
func plain(s string) string {
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

// orDash returns the text, or a dash for an empty one, for tables.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
