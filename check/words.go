package check

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
)

const (
	// maxWords is how many characters of an answer's own words a reason repeats.
	maxWords = 200
	// maxWordsBody is the longest body that is searched for them.
	maxWordsBody = 64 << 10
)

// words is what an answer says of itself: the detail of a problem (RFC 9457), a
// message, or its text. Empty where it says nothing that a line could hold, such
// as a page.
func (r reply) words() string {
	if r.Answer == nil || len(r.Body) > maxWordsBody {
		return ""
	}
	var members map[string]any
	if json.Unmarshal(r.Body, &members) == nil {
		for _, name := range []string{"detail", "message", "error", "title"} {
			if text, ok := members[name].(string); ok && text != "" {
				return oneLine(text)
			}
		}
		return ""
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
		return ""
	}
	return oneLine(string(r.Body))
}

// quoted is what comes behind a status in a reason.
func quoted(words string) string {
	if words == "" {
		return ""
	}
	return ": " + strconv.Quote(words)
}

// oneLine is text on one line, without what a terminal would obey, and cut.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, text)
	if runes := []rune(text); len(runes) > maxWords {
		return string(runes[:maxWords]) + "…"
	}
	return text
}
