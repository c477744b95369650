package source

import (
	"fmt"
	"net/url"
	"strings"
)

// outsidePlaces changes the text outside {{ and }}, which must stay until an intent fills it.
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

// escapeForm escapes text for a form (application/x-www-form-urlencoded).
func escapeForm(text string) string { return outsidePlaces(text, url.QueryEscape) }

// escapePath writes text as one segment of a path.
func escapePath(text string) string { return outsidePlaces(text, url.PathEscape) }

// escapeInvalid percent-encodes the bytes that a URL must not contain, and keeps all others.
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
