package source

import (
	"fmt"
	"net/url"
	"strings"
)

// outsidePlaces changes what is not within {{ and }}, which must stay as it is
// until an intent fills it.
func outsidePlaces(text string, change func(string) string) string {
	var b strings.Builder
	for text != "" {
		before, rest, ok := strings.Cut(text, "{{")
		inside, after, closed := strings.Cut(rest, "}}")
		if !ok || !closed {
			break
		}
		b.WriteString(change(before))
		b.WriteString("{{" + inside + "}}")
		text = after
	}
	b.WriteString(change(text))
	return b.String()
}

// escapeForm writes text as a form has it (application/x-www-form-urlencoded).
func escapeForm(text string) string { return outsidePlaces(text, url.QueryEscape) }

// escapePath writes text as one segment of a path.
func escapePath(text string) string { return outsidePlaces(text, url.PathEscape) }

// escapeInvalid writes the bytes that may not stand in a URL as percent signs
// and digits, and leaves all others.
func escapeInvalid(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
